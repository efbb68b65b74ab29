import { Type } from "@sinclair/typebox";
import { lazyCheck, parseChecked } from "../../ground/checks/lazy-check.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed } from "../../../plugin-sdk/schema.ts";
import { demandRecorded } from "../../ground/recorded/demand-recorded.ts";
import { writeRecorded } from "../../ground/recorded/write-recorded.ts";
import { chmod, constants, mkdir, open } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { withLockFile } from "../../ground/platform/state/lock-file.ts";
import { dirname, join } from "../../ground/platform/files/paths.ts";
import { platform } from "../../ground/platform/engine/platform.ts";
import { stateFolders } from "../../ground/platform/state/state-folders.ts";
import { shortestSecret } from "../../ground/log/redact.ts";

/** The secrets that `bulkhead secret set` keeps, by name. */
export type StoredSecrets = ReadonlyMap<string, string>;

/**
 * Path of the secrets, in a folder of its own below the XDG data folder, so that no grant for a neighbour allows it.
 */
export function secretsFile(env?: Readonly<Record<string, string | undefined>>): string {
  return join(stateFolders(env).data, "secrets", "secrets.json");
}

/**
 * All stored secrets; none when there is no file. Does not read a file that other users could read or replace.
 * @throws {BulkheadError} `invalid_config` for such a file and for a damaged one, `io_error`, `unaccepted_change`
 */
export async function readSecrets(file: string): Promise<StoredSecrets> {
  const text = await readOwn(file);
  if (text === null) return new Map();
  await demandRecorded(file, "secrets", { sha256: sha256Hex(text) });
  const stored = parseChecked(text, check);
  if (stored !== null) return new Map(stored.entries);
  throw refused(file, "its file is damaged", `Move "${file}" away and set the secrets again.`);
}

/**
 * Stores a secret under a name and replaces an older one.
 * @throws {BulkheadError} as {@link readSecrets}; `busy` when another program holds the file
 */
export async function storeSecret(file: string, { name, value }: { name: string; value: string }): Promise<void> {
  const checked = checkSecretValue(name, value);
  await change(file, (secrets) => secrets.set(name, checked));
}

/**
 * Removes a secret; false when there was none of that name.
 * @throws {BulkheadError} as {@link storeSecret}
 */
export async function removeSecret(file: string, name: string): Promise<boolean> {
  let found = false;
  await change(file, (secrets) => (found = secrets.delete(name)));
  return found;
}

/** Pairs, so that no name is special. */
const fileSchema = Type.Object({
  secrets: Type.Literal(1),
  entries: Type.Array(Type.Tuple([Type.String(), Type.String()])),
}, closed);
const check = lazyCheck(fileSchema);

const maxFileBytes = 4 * 1024 * 1024;

/** Timeout for another program that changes the file. Milliseconds. */
const longestWaitMs = 2000;

async function change(file: string, act: (secrets: Map<string, string>) => void): Promise<void> {
  const folder = dirname(file);
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    throw new BulkheadError("io_error", `Cannot make the folder "${folder}" for secrets.`, { cause });
  });
  await chmod(folder, 0o700);
  await withLockFile(`${file}.lock`, { what: "the secrets", waitMs: longestWaitMs }, async () => {
    const secrets = new Map(await readSecrets(file));
    act(secrets);
    const entries = [...secrets].sort(([a], [b]) => (a < b ? -1 : 1));
    // Readers see the complete old or new file, also after a crash.
    const text = JSON.stringify({ secrets: 1, entries });
    await writeRecorded(file, { kind: "secrets", text, mode: 0o600 }).catch((cause: unknown) => {
      throw new BulkheadError("io_error", `Cannot write the secrets to "${file}".`, { cause });
    });
  });
}

/**
 * The text of the file; null when there is none. Checks and reads through one handle, so that it reads what it checked.
 */
async function readOwn(file: string): Promise<string | null> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (cause: unknown) => {
      const code = cause instanceof Error && "code" in cause ? cause.code : "";
      if (code === "ENOENT") return null;
      if (code === "ELOOP") throw refused(file, "its file is a link", "Put the file itself there.");
      throw new BulkheadError("io_error", `Cannot read the secrets in "${file}" (${String(code)}).`, { cause });
    },
  );
  if (handle === null) return null;
  try {
    const info = await handle.stat();
    if (!info.isFile()) throw refused(file, "its file is none", "Move what stands there away.");
    if (platform !== "win32" && (info.mode & 0o077) !== 0) {
      throw refused(file, "others may read or change its file", `chmod 600 ${file}`);
    }
    if (info.size > maxFileBytes) throw refused(file, "its file is too large", `Move "${file}" away.`);
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

function refused(file: string, why: string, hint: string): BulkheadError {
  return new BulkheadError("invalid_config", `Cannot read the store of secrets: ${why} (${file}).`, { hint });
}

/** UTF-16 units of the longest secret: a certificate with its key. */
export const longestSecret = 16_384;

/**
 * The value of a secret, as it may be used.
 * @throws {BulkheadError} `invalid_config` for one that could not be kept out of texts, or given to a program
 */
export function checkSecretValue(name: string, value: string): string {
  const fault = value.length < shortestSecret
    ? `has fewer than ${shortestSecret} characters, so it cannot be told from ordinary words and kept out of the log`
    : value.length > longestSecret
    ? `has more than ${longestSecret} characters`
    : value.includes("\0")
    ? "holds a NUL character"
    : /\p{Cs}/u.test(value)
    ? "is not valid Unicode"
    : null;
  if (fault === null) return value;
  throw new BulkheadError("invalid_config", `Cannot use secret "${name}": its value ${fault}.`, {
    details: { secret: name },
  });
}
