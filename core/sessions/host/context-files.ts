import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readContained } from "../../walls/broker/contained-file.ts";
import { isPseudoFile } from "../../walls/broker/forbidden-paths.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { ProjectMemory } from "../../../plugin-sdk/context.ts";
import { personHomes } from "../../ground/platform/files/homes.ts";
import type { ContextFile } from "../../ground/prompt/enhance-prompt.ts";
import { lstat, realpath } from "../../ground/platform/files/files.ts";
import {
  basename,
  dirname,
  isBelow,
  isInside,
  join,
  relative,
  resolve,
  sep,
} from "../../ground/platform/files/paths.ts";

interface ReadContextFilesOptions {
  /** Real absolute path. */
  workdir: string;
  /** Real absolute paths that the host never reads context files from. */
  protectedPaths: readonly string[];
  limits: Pick<Limits, "context_file_bytes" | "context_bytes">;
}

/**
 * Reads a request's context files, which lie in its working directory. A file that cannot be passed on whole is
 * refused.
 * @throws {BulkheadError} `invalid_request` for a path outside and for a file that is not text, `not_found`,
 * `too_large`
 */
export async function readContextFiles(
  paths: readonly string[],
  options: ReadContextFilesOptions,
): Promise<ContextFile[]> {
  const files: ContextFile[] = [];
  let bytes = 0;
  for (const path of paths) {
    const file = await readOne(path, options);
    bytes += new TextEncoder().encode(file.text).length;
    if (bytes > options.limits.context_bytes) {
      throw new BulkheadError(
        "too_large",
        `The context files have more than ${options.limits.context_bytes} bytes together, with "${path}".`,
        { hint: "Name fewer or smaller ones, or raise the limit context_bytes." },
      );
    }
    files.push(file);
  }
  return files;
}

async function readOne(
  path: string,
  { workdir, protectedPaths, limits }: ReadContextFilesOptions,
): Promise<ContextFile> {
  const real = await realpath(resolve(workdir, path)).catch(() => null);
  if (real === null) throw new BulkheadError("not_found", `The context file "${path}" does not exist.`);
  if (!isBelow(workdir, real)) {
    throw new BulkheadError("invalid_request", `The context file "${path}" is not in the working directory.`);
  }
  if (isPseudoFile(real)) {
    throw new BulkheadError("invalid_request", `The context file "${path}" is in a pseudo file system.`);
  }
  // A worktree of the host's lies in its state.
  if (protectedPaths.some((place) => isInside(place, real) && !isInside(place, workdir))) {
    throw new BulkheadError("invalid_request", `The context file "${path}" is one of the host's own.`);
  }
  const text = await readContained(real, { maxBytes: limits.context_file_bytes });
  if (/[\0\ufffd]/.test(text)) {
    throw new BulkheadError("invalid_request", `The context file "${path}" is not UTF-8 text.`);
  }
  return { path: relative(workdir, real).split(sep).join("/"), text };
}

/** Most files that the instructions of a project import from one another in a row. */
const deepestImport = 5;
const mostMemoryFiles = 64;

/** Instructions that are being read. */
interface Reading extends ReadContextFilesOptions {
  /** Top of the repository that the working directory lies in, or else the working directory. */
  top: string;
  /** Hidden folders that may hold documents. */
  folders: ReadonlySet<string>;
  seen: Set<string>;
  sections: string[];
  bytes: number;
  leftOut: string[];
}

/**
 * Reads a project's instructions for an agent that cannot read them itself: the files of these names in the working
 * directory and above it in its repository, the nearest last, each with the documents that it imports (`@docs/style.md`). A
 * file of the working directory, which agents write, leads to nothing outside of it, by a link or by an import.
 * @param options.runsPrograms its programs see the project anyway: an adapter without any gets nothing
 * @returns null where the project has none
 */
