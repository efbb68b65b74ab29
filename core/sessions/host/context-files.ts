import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readContained } from "../../walls/broker/contained-file.ts";
import { isPseudoFile } from "../../walls/broker/forbidden-paths.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { ContextFile } from "../../ground/prompt/enhance-prompt.ts";
import { realpath } from "../../ground/platform/files/files.ts";
import { isBelow, isInside, relative, resolve, sep } from "../../ground/platform/files/paths.ts";

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
  if (protectedPaths.some((place) => isInside(place, real))) {
    throw new BulkheadError("invalid_request", `The context file "${path}" is one of the host's own.`);
  }
  const text = await readContained(real, { maxBytes: limits.context_file_bytes });
  if (/[\0\ufffd]/.test(text)) {
    throw new BulkheadError("invalid_request", `The context file "${path}" is not UTF-8 text.`);
  }
  return { path: relative(workdir, real).split(sep).join("/"), text };
}
