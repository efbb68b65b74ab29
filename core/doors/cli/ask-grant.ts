import type { MissingGrant } from "../../walls/broker/session-broker.ts";
import { isPinned } from "../../walls/broker/resolve-binary.ts";
import { workingDirectory } from "../../ground/platform/engine/platform.ts";
import { programPath } from "./program-path.ts";
import { asTyped } from "./render/as-typed.ts";
import { permissionWords } from "./render/permission-words.ts";
import type { Questions } from "./questions.ts";

interface AskGrantOptions {
  /** Path of the host manifest; undefined when there is none to write to. */
  manifestFile: string | undefined;
  /** Withdraws a pending question; the answer is then no. */
  signal?: AbortSignal;
}

/**
 * Asks for missing grants: once, always (written to the host manifest) or no. The same question is not asked twice.
 */
export function createAskGrant(
  questions: Questions,
  options: AskGrantOptions,
): (missing: MissingGrant) => Promise<boolean> {
  const answers = new Map<string, Promise<boolean>>();
  return (missing) => {
    const key = JSON.stringify([missing.plugin_id, missing.permission, missing.target]);
    const known = answers.get(key);
    if (known !== undefined) return known;
    const answer = ask(missing, { questions, ...options });
    answers.set(key, answer);
    return answer;
  };
}

async function ask(
  missing: MissingGrant,
  { questions, manifestFile, signal }: AskGrantOptions & { questions: Questions },
): Promise<boolean> {
  const question = await grantQuestion(missing);
  const answer = await questions.choose<"once" | "always" | "no">(question, {
    choices: [
      { word: "once", value: "once" },
      ...(manifestFile === undefined ? [] : [{ word: "always", value: "always" } as const]),
      { word: "no", value: "no" },
    ],
    signal,
  });
  if (answer === "always" && manifestFile !== undefined) await writeGrant(missing, manifestFile);
  return answer === "once" || answer === "always";
}

/** Asks in plain words for what a plugin lacks, and says where a grant alone will not do. */
export async function grantQuestion({ plugin_id, permission, target, grant_command }: MissingGrant): Promise<string> {
  const words = permissionWords({ permission, target, breadth: "bounded" });
  const isMissing = permission === "run" && isPinned(target) &&
    await programPath(target, workingDirectory()) === null;
  return [
    `The plugin "${plugin_id}" asks to ${words}`,
    ...(isMissing ? ["  That program is not on this machine now."] : []),
    `  "always" saves it: ${asTyped(grant_command)}`,
  ].join("\n");
}

async function writeGrant(missing: MissingGrant, manifestFile: string): Promise<void> {
  const [{ addGrant }, { changeManifest }] = await Promise.all([
    import("../../packages/manifest/edit-host-manifest.ts"),
    import("../../packages/install/manifest-transaction.ts"),
  ]);
  await changeManifest(manifestFile, async ({ text, writeText }) => {
    await writeText(addGrant(text, { pluginId: missing.plugin_id, ...missing }, { file: manifestFile }));
  });
}
