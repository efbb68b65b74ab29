import { npmOptions } from "./npm-options.ts";

interface PublishedManifestOptions {
  /** Folder whose npm configuration names the registry. */
  folder: string;
  timeoutMs: number;
}

/** Returns the `package.json` of a published version, or of another; null where the registry tells none in time. */
export async function publishedManifest(
  { name, version }: { name: string; version: string | null },
  { folder, timeoutMs }: PublishedManifestOptions,
): Promise<unknown> {
  const signal = AbortSignal.timeout(timeoutMs);
  const [{ default: pacote }, configured] = await Promise.all([import("pacote"), npmOptions(folder)]);
  const options = { ...configured, retry: { retries: 0 }, timeout: timeoutMs, signal, packumentCache: new Map() };
  const specs = version === null ? [name] : [`${name}@${version}`, name];
  for (const spec of specs) {
    const found: unknown = await pacote.manifest(spec, options).catch(() => null);
    if (found !== null) return found;
    if (signal.aborted) return null;
  }
  return null;
}
