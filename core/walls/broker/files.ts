import { Type } from "@sinclair/typebox";
import type { FileInfo } from "../../../plugin-sdk/context.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { lstat, mkdir, realpath, rm } from "../../ground/platform/files/files.ts";
import { basename, dirname, isBelow, isInside, join } from "../../ground/platform/files/paths.ts";
import { listFolder, rmdir } from "../../ground/platform/files/pinned-folder.ts";
import { bytesOfBase64 } from "../../ground/platform/files/text-or-base64.ts";
import { absolutePath, locate } from "../../ground/platform/files/contain-path.ts";
import { inFolder, readContained, writeContained } from "./contained-file.ts";
import { dataQuotas } from "./data-quota.ts";
import { type GrantedRoot, grantedRoots, placesOfRoots, rootFor, rootPathFor, wordFor } from "./granted-roots.ts";
import { type BrokerScope, type Operation, operation } from "./operation.ts";
import { foldName } from "../../ground/platform/files/fold-name.ts";
import { bareRepositoryAt } from "./bare-repository.ts";
import { type Forbidden, forbiddenBecause } from "./forbidden-paths.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";

const path = Type.String({ minLength: 1, maxLength: 4096 });
const onePath = exactly<{ path: string }>()(Type.Object({ path }, closed));

/** Files under granted roots. */
export const fileOperations: readonly Operation[] = [
  operation("fs_read_text", {
    args: onePath,
    async perform(scope, args) {
      const place = await open(scope, { path: args.path, access: "read", followLast: true });
      return scope.onDisk(() => readContained(place.path, { maxBytes: maxFileBytes(scope) }));
    },
  }),
  operation("fs_write_text", {
    args: exactly<{ path: string; text: string }>()(Type.Object({ path, text: Type.String() }, closed)),
    perform: (scope, args) => write(scope, { path: args.path, content: args.text }),
  }),
  operation("fs_write_base64", {
    args: exactly<{ path: string; base64: string }>()(Type.Object({ path, base64: Type.String() }, closed)),
    perform(scope, args) {
      const content = bytesOfBase64(args.base64);
      if (content === null) throw new BulkheadError("invalid_request", "Cannot write the file: it is not base64.");
      return write(scope, { path: args.path, content });
    },
  }),
  operation("fs_list", { args: onePath, perform: list }),
  operation("fs_stat", { args: onePath, perform: stat }),
  operation("fs_remove", { args: onePath, perform: remove }),
];

async function write(
  scope: BrokerScope,
  { path, content }: { path: string; content: string | Uint8Array },
): Promise<null> {
  const place = await open(scope, { path, access: "write", followLast: true });
  return scope.onDisk(async () => {
    const act = async () => {
      await makeFolders(place, scope.signal);
      scope.signal.throwIfAborted();
      await writeContained(place.path, content, { maxBytes: maxFileBytes(scope) });
      return null;
    };
    const data = await dataFolderOf(scope, place);
    if (data === null) return act();
    const measureAdded = async () => {
      const old = await lstat(place.path).then(({ size }) => size, () => null);
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      return { bytes: bytes.byteLength - (old ?? 0), entries: old === null ? place.missing.length : 0 };
    };
    return dataQuotas.write(data, { measureAdded, limits: scope.options.limits, act });
  });
}

/** The plugin's data folder, where the place is inside; else null. */
async function dataFolderOf({ options }: BrokerScope, place: Place): Promise<string | null> {
  const folder = await realpath(options.dataDir).catch(() => options.dataDir);
  return isInside(folder, place.path) ? folder : null;
}

/** Bytes of one file: the smaller of the host's and the permission's limit. */
export function maxFileBytes({ options }: BrokerScope): number {
  return Math.min(options.limits.file_bytes, options.permissions.limits?.file_bytes ?? Infinity);
}

interface Place {
  path: string;
  missing: string[];
  root: string;
}

/** The real place of a path, once it is known to be granted and not forbidden. */
async function open(
  { options, authority, onDisk }: BrokerScope,
  request: { path: string; access: "read" | "write"; followLast: boolean },
): Promise<Place> {
  const { access } = request;
  const wanted = absolutePath(request.path, options);
  const spelled = access === "write" ? options.spelledRoots : undefined;
  const [real, placesOf, meant] = await onDisk(async () => [
    await locate(wanted, request),
    await placesOfRoots(access, options),
    await grantedRoots(spelled ?? options.permissions[access], options),
  ]);
  const holding = (list: GrantedRoot[]) => narrowest(list.filter((root) => isInside(root.path, real.path)));
  const root = holding(meant)?.path ?? rootPathFor(real.path, options);
  const found = await onDisk(() => forbiddenAt(real.path, { options, access, root }));
  if (found?.grantable === false) throw authority.forbid(access, real.path, found);
  const { reach } = options.rights;
  const call = { kind: access, path: real.path, placesOf, isNamed: found !== null };
  if (found !== null && reach?.(call).allowed !== false) {
    await authority.demand({
      permission: access,
      target: wordFor(real.path, options),
      subject: real.path,
      because: found.because,
      mustBeAsked: true,
      call,
    });
  }
  await authority.demand({
    permission: access,
    target: rootFor(real.path, options),
    subject: real.path,
    call,
  });
  if (real.fault !== null) throw real.fault;
  return { path: real.path, missing: real.missing, root };
}

