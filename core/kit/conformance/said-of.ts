import type { ErrorData } from "../../../plugin-sdk/errors.ts";

/** Writes an error for an author: its message behind the place in the author's files, and the hint on a line below. */
export function saidOf({ message, hint, details }: ErrorData): string {
  const [, place] = /\(?([^\s()]+:\d+:\d+)\)?$/m.exec(String(details?.["stack"] ?? "")) ?? [];
  return [place === undefined ? message : `${place}: ${message}`, ...(hint === undefined ? [] : [hint])].join("\n");
}
