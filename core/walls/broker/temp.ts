import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { mkdir, realpath } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { listFolder } from "../../ground/platform/files/pinned-folder.ts";
import { bareRepositoryAt } from "./bare-repository.ts";
import { inFolder, readContained, writeContained } from "./contained-file.ts";
import { maxFileBytes } from "./files.ts";
import { type BrokerScope, type Operation, operation } from "./operation.ts";

/** Entries of the session's folder before it takes no new file. */
const maxEntries = 1024;

/** A simple name: no folder, no hidden file. */
const name = Type.String({ pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$" });

/** Files of the session's own; they need no permission. */
export const tempOperations: readonly Operation[] = [
  operation("temp_write", {
    args: exactly<{ name: string; text: string }>()(Type.Object({ name, text: Type.String() }, closed)),
    async perform(scope, args) {
      const file = await place(scope, args.name);
      const folder = await realpath(scope.options.tempDir);
      const names = await inFolder(folder, (pinned) => listFolder(pinned, maxEntries));
      if (names === null || (names.length === maxEntries && !names.includes(args.name))) {
        throw new BulkheadError("limit_exceeded", `Cannot write "${args.name}": the session's folder is full.`);
      }
      if (await bareRepositoryAt(file) !== null) {
        throw scope.authority.forbid("write", file, { because: "git would take the folder for a repository with it" });
      }
      holdQuota(scope, { name: args.name, text: args.text });
      scope.signal.throwIfAborted();
      await writeContained(file, args.text, { maxBytes: maxFileBytes(scope) });
      return file;
    },
  }),
  operation("temp_read", {
    args: exactly<{ name: string }>()(Type.Object({ name }, closed)),
    async perform(scope, args) {
      return readContained(await place(scope, args.name), { maxBytes: maxFileBytes(scope) });
    },
  }),
];

/** Counts what was written, not what programs made of it since: their disk use is the system's to bound. */
function holdQuota(scope: BrokerScope, { name, text }: { name: string; text: string }): void {
  const { temp_bytes } = scope.options.limits;
  const known = scope.held.temporaryBytes;
  const bytes = new TextEncoder().encode(text).byteLength;
  const others = [...known].reduce((sum, [one, size]) => (one === name ? sum : sum + size), 0);
  if (others + bytes > temp_bytes) {
    throw new BulkheadError(
      "limit_exceeded",
      `Cannot write "${name}": the session's files would pass ${temp_bytes} bytes.`,
      {
        details: { temp_bytes },
      },
    );
  }
  known.set(name, bytes);
}

/** Returns the path of a file in the session's folder, which is made. */
export async function place({ options, signal }: BrokerScope, file: string): Promise<string> {
  signal.throwIfAborted();
  await mkdir(options.tempDir, { recursive: true, mode: 0o700 });
  return join(await realpath(options.tempDir), file);
}