/** The root with the longest path: what is spelled out in most detail. */
function narrowest(roots: readonly GrantedRoot[]): GrantedRoot | undefined {
  return roots.reduce<GrantedRoot | undefined>(
    (best, root) => (best === undefined || root.path.length > best.path.length ? root : best),
    undefined,
  );
}

async function list(scope: BrokerScope, args: { path: string }): Promise<string[]> {
  const max = scope.options.limits.dir_entries;
  const place = await open(scope, { path: args.path, access: "read", followLast: true });
  const names = await scope.onDisk(() => inFolder(place.path, (folder) => listFolder(folder, max)));
  if (names !== null) return names;
  throw new BulkheadError("limit_exceeded", `Cannot list "${place.path}": it has more than ${max} entries.`, {
    details: { dir_entries: max },
  });
}

async function stat(scope: BrokerScope, args: { path: string }): Promise<FileInfo> {
  const place = await open(scope, { path: args.path, access: "read", followLast: false });
  return scope.onDisk(() =>
    inFolder(dirname(place.path), async ({ base }) => {
      const info = await lstat(`${base}/${basename(place.path)}`);
      const kind = info.isFile() ? "file" : info.isDirectory() ? "folder" : info.isSymbolicLink() ? "symlink" : "other";
      return { kind, bytes: info.size, modified_at: info.mtime.toISOString() };
    })
  );
}

/** Removes a file, a link itself, or an empty folder; never the granted root. */
async function remove(scope: BrokerScope, args: { path: string }): Promise<null> {
  const place = await open(scope, { path: args.path, access: "write", followLast: false });
  if (place.path === place.root) {
    throw scope.authority.forbid("write", place.path, { because: "it is the granted folder itself" });
  }
  scope.signal.throwIfAborted();
  await scope.onDisk(async () => {
    const data = await dataFolderOf(scope, place);
    if (data === null) await removeEntry(place.path);
    else await dataQuotas.remove(data, () => removeEntry(place.path));
  });
  return null;
}

function removeEntry(path: string): Promise<{ bytes: number; entries: number }> {
  return inFolder(dirname(path), async ({ base }) => {
    const target = `${base}/${basename(path)}`;
    const info = await lstat(target);
    if (info.isDirectory()) await rmdir(target);
    else await rm(target);
    return { bytes: info.isDirectory() ? 0 : info.size, entries: 1 };
  });
}

/** Makes the folders that lead to a new file, one at a time, each in its checked parent. */
async function makeFolders({ path: file, missing }: Place, signal: AbortSignal): Promise<void> {
  const names = missing.slice(0, -1);
  let folder = missing.reduce((at) => dirname(at), file);
  for (const name of names) {
    signal.throwIfAborted();
    await inFolder(folder, ({ base }) => mkdir(`${base}/${name}`).catch(ignoreExisting));
    folder = join(folder, name);
  }
}

function ignoreExisting(error: unknown): void {
  // Another call may have been first; that it is a folder and no link is checked when it is entered.
  if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
}

/** {@link forbiddenBecause} with what only the disk can tell: what lies beside the path. */
async function forbiddenAt(
  path: string,
  { options, access, root }: { options: SessionBrokerOptions; access: "read" | "write"; root: string },
): Promise<Forbidden | null> {
  const { dataDir, workspaceDir, protectedPaths = [], sealedPaths = [], pluginPlaces, autoexecNames = [] } = options;
  const places = { dataDir, workspaceDir, protectedPaths, sealedPaths, pluginPlaces, autoexecNames };
  const found = forbiddenBecause(path, { access, root, ...places });
  if (found !== null || access === "read") return found;
  const repository = await bareRepositoryAt(path);
  if (repository !== null && !isBelow(repository, root)) {
    return {
      because: `git takes "${repository}" for a repository with it, and runs what its config names`,
      grantable: true,
    };
  }
  const plugins = await pluginFolderOf(path, root);
  return plugins === null ? null : { because: `hosts look for plugins in "${plugins}"`, grantable: true };
}

/** The folder `plugins` beside some host manifest that a path below a root stands in; null when there is none. */
async function pluginFolderOf(path: string, root: string): Promise<string | null> {
  for (let folder = path; isBelow(root, folder); folder = dirname(folder)) {
    if (foldName(basename(folder)) !== "plugins") continue;
    const manifest = join(dirname(folder), "bulkhead.yaml");
    if (await lstat(manifest).then(() => true, () => false)) return folder;
  }
  return null;
}
