import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { createRedactor, type Redactor } from "../../ground/log/redact.ts";
import { realpath } from "../../ground/platform/files/files.ts";
import { dirname } from "../../ground/platform/files/paths.ts";
import { resolveSecrets, type SecretPlaces, secretSource } from "../../walls/secrets/resolve-secrets.ts";
import { secretsFile } from "../../walls/secrets/store.ts";

/** The secrets that one session may use, and the redactor for its output. */
export interface OpenedSecrets {
  secrets: ReadonlyMap<string, string>;
  /** Null when the session has none: then the host does not search its output at all. */
  redactor: Redactor | null;
}

const none: OpenedSecrets = { secrets: new Map(), redactor: null };

/** Returns the places where a host looks up secrets. */
export function secretPlaces(manifest: HostManifest | undefined, file: string | undefined): SecretPlaces {
  return { references: manifest?.secrets ?? {}, file: file ?? secretsFile() };
}

/**
 * Reads the secrets that permissions name.
 * @throws {BulkheadError} `invalid_config`, `io_error`: a session whose secrets cannot be redacted does not start
 */
export async function openSecrets({ secrets = [] }: Permissions, places: SecretPlaces): Promise<OpenedSecrets> {
  if (secrets.length === 0) return none;
  const values = await resolveSecrets(secrets.map(({ name }) => name), places);
  const redactor = createRedactor([...values].map(([name, value]) => ({ name, value })));
  return { secrets: values, redactor };
}

/** Returns real absolute paths of folders and files that hold secrets; no adapter reads and no snapshot copies them. */
export async function secretPaths({ references, file }: SecretPlaces): Promise<string[]> {
  const sources = Object.keys(references).map((name) => secretSource(name, references));
  const paths = [dirname(file), ...sources.flatMap((source) => (source.from === "file" ? [source.path] : []))];
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  return [...new Set([...paths, ...real])];
}
