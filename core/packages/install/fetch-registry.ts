import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { packageError } from "./package-files.ts";
import { codeOf } from "../../ground/errors/write-fault.ts";
import { readUrl } from "../../ground/config/net-target.ts";
import { takeDefaultDigest } from "../../ground/platform/net/default-digest.ts";
import { GrownBytes } from "../../ground/platform/files/grown-bytes.ts";
import { type NpmOptions, npmOptions, unsetNames } from "./npm-options.ts";
import { builtBy } from "./provenance.ts";

/** An archive from a registry, with what the registry vouches for. */
interface RegistryArchive {
  bytes: Uint8Array;
  name: string;
  version: string;
  /** Address of the registry. */
  registry: string;
  /** SHA-512 as npm writes it. */
  integrity: string;
  /** Key of the registry that signed it; null: not signed. */
  signed_by: string | null;
  /** Builder, as the certificate of its provenance says; null: it has none. */
  provenance: string | null;
  /** The publisher's message when this version should no longer be used. */
  deprecated: string | null;
}

interface RegistryWish {
  name: string;
  /** A version, range or tag. */
  wanted: string;
  /** The registry that a lock names; absent: as npm is configured. */
  registry?: string | undefined;
  /** Folder whose `.npmrc` counts. */
  folder: string;
  maxBytes: number;
}

/** Fields that are read of a version in a registry. */
interface Published {
  name: string;
  version: string;
  deprecated?: unknown;
  dist?: { tarball?: string; attestations?: { provenance?: { predicateType?: unknown } } };
  _integrity?: string;
  _signatures?: { keyid: string }[];
  /** Those that were verified. */
  _attestationBundles?: unknown;
}

/**
 * Fetches a version from its registry, with its signatures and provenance checked where the registry has them.
 * @throws {BulkheadError} `not_found`, `network_error`, `too_large`; `invalid_package` when a signature, its provenance or
 * its bytes are not what they should be
 */
export async function fetchFromRegistry(wish: RegistryWish): Promise<RegistryArchive> {
  const { name, wanted, maxBytes } = wish;
  try {
    const configured = await npmOptions(wish.folder);
    // A lock's registry overrides npm's current configuration: the same name elsewhere is another package.
    const scope = name.startsWith("@") ? { [`${name.split("/")[0]}:registry`]: wish.registry } : {};
    const options: NpmOptions = wish.registry === undefined
      ? configured
      : { ...configured, ...scope, registry: wish.registry };
    const [{ default: pacote }, { default: npmFetch }] = await Promise.all([
      import("pacote"),
      import("npm-registry-fetch"),
    ]);
    takeDefaultDigest();
    const registry = npmFetch.pickRegistry(name, options);
    const keys = await registryKeys(registry, options);
    const packuments = { packumentCache: new Map(), fullMetadata: true };
    const checks = { ...options, ...keys, ...packuments, verifySignatures: keys !== null, verifyAttestations: true };
    const { version } = await pacote.manifest(`${name}@${wanted}`, { ...options, ...packuments });
    const published = await pacote.manifest(`${name}@${version}`, checks) as unknown as Published;
    const integrity = strongIntegrity(published);
    checkHost(published, registry);
    const bytes = await download(published.dist?.tarball ?? "", { name, maxBytes, options: { ...options, registry } });
    return {
      bytes,
      name,
      version,
      registry,
      integrity,
      signed_by: keys === null ? null : published._signatures?.[0]?.keyid ?? null,
      provenance: provenanceOf(published),
      deprecated: typeof published.deprecated === "string" ? published.deprecated : null,
    };
  } catch (error) {
    throw await withUnsetNames(fetchError(`${name}@${wanted}`, error), wish.folder);
  }
}

/** Adds to the error of a registry that wants a login which variables of the settings have no value. */
async function withUnsetNames(error: unknown, folder: string): Promise<unknown> {
  if (!(error instanceof BulkheadError) || !["E401", "E403"].includes(codeOf(error.cause))) return error;
  const unset = await unsetNames(folder);
  if (unset.length === 0) return error;
  const { code, message, cause } = error;
  const named = unset.map(({ name, file }) => `\${${name}} of ${file}`).join(", ");
  return new BulkheadError(code, message, { hint: `Set the variable ${named}: it has no value here.`, cause });
}

/** The registry's keys, where npm's library looks for them; null for a registry that signs nothing. */
async function registryKeys(registry: string, options: NpmOptions): Promise<Record<string, unknown> | null> {
  const { default: npmFetch } = await import("npm-registry-fetch");
  let answer: unknown;
  try {
    answer = await npmFetch.json("/-/npm/v1/keys", { ...options, registry });
  } catch (error) {
    // So answers a registry without keys; any other trouble must not pass for that.
    if (codeOf(error) === "E404" || codeOf(error) === "E400") return null;
    throw error;
  }
  const keys = typeof answer === "object" && answer !== null ? Reflect.get(answer, "keys") as unknown : null;
  if (!Array.isArray(keys) || keys.length === 0) return null;
  const { host, pathname } = new URL(registry);
  const withPem = keys.map((key: { key: string }) => ({
    ...key,
    pemkey: `-----BEGIN PUBLIC KEY-----\n${key.key}\n-----END PUBLIC KEY-----`,
  }));
  return { [`//${host}${pathname}:_keys`]: withPem };
}

