import type { SessionPlacement, SessionRequest } from "../../../plugin-sdk/request.ts";
import { InvalidArgumentError } from "commander";
import { readTimeWithUnit } from "../../ground/config/read-time.ts";

/** The request field that a flag sets. */
export type RequestField =
  | keyof SessionRequest
  | `budget.${keyof NonNullable<SessionRequest["budget"]>}`
  | `place.${keyof SessionPlacement}`;

/** A flag of `bulkhead run` that sets one field of the request. */
interface RequestFlag {
  field: RequestField;
  flags: string;
  description: string;
  /**
   * Converts the typed text and, for a repeated flag, the value so far into the field's value.
   * @throws {InvalidArgumentError} with the expected form
   */
  read?: (typed: string, before: unknown) => unknown;
  choices?: readonly string[];
}

/** Headings of the flags in the help text; a field that is in none stands under "More". */
const flagGroups: Readonly<Record<string, readonly RequestField[]>> = {
  "Prompt": ["prompt", "role", "context_files", "system_prompt", "enhance", "continue_from", "params"],
  "Agent": ["model", "allowed_tools", "mcp_servers", "env"],
  "Where": ["workdir", "workspace", "place.machine", "place.labels", "place.repository", "place.wait_ms"],
  "Limits": [
    "timeout_ms",
    "idle_timeout_ms",
    "max_turns",
    "budget.cost",
    "budget.tokens",
    "budget.turns",
    "budget.tool_calls",
    "best_effort",
  ],
  "Permissions and questions": ["approval", "tool_approvals", "answer_timeout_ms", "permissions"],
  "Failures": ["retry", "resume"],
};

/** The flags under their headings, in the order of the help text. */
export function groupedFlags(): { heading: string; flags: RequestFlag[] }[] {
  const listed = Object.values(flagGroups).flat();
  const groups = Object.entries(flagGroups).map(([heading, fields]) => ({
    heading: `${heading}:`,
    flags: requestFlags.filter(({ field }) => fields.includes(field)),
  }));
  return [...groups, { heading: "More:", flags: requestFlags.filter(({ field }) => !listed.includes(field)) }];
}

/** A flag for every field of a session request. */
export const requestFlags: readonly RequestFlag[] = [
  { field: "workdir", flags: "-w, --workdir <folder>", description: "folder the agent works in; default: here" },
  { field: "prompt", flags: "-p, --prompt <text>", description: "another prompt" },
  {
    field: "role",
    flags: "--role <role>",
    description: "template of the prompt",
    choices: ["orchestrator", "implementor"],
  },
  { field: "model", flags: "-m, --model <name>", description: "model, as the adapter names it" },
  {
    field: "allowed_tools",
    flags: "--allowed-tools <names>",
    description: 'tools the agent may use, with commas; "" for none',
    read: readList,
  },
  {
    field: "context_files",
    flags: "--context-file <path>",
    description: "file for the agent; repeat",
    read: readOneMore,
  },
  { field: "system_prompt", flags: "--system-prompt <text>", description: "system prompt" },
  { field: "max_turns", flags: "--max-turns <n>", description: "turns of the agent at most", read: readCount },
  {
    field: "timeout_ms",
    flags: "--timeout <time>",
    description: "total deadline, for example 90s, 5m or 1h",
    read: readTimeFlag,
  },
  { field: "idle_timeout_ms", flags: "--idle-timeout <time>", description: "longest silence", read: readTimeFlag },
  { field: "env", flags: "-e, --env <name=value>", description: "value for a granted name; repeat", read: readPair },
  { field: "continue_from", flags: "--continue-from <id>", description: "the agent's own session to continue" },
  { field: "iteration", flags: "--iteration <n>", description: "number of this iteration", read: readCount },
  { field: "max_iterations", flags: "--max-iterations <n>", description: "iterations at most", read: readCount },
  { field: "permissions", flags: "--permissions <json>", description: "narrows the permissions", read: readObject },
  {
    field: "approval",
    flags: "--approval <mode>",
    description: "how tool use is answered",
    choices: ["ask", "reads", "edits", "all", "deny"],
  },
  {
    field: "tool_approvals",
    flags: "--tool-approval <tool=answer>",
    description: "allow, ask or deny for one tool, * stands for anything; repeat",
    read: readPair,
  },
  {
    field: "answer_timeout_ms",
    flags: "--answer-timeout <time>",
    description: "how long the agent's questions wait for you; 0: do not wait",
    read: readWait,
  },
  { field: "best_effort", flags: "--best-effort", description: "run even if a limit cannot be enforced" },
  {
    field: "enhance",
    flags: "--enhance <answer>",
    description: "yes or no: add instructions and the signal of completion; default: with a role or an iteration",
    read: readYesNo,
  },
  { field: "budget.cost", flags: "--budget-cost <amount>", description: "cost at most", read: readAmount },
  { field: "budget.tokens", flags: "--budget-tokens <n>", description: "tokens at most", read: readCount },
  { field: "budget.turns", flags: "--budget-turns <n>", description: "turns at most", read: readCount },
  { field: "budget.tool_calls", flags: "--budget-tool-calls <n>", description: "tool calls at most", read: readWhole },
  {
    field: "mcp_servers",
    flags: "--mcp-server <name>",
    description: "registered MCP server; repeat",
    read: readOneMore,
  },
  {
    field: "workspace",
    flags: "--workspace <kind>",
    description: "where changes are made",
    choices: ["inplace", "worktree"],
  },
  { field: "place.machine", flags: "--machine <name>", description: "machine of the cluster that runs it" },
  {
    field: "place.labels",
    flags: "--on <key=value>",
    description: "label of the machine that runs it; repeat",
    read: readPair,
  },
  {
    field: "place.repository",
    flags: "--repository <url#ref>",
    description: "clone it where the session runs; --workdir is then a folder in it",
    read: readRepository,
  },
  {
    field: "place.wait_ms",
    flags: "--wait <time>",
    description: "how long it waits for a machine that fits; default: 10m",
    read: readWait,
  },
  {
    field: "retry",
    flags: "--retry <when>",
    description: "when to retry a failed attempt",
    choices: ["never", "safe", "always"],
  },
  {
    field: "resume",
    flags: "--resume <when>",
    description: "whether the session resumes after the host was killed",
    choices: ["never", "after_restart"],
  },
  { field: "labels", flags: "-l, --label <key=value>", description: "label of the session; repeat", read: readPair },
  { field: "task_id", flags: "--task-id <id>", description: "echoed in the result" },
  { field: "idempotency_key", flags: "--idempotency-key <key>", description: "same key, same session" },
  {
    field: "params",
    flags: "--param <key=value>",
    description: "the adapter's own option; repeat",
    read: readPair,
  },
];

function readList(typed: string): string[] {
  return typed.split(",").map((name) => name.trim()).filter((name) => name !== "");
}

function readOneMore(typed: string, before: unknown): string[] {
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

function readWhole(typed: string): number {
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

function readObject(typed: string): unknown {
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
