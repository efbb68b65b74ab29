import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import {
  type GitOutcome,
  type GitRunOptions,
  mostStdoutBytes,
  runGit,
  tooMuch,
} from "../../ground/platform/processes/git-program.ts";
import { joinBytes } from "../../ground/platform/files/join-bytes.ts";

/** Settings of every call, which override any repository's config, from the environment, which needs no quoting. */
const hardening: readonly (readonly [key: string, value: string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.untrackedCache", "false"],
  ["core.attributesFile", "/dev/null"],
  ["core.safecrlf", "false"],
  ["core.compression", "0"],
  ["core.quotePath", "false"],
  ["protocol.allow", "never"],
  ["safe.bareRepository", "explicit"],
  // Folders that belong to another user are common in containers, and git runs nothing in them.
  ["safe.directory", "*"],
];

/** The environment of every call: no prompt, no network, no locks in the user's repository, English errors. */
export const gitEnv: Readonly<Record<string, string>> = {
  LC_ALL: "C",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_LAZY_FETCH: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_LITERAL_PATHSPECS: "1",
  GIT_PAGER: "cat",
  GIT_CONFIG_COUNT: String(hardening.length),
  ...Object.fromEntries(hardening.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])),
};

/**
 * Runs git; any exit code but 0 is a failure.
 * @returns its stdout
 * @throws {BulkheadError} `io_error` with git's first error line, `git_missing`; else the signal's reason
 */
export async function git(args: readonly string[], options: GitRunOptions): Promise<Uint8Array> {
  const outcome = await runGit(args, options);
  if (outcome.exit_code !== 0) throw gitError(args, outcome);
  return outcome.stdout;
}

/** Makes an error from a failed run of git; its message holds git's first error line. */
export function gitError(args: readonly string[], outcome: GitOutcome): BulkheadError {
  const lines = outcome.stderr.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const line = lines.find((text) => /^(fatal|error):/.test(text)) ?? lines[0] ?? `exit code ${outcome.exit_code}`;
  return new BulkheadError("io_error", `git ${args[0] ?? ""} failed: ${line}`);
}

/** Decodes bytes as one line of text, without the line's end. */
export function lineOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/\r?\n$/, "");
}

/** Lines for git's input. */
export function linesIn(lines: readonly string[]): Uint8Array {
  return new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
}

/** Joins records for git's `-z` input. */
export function joinNul(records: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(records.reduce((total, record) => total + record.byteLength + 1, 0));
  let at = 0;
  for (const record of records) {
    joined.set(record, at);
    at += record.byteLength + 1;
  }
  return joined;
}

/** A record for `git update-index --index-info`. */
export function indexLine(head: string, path: Uint8Array): Uint8Array {
  return joinBytes([new TextEncoder().encode(`${head}\t`), path]);
}

/** Returns a text that stands for the bytes of a path, for sets and maps: each byte another character. */
export function pathKey(path: Uint8Array): string {
  return latin1.decode(path);
}

const latin1 = new TextDecoder("latin1");

/** Records that one list may have: half a million files are tracked at most, with three records of each. */
const mostRecords = 2_000_000;

/**
 * Runs git and hands over the NUL-ended records of its `-z` output as they come, as bytes: names need not be UTF-8. A long
 * list never holds up the host for more than one piece of it. The outcome's `stdout` is empty.
 * @throws {BulkheadError} `too_large` for a list that is longer than any repository's; else as {@link runGit}, and what
 * `take` throws
 */
export async function eachRecord(
  args: readonly string[],
  options: Omit<GitRunOptions, "onStdout">,
  take: (record: Uint8Array) => void,
): Promise<GitOutcome> {
  let count = 0;
  let bytes = 0;
  let begun: Uint8Array[] = [];
  const onStdout = (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    if (bytes > mostStdoutBytes) throw tooMuch(args, `more than ${mostStdoutBytes} bytes`);
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      const piece = chunk.subarray(start, end);
      start = end + 1;
      if (++count > mostRecords) throw tooMuch(args, `more than ${mostRecords} paths`);
      if (begun.length === 0) take(piece);
      else {
        take(joinBytes([...begun, piece]));
        begun = [];
      }
    }
    if (start < chunk.byteLength) begun.push(chunk.subarray(start));
  };
  return await runGit(args, { ...options, onStdout });
}

/** Names many paths by the first of them: `"a"`, or `3 files, "a" among them`. Each form with the words that follow it. */
export function namedPaths(
  paths: readonly string[],
  { one = "", many = one }: { one?: string; many?: string } = {},
): string {
  const [first = ""] = paths;
  return paths.length === 1 ? `"${first}"${one}` : `${paths.length} files, "${first}" among them${many}`;
}
