import { isMissing } from "../../ground/errors/write-fault.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { lstat, readdir, stat } from "../../ground/platform/files/files.ts";
import { sha512Integrity } from "../../ground/platform/files/hash.ts";
import { dirname, join, relative, resolve } from "../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";
import { fetchGit } from "./fetch-git.ts";
import { fetchArchive, fetchFromRegistry } from "./fetch-registry.ts";
import { PackageCollector, packageError, type PackageFiles, type PackageLimits } from "./package-files.ts";
import type { PackageSpec } from "./package-spec.ts";
import { readArchive } from "./read-archive.ts";
import type { LockedPlugin, PackageSource } from "../manifest/lock-format.ts";

/** A package whose files were read and checked, and nothing else. */
export interface FetchedPackage {
  files: PackageFiles;
  /** How it is called in errors. */
  name: string;
  source: PackageSource;
  /** Version that its registry gives it; null where no registry is. */
  version: string | null;
  /** SHA-512 of its archive; null for a folder and for a repository. */
  integrity: string | null;
  signed_by: string | null;
  provenance: string | null;
  deprecated: string | null;
}

/** Options of {@link fetchPackage}. */
export interface FetchPackageOptions {
  manifestFile: string;
  limits: PackageLimits;
  /** Lock entry that binds the package to its registry, and with `exact` to its bytes too. */
  locked?: { entry: LockedPlugin; exact: boolean };
}

/**
 * Fetches a package from wherever it is, within limits, and runs nothing of it.
 * @throws {BulkheadError} `not_found`, `invalid_package`, `too_large`, `network_error`, `git_missing`
 */
export async function fetchPackage(spec: PackageSpec, options: FetchPackageOptions): Promise<FetchedPackage> {
  switch (spec.type) {
    case "registry":
      return await fetchPublished(spec, options);
    case "tarball":
      return await fetchTarball(spec, options);
    case "remote":
      return await fetchRemote(spec, options);
    case "git":
      return await fetchRepository(spec, options);
    case "folder":
      return await fetchFolder(spec, options);
  }
}

type SpecOf<Type extends PackageSpec["type"]> = Extract<PackageSpec, { type: Type }>;

/** Fields of a package that comes from no registry. */
const unsigned = { version: null, signed_by: null, provenance: null, deprecated: null };

async function fetchPublished(
  spec: SpecOf<"registry">,
  { manifestFile, limits, locked }: FetchPackageOptions,
): Promise<FetchedPackage> {
  const source = locked?.entry.source;
  const registry = source?.type === "registry" && source.name === spec.name ? source.registry : undefined;
  const wish = { ...spec, registry, folder: dirname(manifestFile), maxBytes: limits.package_bytes };
  const { bytes, ...found } = await fetchFromRegistry(wish);
  const name = `${found.name}@${found.version}`;
  checkIntegrity(bytes, { name, integrity: found.integrity });
  const wanted = wantedIntegrity(locked);
  if (wanted !== undefined) checkIntegrity(bytes, { name, integrity: wanted });
  const { name: own, registry: from, ...rest } = found;
  const files = await readArchive(bytes, { name, limits });
  return { ...rest, files, name, source: { type: "registry", name: own, registry: from, wanted: spec.wanted } };
}

async function fetchTarball(
  { path }: SpecOf<"tarball">,
  { manifestFile, limits, locked }: FetchPackageOptions,
): Promise<FetchedPackage> {
  const bytes = await readTarball(path, limits);
  const archive = await localArchive(bytes, { name: path, limits, wanted: wantedIntegrity(locked) });
  return { ...unsigned, ...archive, source: { type: "tarball", path: own(manifestFile, path) } };
}

async function fetchRemote(
  spec: SpecOf<"remote">,
  { manifestFile, limits, locked }: FetchPackageOptions,
): Promise<FetchedPackage> {
  const bytes = await fetchArchive(spec.url, { folder: dirname(manifestFile), maxBytes: limits.package_bytes });
  const archive = await localArchive(bytes, { name: spec.url, limits, wanted: wantedIntegrity(locked) });
  return { ...unsigned, ...archive, source: spec };
}

async function fetchRepository(spec: SpecOf<"git">, { limits }: FetchPackageOptions): Promise<FetchedPackage> {
  const unpacked = limits.package_unpacked_bytes + 2048 * limits.package_files;
  const { bytes, commit } = await fetchGit(spec, unpacked);
  const name = `${spec.url}#${commit.slice(0, 12)}`;
  const files = await readArchive(bytes, { name, limits: { ...limits, package_bytes: unpacked } });
  return { ...unsigned, files, name, integrity: null, source: { ...spec, commit } };
}

