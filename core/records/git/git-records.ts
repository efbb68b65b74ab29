import {
  type GitOutcome,
  type GitRunOptions,
  mostStdoutBytes,
  runGit,
  tooMuch,
} from "../../ground/runtime/git-program.ts";
import { joinBytes } from "../../ground/runtime/join-bytes.ts";

/**
 * Records that one list may have. The largest repositories track half a million files, and some lists have three records
 * of each.
 */
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
