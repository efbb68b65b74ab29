import { nullIfNotFound } from "../../ground/errors/to-error-data.ts";
import { readTextFile } from "../../ground/config/read-text-file.ts";
import { readSecretReference, type SecretSource } from "../../ground/config/secret-reference.ts";
import { demandRecorded } from "../../ground/recorded/demand-recorded.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import { checkSecretValue, longestSecret, readSecrets, type StoredSecrets } from "./store.ts";

/** Places to look up secrets. */
export interface SecretPlaces {
  /** Section `secrets` of the host manifest: names and references. */
  references: Readonly<Record<string, string>>;
  /** The file of stored secrets. */
  file: string;
}

/** Source of a secret's value. */
export function secretSource(name: string, references: SecretPlaces["references"]): SecretSource {
  return (Object.hasOwn(references, name) ? readSecretReference(references[name]!) : null) ?? { from: "stored" };
}

/**
 * The current values of some secrets. Leaves out a secret without a value: its use fails later.
 * @throws {BulkheadError} `invalid_config` for a value that is no secret and a store that others can read; `io_error`;
 * `unaccepted_change`
 */
export async function resolveSecrets(
  names: readonly string[],
  { references, file }: SecretPlaces,
): Promise<Map<string, string>> {
  const values = new Map<string, string>();
  let stored: StoredSecrets | null = null;
  for (const name of new Set(names)) {
    const source = secretSource(name, references);
    if (source.from === "stored") stored ??= await readSecrets(file);
    const value = source.from === "stored"
      ? stored?.get(name)
      : source.from === "env"
      ? hostEnv(source.name)
      : await readReferenced(source.path);
    if (value !== undefined && value !== "") values.set(name, checkSecretValue(name, value));
  }
  return values;
}

/** Strips the final line end, which the editor adds. */
async function readReferenced(path: string): Promise<string | undefined> {
  try {
    const text = await readTextFile(path, { maxBytes: 4 * longestSecret, code: "invalid_config" });
    await demandRecorded(path, "secrets", { sha256: sha256Hex(text) });
    return text.replace(/\r?\n$/, "");
  } catch (error) {
    return nullIfNotFound(error) ?? undefined;
  }
}
