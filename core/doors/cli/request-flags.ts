import { efforts, type SessionPlacement, type SessionRequest } from "../../../plugin-sdk/request.ts";
import { InvalidArgumentError, Option } from "commander";
import { readTimeWithUnit } from "../../ground/config/read-time.ts";

/** The request field that a flag sets. */
export type RequestField =
  | keyof SessionRequest
  | `content.${"image" | "file"}`
  | `budget.${keyof NonNullable<SessionRequest["budget"]>}`
  | `place.${keyof SessionPlacement}`
  | "fork.at";

type ReadFlag = (typed: string, before: unknown) => unknown;

/** A flag of `bulkhead run` that sets one field of the request. */
interface RequestFlag {
  field: RequestField;
  flags: string;
  /** Heading of the flag in the help text. */
  heading: string;
  /** Makes commander's option, whose parser throws `InvalidArgumentError` with the expected form. */
  option(): Option;
}

/**
 * A row ends with the choices, with a function that reads the text and, for a repeated flag, the value so far, or with the
 * value of a flag that takes no text.
 */
type FlagRow = readonly [
  field: RequestField,
  flags: string,
  description: string,
  takes?: ReadFlag | readonly string[] | string,
];

/** Every mode of approval. */
const approvals = ["ask", "reads", "edits", "all", "deny"] as const;

const flagTable: Readonly<Record<string, readonly FlagRow[]>> = {
  "Prompt": [
    ["prompt", "-p, --prompt <text>", "another prompt"],
    ["role", "--role <role>", "template of the prompt", ["orchestrator", "implementor"]],
    ["context_files", "--context-file <path>", "file for the agent; repeat", readOneMore],
    ["system_prompt", "--system-prompt <text>", "system prompt"],
    ["continue_from", "--continue-from <id>", "the agent's own session to continue"],
    ["fork.at", "--continue-at <ref>", "up to this turn, an agent_ref, in a copy of that session"],
    [
      "enhance",
      "--enhance <answer>",
      "yes or no: add instructions and the signal of completion; default: with a role or an iteration",
      readYesNo,
    ],
    ["output_schema", "--output-schema <json>", "JSON Schema that the result's data must fit", readObject],
    ["keep_ms", "--keep <time>", "how long it waits for a further message after each turn, such as 15m", readWait],
    ["params", "--param <key=value>", "the adapter's own option; repeat", readPair],
  ],
  "Agent": [
    ["model", "-m, --model <name>", "model, as the adapter names it"],
    ["effort", "--effort <level>", "how much its model thinks", efforts],
    ["plan", "--plan", "plans, and changes nothing"],
    ["allowed_tools", "--allowed-tools <names>", 'tools the agent may use, with commas; "" for none', readList],
    ["env", "-e, --env <name=value>", "value for a granted name; repeat", readPair],
    ["mcp_servers", "--mcp-server <name>", "registered MCP server; repeat", readOneMore],
  ],
  "Where": [
    ["workdir", "-w, --workdir <folder>", "folder the agent works in; default: here"],
    ["workspace", "--workspace <kind>", "where changes are made", ["inplace", "worktree"]],
    ["place.machine", "--machine <name>", "machine of the cluster that runs it"],
    ["place.labels", "--on <key=value>", "label of the machine that runs it; repeat", readPair],
    [
      "place.repository",
      "--repository <url#ref>",
      "clone it where the session runs; --workdir is then a folder in it",
      readRepository,
    ],
    ["place.wait_ms", "--wait <time>", "how long it waits for a machine that fits; default: 10m", readWait],
  ],
  "Attachments": [
    ["content.image", "--image <file>", "image that the agent sees with the prompt; repeat", readOneMore],
    ["content.file", "--file <file>", "file that the agent gets with the prompt; repeat", readOneMore],
  ],
  "Limits": [
    ["max_turns", "--max-turns <n>", "turns of the agent at most", readCount],
    ["timeout_ms", "--timeout <time>", "total deadline, for example 90s, 5m or 1h", readTimeFlag],
    ["idle_timeout_ms", "--idle-timeout <time>", "longest silence", readTimeFlag],
    ["best_effort", "--best-effort", "run even if a limit cannot be enforced"],
    ["budget.cost", "--budget-cost <amount>", "cost at most", readAmount],
    ["budget.tokens", "--budget-tokens <n>", "tokens at most", readCount],
    ["budget.turns", "--budget-turns <n>", "turns at most", readCount],
    ["budget.tool_calls", "--budget-tool-calls <n>", "tool calls at most", readWhole],
  ],
  "Permissions and questions": [
    ["permissions", "--permissions <json>", "narrows the permissions", readObject],
    ["approval", "--approval <mode>", "how tool use is answered", approvals],
    [
      "tool_approvals",
      "--tool-approval <tool=answer>",
      "allow, ask or deny for one tool, * stands for anything; repeat",
      readPair,
    ],
    [
      "answer_timeout_ms",
      "--answer-timeout <time>",
      "how long the agent's questions wait for you; 0: do not wait",
      readWait,
    ],
  ],
  "Failures": [
    [
      "checkpoints",
      "--checkpoints",
      "keep the files of each turn, so that turns can be taken back; default: with --keep",
    ],
    ["checkpoints", "--no-checkpoints", "do not keep them"],
    ["retry", "--retry <when>", "when to retry a failed attempt", ["never", "safe", "always"]],
    ["resume", "--resume <when>", "whether the session resumes after the host was killed", ["never", "after_restart"]],
  ],
  "More": [
    ["iteration", "--iteration <n>", "number of this iteration", readCount],
    ["max_iterations", "--max-iterations <n>", "iterations at most", readCount],
    ["labels", "-l, --label <key=value>", "label of the session; repeat", readPair],
    ["record", "--record-wire", "keep the calls of its model, for bulkhead replay", "wire"],
    [
      "replay_of",
      "--replay-of <session>",
      "answer the calls of its model from the record of this session, by its id or its beginning",
    ],
    ["task_id", "--task-id <id>", "echoed in the result"],
    ["idempotency_key", "--idempotency-key <key>", "same key, same session"],
    [
      "traceparent",
      "--traceparent <span>",
      "span that the session belongs to; default: TRACEPARENT of the environment",
    ],
  ],
};

