import type { Artifact } from "../../../plugin-sdk/result.ts";
import { digestFile } from "../../ground/runtime/file-digest.ts";
import { join } from "../../ground/runtime/paths.ts";
import { isBehindLink } from "./behind-link.ts";
import { pathKey } from "./git-call.ts";
import { hugeBytes } from "./huge-files.ts";
import { lookAt } from "./look-at.ts";
import { pathText, type RawChange } from "./raw-diff.ts";

/** Options of {@link describeChange}. */
export interface ChangeOptions {
  /** Real absolute path that the change's paths are below. */
  workdir: string;
  /** Keys of the paths tracked now. */
  tracked: ReadonlySet<string>;
}

/**
 * Describes one change as an artifact; null for a file that still exists and is only hidden, because it is ignored now
 * or lies in a folder that became a repository.
 */
export async function describeChange(change: RawChange, context: ChangeOptions): Promise<Artifact | null> {
  const path = pathText(change.path);
  if (change.status === "D") {
    if (await isStillThere(context.workdir, change.path)) return null;
    return { path, change: "deleted", kind: kindOf(change.oldMode), sha256: null, bytes: null };
  }
  const renamed = change.from !== null && !(await isStillThere(context.workdir, change.from)) ? change.from : null;
  return {
    path,
    change: renamed !== null ? "renamed" : change.status === "M" ? "modified" : newness(change.path, context),
    ...(renamed === null ? {} : { from: pathText(renamed) }),
    ...await contentOf(change, context),
  };
}

function newness(path: Uint8Array, context: ChangeOptions): "created" | "untracked" {
  return context.tracked.has(pathKey(path)) ? "created" : "untracked";
}

async function contentOf(
  change: RawChange,
  context: ChangeOptions,
): Promise<Pick<Artifact, "kind" | "sha256" | "bytes">> {
  const kind = kindOf(change.newMode);
  if (kind === "submodule") return { kind, sha256: null, bytes: null };
  const digest = await digestFile(join(context.workdir, pathText(change.path)), { maxBytes: hugeBytes });
  return { kind, sha256: digest?.sha256 ?? null, bytes: digest?.bytes ?? null };
}

async function isStillThere(workdir: string, path: Uint8Array): Promise<boolean> {
  const name = pathText(path);
  const found = await lookAt(join(workdir, name));
  // An unreadable file may still exist.
  if (found === "unreadable") return true;
  return found !== null && (found.isFile() || found.isSymbolicLink()) && !(await isBehindLink(workdir, name));
}

function kindOf(mode: string): Artifact["kind"] {
  if (mode === "120000") return "symlink";
  return mode === "160000" ? "submodule" : "file";
}