async function fetchFolder(
  { path }: SpecOf<"folder">,
  { manifestFile, limits }: FetchPackageOptions,
): Promise<FetchedPackage> {
  const files = await readFolder(path, { name: path, limits });
  const source: PackageSource = { type: "folder", path: own(manifestFile, path) };
  return { ...unsigned, files, name: path, integrity: null, source };
}

/** Integrity that the archive must have; undefined where the lock does not bind its bytes. */
function wantedIntegrity(locked: FetchPackageOptions["locked"]): string | undefined {
  return locked?.exact ? locked.entry.integrity ?? undefined : undefined;
}

/** Returns the spec to fetch a locked package again: the same version, or with `newest` the newest that was asked for. */
export function lockedSpec(
  { source, version }: LockedPlugin,
  { manifestFile, newest }: { manifestFile: string; newest: boolean },
): PackageSpec {
  switch (source.type) {
    case "registry":
      return { type: "registry", name: source.name, wanted: newest ? source.wanted ?? "latest" : version };
    case "git":
      return { type: "git", url: source.url, ref: newest ? source.ref : source.commit };
    case "remote":
      return source;
    case "tarball":
    case "folder":
      return { ...source, path: resolve(dirname(manifestFile), source.path) };
  }
}

/** As it can be found from wherever the host manifest is moved to. */
function own(manifestFile: string, path: string): string {
  return relative(dirname(manifestFile), path) || ".";
}

async function localArchive(
  bytes: Uint8Array,
  { name, limits, wanted }: { name: string; limits: PackageLimits; wanted: string | undefined },
): Promise<Pick<FetchedPackage, "files" | "name" | "integrity">> {
  if (wanted !== undefined) checkIntegrity(bytes, { name, integrity: wanted });
  return { files: await readArchive(bytes, { name, limits }), name, integrity: sha512Integrity(bytes) };
}

function checkIntegrity(bytes: Uint8Array, { name, integrity }: { name: string; integrity: string }): void {
  if (sha512Integrity(bytes) === integrity) return;
  throw packageError(name, "its bytes are not those that were published");
}

async function readTarball(path: string, { package_bytes }: PackageLimits): Promise<Uint8Array> {
  const bytes = await readPlainFile(path, package_bytes);
  if (bytes !== null) return bytes;
  const size = await stat(path).then((found) => found.size, () => null);
  if (size === null) throw new BulkheadError("not_found", `Cannot install ${path}: it is not there.`);
  if (size > package_bytes) {
    throw new BulkheadError("too_large", `Cannot take ${path}: it has more than ${package_bytes} bytes.`, {
      hint: "The limit is package_bytes, under limits in the host manifest.",
    });
  }
  throw packageError(path, "it is no file that can be read");
}

/** Left out: what belongs to a repository, and the links to programs that a package manager makes. */
const leftOut =
  /^(\.git|\.hg|\.svn|\.DS_Store|node_modules\/\.bin|node_modules\/\.cache|node_modules\/\.package-lock\.json)$/;

/**
 * Reads a package from a folder, the packages in its `node_modules` included. Links are refused: what is installed must
 * lie in it.
 * @throws {BulkheadError} `invalid_package`, `too_large`, `not_found`, `io_error`
 */
async function readFolder(
  folder: string,
  { name, limits }: { name: string; limits: PackageLimits },
): Promise<PackageFiles> {
  const collector = new PackageCollector(name, limits);
  await readInto(folder, { path: "", collector, limits });
  return collector.files();
}

async function readInto(
  root: string,
  { path, collector, limits }: { path: string; collector: PackageCollector; limits: PackageLimits },
): Promise<void> {
  for (const entry of (await names(join(root, path))).sort()) {
    const own = path === "" ? entry : `${path}/${entry}`;
    if (leftOut.test(own)) continue;
    const found = await lstat(join(root, own));
    if (found.isDirectory()) {
      collector.claim(own, { kind: "folder", bytes: 0 });
      await readInto(root, { path: own, collector, limits });
      continue;
    }
    if (!found.isFile()) throw collector.refusal(own, "is no plain file or folder");
    collector.claim(own, { kind: "file", bytes: found.size });
    const bytes = await readPlainFile(join(root, own), limits.package_unpacked_bytes);
    if (bytes === null || bytes.length !== found.size) throw collector.refusal(own, "changed while it was read");
    collector.add(own, bytes);
  }
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    throw new BulkheadError(isMissing(cause) ? "not_found" : "io_error", `Cannot read the plugin in ${folder}.`, {
      cause,
    });
  }
}
