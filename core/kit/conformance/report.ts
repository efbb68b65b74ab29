import type { ErrorData } from "../../../plugin-sdk/errors.ts";

/** One thing that a rule found. */
export interface Finding {
  /** Sentence that names the thing, what was expected and what was seen; lines below it may tell the cause. */
  message: string;
  /** The session in which it was seen: its name in `conformance.yaml`, or what its tool was made to do. */
  session?: string;
}

/** How a rule stands: `noted` tells the author something that is no failure, `skipped` says why it could not be tried. */
export type RuleOutcome = "passed" | "failed" | "noted" | "skipped";

/** Result of one rule. */
export interface RuleReport {
  rule: string;
  /** The fact that holds for a plugin that passes, in a sentence. */
  title: string;
  outcome: RuleOutcome;
  findings: Finding[];
  /** Why it was skipped. */
  reason?: string;
}

/** Result of a run of the conformance kit, as `bulkhead plugin test --json` prints it. */
export interface ConformanceReport {
  /** Version of this form. */
  conformance: 1;
  /** Null when the manifest could not be read. */
  plugin_id: string | null;
  version: string | null;
  /** Absolute path. */
  folder: string;
  /** Such as `node 20.19.0`. */
  runtime: string;
  /** Its container: a process of its own, as in use, unless the kit's caller chose a thread. */
  isolation: "process" | "thread";
  passed: boolean;
  duration_ms: number;
  /** Every rule, in the order of the list. */
  rules: RuleReport[];
}

/** Writes an error for an author: its message behind the place in the author's files, and the hint on a line below. */
export function saidOf({ message, hint, details }: ErrorData): string {
  const [, place] = /\(?([^\s()]+:\d+:\d+)\)?$/m.exec(String(details?.["stack"] ?? "")) ?? [];
  return [place === undefined ? message : `${place}: ${message}`, ...(hint === undefined ? [] : [hint])].join("\n");
}