/** A flag for every field of a session request, in the order of the help text. */
export const requestFlags: readonly RequestFlag[] = Object.entries(flagTable).flatMap(([heading, rows]) =>
  rows.map(([field, flags, description, takes]) => ({
    field,
    flags,
    heading: `${heading}:`,
    option() {
      const option = new Option(flags, description);
      if (takes === undefined) return option;
      if (typeof takes === "string") return option.preset(takes);
      return typeof takes === "function" ? option.argParser(takes) : option.choices(takes);
    },
  }))
);

function readList(typed: string): string[] {
  return typed.split(",").map((name) => name.trim()).filter((name) => name !== "");
}

/** Reads one more value of a flag that may stand several times. */
export function readOneMore(typed: string, before: unknown): string[] {
  return [...(Array.isArray(before) ? before : []), typed];
}

/** Reads `name=value`, beside those that were read before. */
export function readPair(typed: string, before: unknown): Record<string, string> {
  const split = typed.indexOf("=");
  if (split < 1) throw new InvalidArgumentError("Expected name=value.");
  const pair: [string, string] = [typed.slice(0, split), typed.slice(split + 1)];
  // Built from entries, so that a key like __proto__ is an ordinary key.
  return Object.fromEntries([...Object.entries(before ?? {}), pair]);
}

function readCount(typed: string): number {
  const count = readWhole(typed);
  if (count < 1) throw new InvalidArgumentError("Expected a whole number from 1.");
  return count;
}

/** Reads a whole number. */
export function readWhole(typed: string): number {
  if (!/^\d{1,15}$/.test(typed)) throw new InvalidArgumentError("Expected a whole number.");
  return Number(typed);
}

function readAmount(typed: string): number {
  if (!/^\d{1,15}(\.\d+)?$/.test(typed)) throw new InvalidArgumentError("Expected an amount such as 0.50.");
  return Number(typed);
}

/**
 * Converts a typed time to milliseconds.
 * @throws {InvalidArgumentError} with the expected form
 */
export function readTimeFlag(typed: string): number {
  const ms = readTimeWithUnit(typed) ?? 0;
  if (ms < 1) throw new InvalidArgumentError("Expected a time with its unit, such as 90s, 5m or 1h.");
  return ms;
}

function readWait(typed: string): number {
  return typed === "0" ? 0 : readTimeFlag(typed);
}

function readYesNo(typed: string): boolean {
  if (typed !== "yes" && typed !== "no") throw new InvalidArgumentError("Expected yes or no.");
  return typed === "yes";
}

/** Reads a JSON object. */
export function readObject(typed: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(typed);
  } catch {
    value = null;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError('Expected a JSON object such as {"net":[]}.');
  }
  return value;
}

/** Reads an address and, behind a `#`, a branch, tag or commit. */
function readRepository(typed: string): { url: string; ref?: string } {
  const [, url = typed, ref] = /^(.*)#([^#]+)$/.exec(typed) ?? [];
  return ref === undefined ? { url } : { url, ref };
}
