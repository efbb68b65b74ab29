import { type AdapterEvent, adapterEventTypes, BulkheadError } from "bulkhead/plugin-sdk";

/** A change to a file, with paths relative to the working directory. */
export type FileStep =
  | { kind: "write"; path: string; text: string }
  | { kind: "write_base64"; path: string; base64: string }
  | { kind: "delete"; path: string }
  | { kind: "rename"; from: string; to: string };

/** One line of a recording: what happens `at_ms` after the session's start. */
type Step = { at_ms: number } & (FileStep | { kind: "event"; event: AdapterEvent } | MessageStep);

/** A message of this text: it begins a further turn, or goes into the one that runs. */
type MessageStep = { kind: "turn"; text: string } | { kind: "steer"; text: string };

const actions = ["event", "write", "delete", "rename", "turn", "steer"] as const;

/**
 * The steps of a recording: JSON lines `{"at_ms", "event"}`, `{"at_ms", "write": {"path", "text"}}` (or `"base64"`),
 * `{"at_ms", "delete": path}`, `{"at_ms", "rename": {"from", "to"}}`, `{"at_ms", "turn": message}` or
 * `{"at_ms", "steer": message}`, in the order of time. Blank lines are skipped.
 * That an event's fields fit is checked by the host, as for every adapter.
 * @throws {BulkheadError} `invalid_request` naming the first line that does not fit, and why
 */
export function parseRecording(text: string, name: string): Step[] {
  const steps: Step[] = [];
  let now = 0;
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === "") return;
    const fail = (why: string): never => {
      throw new BulkheadError("invalid_request", `Cannot replay "${name}": line ${index + 1} ${why}.`, {
        details: { line: index + 1 },
      });
    };
    const step = parseStep(line, fail);
    if (step.at_ms < now) fail(`goes back in time, from ${now} to ${step.at_ms} ms`);
    now = step.at_ms;
    steps.push(step);
  });
  if (steps.length === 0) throw new BulkheadError("invalid_request", `Cannot replay "${name}": it holds no line.`);
  return steps;
}

function parseStep(line: string, fail: (why: string) => never): Step {
  const row = record(parseJson(line, fail)) ?? fail("is not a JSON object");
  const { at_ms, ...rest } = row;
  if (typeof at_ms !== "number" || !(at_ms >= 0)) return fail('has no "at_ms" from 0');
  const [key, ...more] = Object.keys(rest);
  const action = actions.find((known) => known === key);
  if (action === undefined || more.length > 0) {
    return fail(`must have exactly one of ${actions.join(", ")} beside "at_ms"`);
  }
  return { at_ms, ...parseAction(action, { value: rest[action], fail }) };
}

function parseAction(
  action: (typeof actions)[number],
  { value, fail }: { value: unknown; fail: (why: string) => never },
): FileStep | { kind: "event"; event: AdapterEvent } | MessageStep {
  const fields = record(value);
  switch (action) {
    case "event":
      return { kind: "event", event: isEvent(fields) ? fields : fail("has an event of no known type") };
    case "write": {
      const { text, base64 } = fields ?? {};
      if (typeof base64 === "string") return { kind: "write_base64", path: filePath(fields?.["path"], fail), base64 };
      if (typeof text !== "string") return fail('writes without a "text" or "base64"');
      return { kind: "write", path: filePath(fields?.["path"], fail), text };
    }
    case "turn":
    case "steer":
      return typeof value === "string" ? { kind: action, text: value } : fail("has a message without its text");
    case "delete":
      return { kind: "delete", path: filePath(value, fail) };
    case "rename":
      return { kind: "rename", from: filePath(fields?.["from"], fail), to: filePath(fields?.["to"], fail) };
  }
}

function filePath(value: unknown, fail: (why: string) => never): string {
  if (typeof value !== "string" || value === "") return fail("names no path");
  if (/^([\\/]|[A-Za-z]:)/.test(value) || value.split(/[\\/]/).includes("..")) {
    return fail(`names "${value}", which is not a path inside the working directory`);
  }
  return value;
}

function parseJson(line: string, fail: (why: string) => never): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return fail("is not JSON");
  }
}

function isEvent(fields: Record<string, unknown> | undefined): fields is Record<string, unknown> & AdapterEvent {
  return (adapterEventTypes as readonly unknown[]).includes(fields?.["type"]);
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : undefined;
}