function strongIntegrity({ name, version, _integrity = "" }: Published): string {
  const strong = _integrity.split(/\s+/).find((one) => one.startsWith("sha512-"));
  if (strong !== undefined) return strong;
  throw packageError(`${name}@${version}`, "the registry names no SHA-512 of it");
}

/** Refuses another host: a party that can write the registry's answers could serve the archive from anywhere. */
function checkHost({ name, version, dist }: Published, registry: string): void {
  const host = readUrl(typeof dist?.tarball === "string" ? dist.tarball : "")?.host ?? "nowhere";
  if (host === new URL(registry).host) return;
  throw packageError(
    `${name}@${version}`,
    `its archive lies at ${host}, not at its registry ${new URL(registry).host}`,
  );
}

function provenanceOf({ name, version, dist, _attestationBundles }: Published): string | null {
  const builder = builtBy(_attestationBundles);
  if (builder !== null || dist?.attestations?.provenance === undefined) return builder;
  throw packageError(`${name}@${version}`, "its provenance does not hold (the registry speaks of it and gives none)");
}

/** A body as npm's library gives it. */
interface ArchiveStream {
  on(event: "data", take: (chunk: Uint8Array) => void): unknown;
  on(event: "end", done: () => void): unknown;
  on(event: "error", fail: (error: Error) => void): unknown;
  destroy(): unknown;
}

/** Reads a body, no more of it than it may have. */
function collect(stream: ArchiveStream, { name, maxBytes }: { name: string; maxBytes: number }): Promise<Uint8Array> {
  return new Promise((settle, fail) => {
    const bytes = new GrownBytes();
    stream.on("error", fail);
    stream.on("data", (chunk) => {
      if (bytes.length + chunk.length <= maxBytes) return bytes.push(chunk);
      fail(tooLarge(name, maxBytes));
      stream.destroy();
    });
    stream.on("end", () => settle(bytes.take()));
  });
}

function tooLarge(name: string, maxBytes: number): BulkheadError {
  return new BulkheadError("too_large", `Cannot take ${name}: its archive has more than ${maxBytes} bytes.`, {
    hint: "The limit is package_bytes, under limits in the host manifest.",
  });
}

/**
 * Fetches an archive from an address.
 * @throws {BulkheadError} `not_found`, `network_error`, `too_large`
 */
export async function fetchArchive(
  url: string,
  { folder, maxBytes }: { folder: string; maxBytes: number },
): Promise<Uint8Array> {
  try {
    return await download(url, { name: url, maxBytes, options: await npmOptions(folder) });
  } catch (error) {
    throw await withUnsetNames(fetchError(url, error), folder);
  }
}

/** Downloads an address, past the cache. The caller must verify the bytes. */
async function download(
  url: string,
  { name, maxBytes, options }: { name: string; maxBytes: number; options: NpmOptions },
): Promise<Uint8Array> {
  const { default: npmFetch } = await import("npm-registry-fetch");
  const { cache: _, ...rest } = options;
  const { body } = await npmFetch(url, rest);
  return await collect(body as unknown as ArchiveStream, { name, maxBytes });
}

const signatureCodes = ["EINTEGRITYSIGNATURE", "EMISSINGSIGNATUREKEY", "EEXPIREDSIGNATUREKEY"];
const attestationCodes = ["EATTESTATIONSUBJECT", "EATTESTATIONVERIFY"];

function fetchError(name: string, error: unknown): unknown {
  if (error instanceof BulkheadError) return error;
  const code = codeOf(error);
  const why = error instanceof Error ? error.message.split("\n")[0]!.replace(/\.$/, "") : String(error);
  if (signatureCodes.includes(code)) return packageError(name, `its signature does not hold (${why})`);
  if (attestationCodes.includes(code)) return packageError(name, `its provenance does not hold (${why})`);
  if (code === "EINTEGRITY") return packageError(name, "its bytes are not those that were published");
  if (code === "EMANIFESTMISMATCH") return packageError(name, `the registry gives another package for it (${why})`);
  if (["E404", "ETARGET", "ENOVERSIONS"].includes(code)) {
    return new BulkheadError("not_found", `Cannot find the package ${name}: ${why}.`, { cause: error });
  }
  const hint = code === "E401" || code === "E403" ? "npm login may help: its configuration is used." : undefined;
  return new BulkheadError("network_error", `Cannot fetch ${name}: ${why}.`, { hint, cause: error });
}