export async function readProjectMemory(
  names: readonly string[],
  { runsPrograms, ...options }: ReadContextFilesOptions & { runsPrograms: boolean },
): Promise<ProjectMemory | null> {
  if (names.length === 0 || !runsPrograms) return null;
  const top = await repositoryTop(options.workdir);
  const folders = new Set([".github", ...names.map(dirname)]);
  const reading: Reading = { ...options, top, folders, seen: new Set(), sections: [], bytes: 0, leftOut: [] };
  for (const folder of foldersBetween(top, options.workdir)) {
    for (const name of names) {
      const path = join(folder, name);
      if (await lstat(path).catch(() => null) !== null) await addMemory(path, { reading, depth: 0 });
    }
  }
  const { sections, leftOut } = reading;
  return sections.length + leftOut.length === 0 ? null : { text: sections.join("\n\n"), left_out: leftOut };
}

async function addMemory(path: string, { reading, depth }: { reading: Reading; depth: number }): Promise<void> {
  const { top, workdir, limits, seen, sections, folders } = reading;
  const shown = relative(workdir, path).split(sep).join("/");
  const real = await realpath(path).catch(() => null);
  if (real !== null && seen.has(real)) return;
  seen.add(real ?? path);
  const within = isInside(workdir, path) ? workdir : top;
  const isNone = seen.size > mostMemoryFiles || !isDocument(real ?? path, { within, folders });
  const file = isNone ? null : await readOne(path, { ...reading, workdir: within }).catch(() => null);
  const bytes = file === null ? 0 : new TextEncoder().encode(file.text).length;
  if (file === null || reading.bytes + bytes > limits.context_bytes) return void reading.leftOut.push(shown);
  reading.bytes += bytes;
  sections.push(`Contents of ${JSON.stringify(shown)}, instructions of the project:\n\n${file.text.trim()}`);
  for (const named of importsOf(file.text)) {
    const target = resolve(dirname(join(within, file.path)), named);
    const isOutside = named.startsWith("~") || !isBelow(within, target);
    if (isOutside || depth >= deepestImport) reading.leftOut.push(`@${named}`);
    else if (isDocument(target, { within, folders })) await addMemory(target, { reading, depth: depth + 1 });
  }
}

/** Paths after an `@` that begins a word outside of code. */
function importsOf(text: string): string[] {
  const prose = text.replaceAll(/^ *(`{3,}|~{3,})[^]*?(?:^ *\1|(?![^]))/gm, "").replaceAll(/`[^`\n]*`/g, "");
  const found = [...prose.matchAll(/(?:^|\s)@([^\s@]{1,512})/g)].map(([, path = ""]) =>
    path.replace(/[.,;:!?)\]]+$/, "")
  );
  return [...new Set(found)].filter((path) => /[./~]/.test(path) || /^[A-Z][A-Z_-]+$/.test(path)).slice(
    0,
    mostMemoryFiles,
  );
}

/** Whether a path names a document: settings and keys are none, whatever their name says beside. */
function isDocument(path: string, { within, folders }: { within: string; folders: ReadonlySet<string> }): boolean {
  const above = relative(within, dirname(path)).split(sep);
  const name = basename(path);
  return above.every((folder) => !folder.startsWith(".") || folders.has(folder)) &&
    (/^[\w-][\w .-]*\.(?:md|mdx|mdc|markdown|txt|rst|adoc)$/i.test(name) || /^[A-Z][A-Z_-]+$/.test(name) ||
      name === "package.json");
}

/** Folders from the top to the working directory. */
function foldersBetween(top: string, workdir: string): string[] {
  const folders = [workdir];
  while (folders[0] !== top) folders.unshift(dirname(folders[0]!));
  return folders;
}

/** The nearest folder above with a repository; never a home, or a folder above one. */
async function repositoryTop(workdir: string): Promise<string> {
  const { all: homes } = await personHomes();
  for (let folder = workdir;; folder = dirname(folder)) {
    if (folder === dirname(folder) || homes.some((home) => isInside(folder, home))) return workdir;
    if (await lstat(join(folder, ".git")).catch(() => null) !== null) return folder;
  }
}
