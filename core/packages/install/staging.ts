import * as z from "zod/mini";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { packageNameOf } from "../registry/blocked-plugins.ts";
import { type FileHashes, fileList, filesDigest, listFileOf } from "../manifest/installed-files.ts";
import { bundlePlugin } from "../bundler/plugin-script.ts";
import { manifestName, readManifest } from "../manifest/read-manifest.ts";
import { everRequested } from "../permissions/requested-permissions.ts";
import { chmod, mkdir, readdir, rename, writeFile } from "../../ground/platform/files/files.ts";
import { randomId, sha256Hex } from "../../ground/platform/files/hash.ts";
import { dirname, join } from "../../ground/platform/files/paths.ts";
import { pid } from "../../ground/platform/engine/platform.ts";
import { processIsAlive } from "../../ground/platform/processes/process-alive.ts";
import type { FetchedPackage } from "./fetch-package.ts";
import { packageError, type PackageFiles } from "./package-files.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";

/** A package on the disk that was read whole and is not in use yet. */
export interface StagedPackage {
  manifest: Manifest;
  /** As its `package.json` says; null: it has none. */
  packageName: string | null;
  /** Hex SHA-256 of the list of its files. */
  files: string;
  /** Puts it where it is used from, unless it is there already. */
  moveTo(folder: string): Promise<void>;
  discard(): Promise<void>;
}

const stagingName = ".staging";

/**
 * Writes a package beside the installed ones and checks it as a plugin: manifest, integrity list, one script. Nothing of
 * it runs.
 * @param installed folder of the plugins installed beside a host manifest
 * @throws {BulkheadError} `invalid_package`, `invalid_manifest`, `bundle_failed`, `too_large`, `io_error`
 */
export async function stagePackage(fetched: FetchedPackage, installed: string): Promise<StagedPackage> {
  const folder = join(installed, stagingName, `${pid}-${randomId()}`);
  const discard = () => removeTree(folder);
  try {
    if (!fetched.files.has(manifestName)) throw packageError(fetched.name, `it has no ${manifestName}`);
    const hashes = await writeFiles(fetched.files, folder);
    const manifest = await readManifest(folder, { called: fetched.name });
    checkPackage(fetched, { manifest, hashes });
    await bundlePlugin({ folder, manifest, limits: defaultLimits, origin: "installed", hashes });
    await makeExecutable(folder, manifest);
    const list = fileList(hashes);
    const described = fetched.files.get("package.json");
    const packageName = described === undefined ? null : packageNameOf(described);
    return { manifest, packageName, files: sha256Hex(list), discard, moveTo: (place) => move(folder, { place, list }) };
  } catch (error) {
    await discard();
    throw error;
  }
}

/** Removes what installations that were killed have left behind. */
export async function sweepStaging(installed: string): Promise<void> {
  const names = await readdir(join(installed, stagingName)).catch(() => []);
  const left = names.filter((name) => !processIsAlive(Number.parseInt(name, 10)));
  await Promise.all(left.map((name) => removeTree(join(installed, stagingName, name))));
}

async function writeFiles(files: PackageFiles, folder: string): Promise<FileHashes> {
  // Any name may be a file's, "__proto__" too, which an assignment would lose.
  const hashes: [path: string, hash: string][] = [];
  const folders = new Set([...files.keys()].map((path) => dirname(join(folder, path))));
  for (const path of folders) await mkdir(path, { recursive: true, mode: 0o755 });
  for (const [path, bytes] of files) {
    await writeFile(join(folder, path), bytes, { flag: "wx", mode: 0o644 });
    hashes.push([path, sha256Hex(bytes)]);
  }
  return Object.fromEntries(hashes);
}

const integritySchema = z.strictObject({
  integrity: z.literal(1),
  algorithm: z.literal("sha256"),
  files: z.record(z.string(), z.string()),
});
const packageSchema = z.looseObject({ name: z.optional(z.string()), version: z.optional(z.string()) });

function checkPackage(
  { files, name, source, version }: FetchedPackage,
  { manifest, hashes }: { manifest: Manifest; hashes: FileHashes },
): void {
  const described = readJson(files, { path: "package.json", name, schema: packageSchema });
  if (source.type === "registry" && described?.name !== source.name) {
    throw packageError(name, `its package.json is that of ${JSON.stringify(described?.name ?? null)}`);
  }
  for (const other of [version, described?.version]) {
    if (typeof other !== "string" || other === manifest.version) continue;
    throw packageError(name, `its manifest says version ${manifest.version}, and its package ${other}`);
  }
  const integrity = readJson(files, { path: "integrity.json", name, schema: integritySchema });
  if (integrity === null) return;
  const { "integrity.json": _, ...own } = hashes;
  const paths = new Set([...Object.keys(own), ...Object.keys(integrity.files)]);
  const wrong = [...paths].find((path) => own[path] !== integrity.files[path]);
  if (wrong !== undefined) {
    throw packageError(name, `its file ${JSON.stringify(wrong)} is not as its integrity.json says`);
  }
}

/** Null when there is no such file. */
function readJson<T>(
  files: PackageFiles,
  { path, name, schema }: { path: string; name: string; schema: z.ZodMiniType<T> },
): T | null {
  const bytes = files.get(path);
  if (bytes === undefined) return null;
  try {
    const checked = schema.safeParse(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
    if (checked.success) return checked.data;
  } catch {
    // Invalid JSON is refused like JSON that fails the schema.
  }
  throw packageError(name, `its ${path} cannot be read`);
}

/** Only programs that the manifest names as its own can be started. */
async function makeExecutable(folder: string, manifest: Manifest): Promise<void> {
  const own = (everRequested(manifest).run ?? []).filter(({ binary }) => binary.startsWith("./"));
  for (const { binary } of own) await chmod(join(folder, binary), 0o755).catch(() => undefined);
}

async function move(folder: string, { place, list }: { place: string; list: string }): Promise<void> {
  const found = await filesDigest(place);
  if (found === sha256Hex(list)) return await removeTree(folder);
  await mkdir(dirname(place), { recursive: true, mode: 0o755 });
  // The folder there was changed; move it away first, because a rename does not replace a folder.
  if (found !== null) await rename(place, `${folder}-changed`);
  await writeFile(listFileOf(place), list);
  await rename(folder, place);
  await removeTree(`${folder}-changed`);
}
