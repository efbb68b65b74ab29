import type { Artifact } from "../../../../plugin-sdk/result.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { forbiddenBecause } from "../../../walls/broker/forbidden-paths.ts";
import { isBehindLink } from "../../../records/git/look-at.ts";
import { sessionPages } from "../../../records/journal/read-page.ts";
import type { Journal } from "../../../records/journal/journal.ts";
import type { Redactor } from "../../../ground/log/redact.ts";
import { sha256Hex } from "../../../ground/platform/files/hash.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../../ground/platform/files/read-plain-file.ts";
import { textOrBase64 } from "../../../ground/platform/files/text-or-base64.ts";
import { writeNewFile } from "../../../ground/platform/files/write-new-file.ts";
import { type Outline, type Pages, type PathSteps, readOutline, recordingLines } from "../../session/recording.ts";

/** Options of {@link recordSession}. */
export interface RecordOptions {
  /** Overwrites an existing file. */
  force?: boolean;
  /** Largest content of one file, in bytes; larger files are left out. Default 1 MiB. */
  maxFileBytes?: number;
}

/** Summary of a recording. */
export interface RecordReport {
  session_id: string;
  file: string;
  bytes: number;
  events: number;
  files: number;
  /** Changes that the recording leaves out, and why. */
  left_out: { path: string; reason: string }[];
}

interface RecordDeps {
  journal: Pick<Journal, "read">;
  isRunning(sessionId: string): boolean;
  /** Returns the redactor for sessions of these adapters; null when they have no secrets. */
  redactorOf(adapters: ReadonlySet<string>): Promise<Redactor | null>;
}

/**
 * Most bytes of all files' contents together: with the events, a recording should stay below what an adapter may read.
 */
const allFileBytes = 8 * 1024 * 1024;

/**
 * Writes a session that has ended to a file that the `replay` plugin plays back. It holds the last attempt's events
 * with their times, redacted as in the journal, and the session's changes from git, with the files' present contents if
 * they are still those that the session left. The file appears only once it is complete, readable by this user alone.
 * @param target `file` is an absolute path
 * @throws {BulkheadError} `not_found`, `busy` while the session runs, `already_exists`, `io_error`
 */
export async function recordSession(
  deps: RecordDeps,
  { sessionId, file, options = {} }: { sessionId: string; file: string; options?: RecordOptions | undefined },
): Promise<RecordReport> {
  const { force = false, maxFileBytes = 1024 * 1024 } = options;
  const pages: Pages = () => sessionPages(deps.journal, sessionId);
  const outline = deps.isRunning(sessionId) ? null : await readOutline(pages);
  if (outline === null && !deps.isRunning(sessionId)) {
    throw new BulkheadError("not_found", `There is no session "${sessionId}" in the journal.`);
  }
  if (!outline?.ended) {
    throw new BulkheadError("busy", `Session "${sessionId}" still runs.`, { hint: "Wait for its end." });
  }
  const redactor = await deps.redactorOf(outline.adapters);
  const { files, left_out } = await readChanges(outline, { redactor, maxFileBytes });
  let events = 0;
  const pieces = counted(recordingLines(pages, { outline, files }), (line) => {
    if (/^\{"at_ms":\d+,"event":/.test(line)) events++;
  });
  const bytes = await writeNewFile(file, { pieces, replace: force }).catch((cause: unknown) => {
    throw writeError(file, cause);
  });
  return { session_id: sessionId, file, bytes, events, files: files.length, left_out };
}

async function* counted(lines: AsyncIterable<string>, count: (line: string) => void): AsyncGenerator<string> {
  for await (const line of lines) {
    count(line);
    yield line;
  }
}

async function readChanges(
  { workdir, artifacts, omitted }: Outline,
  { redactor, maxFileBytes }: { redactor: Redactor | null; maxFileBytes: number },
): Promise<{ files: PathSteps[]; left_out: RecordReport["left_out"] }> {
  const files: PathSteps[] = [];
  const left_out: RecordReport["left_out"] = [];
  if (omitted > 0) left_out.push({ path: ".", reason: `the session's list leaves out ${omitted} more changes` });
  let room = allFileBytes;
  for (const artifact of artifacts) {
    const { path, from } = artifact;
    const reason = unplayable(artifact, workdir);
    if (reason !== null) {
      left_out.push({ path, reason });
      continue;
    }
    if (artifact.change === "deleted") {
      files.push({ path, steps: [{ delete: path }] });
      continue;
    }
    const content = await contentOf(artifact, { workdir, redactor, maxBytes: Math.min(room, maxFileBytes) });
    if (typeof content === "string") {
      left_out.push({ path, reason: content });
      continue;
    }
    room -= content.byteLength;
    const write = { write: { path, ...textOrBase64(content) } };
    files.push({ path, steps: from === undefined ? [write] : [{ delete: from }, write] });
  }
  return { files, left_out };
}

/** Returns why an adapter could not make this change, or null. */
function unplayable({ path, from, kind }: Artifact, workdir: string): string | null {
  if (kind !== "file") return `it is a ${kind}`;
  for (const name of from === undefined ? [path] : [path, from]) {
    if (name.includes("\ufffd")) return "its name is not UTF-8";
    // deno-lint-ignore no-control-regex
    if (/[\u0000-\u001f\u007f\\]/.test(name)) return "its name holds characters that adapters may not use";
    const found = forbiddenBecause(join(workdir, name), {
      access: "write",
      root: workdir,
      protectedPaths: [],
      sealedPaths: [],
      dataDir: join(workdir, "\ufffd"),
      autoexecNames: [],
    });
    if (found !== null) return found.because;
  }
  return null;
}

/** Returns the content that the session left, or why there is none. */
async function contentOf(
  { path, sha256, bytes }: Artifact,
  { workdir, redactor, maxBytes }: { workdir: string; redactor: Redactor | null; maxBytes: number },
): Promise<Uint8Array | string> {
  if (bytes !== null && bytes > maxBytes) return `it has ${bytes} bytes`;
  const content = await isBehindLink(workdir, path) ? null : await readPlainFile(join(workdir, path), maxBytes);
  if (content === null || sha256Hex(content) !== sha256) return "it was changed since";
  if (redactor !== null) {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(content);
    if (redactor.text(text) !== text) return "it holds a secret";
  }
  return content;
}

function writeError(file: string, cause: unknown): BulkheadError {
  if (cause instanceof BulkheadError) return cause;
  if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") return existsError(file);
  const message = cause instanceof Error ? cause.message : String(cause);
  return new BulkheadError("io_error", `Cannot write the recording "${file}": ${message}.`, { cause });
}

/** The error for a recording that already exists; it is kept. */
export function existsError(file: string): BulkheadError {
  return new BulkheadError("already_exists", `File "${file}" already exists.`, {
    hint: "Choose another name, or overwrite it with --force.",
  });
}
