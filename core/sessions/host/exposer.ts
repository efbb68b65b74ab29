import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { recordsFolder } from "../../ground/recorded/exposed-folders.ts";
import { exposeFolders } from "../../ground/recorded/expose-folders.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { Sequence } from "../../ground/platform/engine/sequence.ts";
import type { Registry } from "../../packages/registry/registry.ts";
import { actedOnPlaces } from "./state/acted-on.ts";
import type { OperatorSettings } from "./operator-settings.ts";
import type { SessionDeps } from "./start-session.ts";

interface ExposerDeps {
  root: string;
  settings: Pick<OperatorSettings, "manifest" | "secretsFile">;
  registry: Pick<Registry, "list" | "problems">;
  writeLog: SessionDeps["writeLog"];
}

/** A data folder that this user cannot write anyway: an agent has no part in that. A full disk is no reason. */
const noFolder: readonly unknown[] = ["EACCES", "EROFS", "EPERM"];

/** Makes what records the files that hosts act on. Where the user has no data folder, the log says so. */
export function exposer({ root, settings, registry, writeLog }: ExposerDeps): SessionDeps["expose"] {
  // One after the other: of two that begin at once, the first takes over what a person has changed, and the second sees that.
  const turns = new Sequence();
  return async (folders) => {
    const { manifest, secretsFile } = settings;
    const actedOn = actedOnPlaces(folders, {
      root,
      manifest,
      secretsFile,
      plugins: registry.list(),
      problems: registry.problems,
    });
    try {
      return await turns.run(() => exposeFolders({ id: randomId(), folders, actedOn }));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (!(error instanceof Error && "code" in error && noFolder.includes(error.code))) {
        throw new BulkheadError("io_error", `Cannot record what the agent could change: ${why}.`, {
          hint: `Make room in ${recordsFolder()}: without it no contained program starts.`,
          cause: error,
        });
      }
      const message = `Cannot record what agents could change: ${why}.`;
      writeLog({ level: "warn", message });
      return () => Promise.resolve();
    }
  };
}
