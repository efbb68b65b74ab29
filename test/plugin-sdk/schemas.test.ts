import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { describe, expect, test } from "vitest";
import { accessModeStatusSchema } from "../../plugin-sdk/access-modes.ts";
import { availabilityReportSchema, healthStatusSchema } from "../../plugin-sdk/availability.ts";
import { adapterEventSchema, adapterEventSchemas, adapterEventTypes } from "../../plugin-sdk/events.ts";
import { cliToolSchema, manifestSchema } from "../../plugin-sdk/manifest.ts";
import { permissionsSchema } from "../../plugin-sdk/permissions.ts";
import { type SessionRequest, sessionRequestSchema } from "../../plugin-sdk/request.ts";
import { fullEvents, toolManifest } from "./examples.ts";

const request: Required<SessionRequest> = {
  workdir: "/work",
  prompt: "",
  content: [{ type: "image", sha256: "0".repeat(64), mime_type: "image/png" }],
  role: "implementor",
  model: "large",
  allowed_tools: [],
  context_files: ["a.md"],
  system_prompt: "be brief",
  max_turns: 1,
  timeout_ms: 1,
  idle_timeout_ms: 1,
  env: { A: "b" },
  continue_from: "s",
  fork: { at: "r" },
  iteration: 1,
  max_iterations: 2,
  permissions: toolManifest.permissions ?? {},
  approval: "ask",
  tool_approvals: { shell: "deny" },
  answer_timeout_ms: 0,
  best_effort: true,
  enhance: false,
  budget: { cost: 1, tokens: 1, turns: 1, tool_calls: 0 },
  mcp_servers: ["m"],
  workspace: "worktree",
  retry: "safe",
  resume: "after_restart",
  place: {
    machine: "one",
    labels: { a: "b" },
    repository: { url: "https://example.com/r.git", ref: "main" },
    wait_ms: 1,
  },
  labels: { a: "b" },
  task_id: "t",
  idempotency_key: "i",
  traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  params: { depth: 1 },
  keep_ms: 1000,
  output_schema: { type: "object" },
  checkpoints: true,
  effort: "high",
  plan: true,
  record: "wire",
  replay_of: "s",
};

const report = { availability: "missing", reason: "Not found.", next_step: "Install it.", version: "1" };

const health = {
  status: "degraded",
  latency_ms: 1,
  last_check: "2026-01-01T00:00:00Z",
  error: "slow",
  details: {
    binary_found: true,
    binary_version: "1",
    authenticated: true,
    rate_limit_remaining: 0,
    custom_checks: { a: false },
  },
};

const accessStatus = {
  type: "local",
  status: "rate_limited",
  current: { requests: 1, tokens: 2 },
  limits: { tokens_per_day: 1 },
  reset_at: null,
  estimated_wait: 1.5,
};

const examples: [string, TSchema, unknown][] = [
  ...adapterEventTypes.map((type): [string, TSchema, unknown] => [type, adapterEventSchemas[type], fullEvents[type]]),
  ["manifest", manifestSchema, toolManifest],
  ["cli tool", cliToolSchema, toolManifest.cli],
  ["permissions", permissionsSchema, toolManifest.permissions],
  ["request", sessionRequestSchema, request],
  ["availability report", availabilityReportSchema, report],
  ["health status", healthStatusSchema, health],
  ["access mode status", accessModeStatusSchema, accessStatus],
];

/** Last keys of places where any key is known, because names or values are the author's own. */
const open = new Set([
  "input",
  "data",
  "env",
  "labels",
  "params",
  "structured_output",
  "metadata",
  "output_schema",
  "properties",
  "custom",
  "custom_checks",
  "models",
  "env_vars",
  "exit_codes",
  "binary",
  "when",
  "event",
]);

describe.each(examples)("the schema of %s", (_name, schema, example) => {
  test("accepts a full example", () => {
    expect([...Value.Errors(schema, example)]).toEqual([]);
    expect(Value.Check(schema, example)).toBe(true);
  });

  test("refuses a key it does not know, at every depth", () => {
    const places = objectsIn(example).filter((place) => !open.has(place.split("/").at(-1) ?? ""));
    expect(places[0]).toBe("");
    for (const place of places) {
      const changed = structuredClone(example);
      (at(changed, place) as Record<string, unknown>)["no_such_key"] = 1;
      expect(Value.Check(schema, changed), place).toBe(false);
    }
  });

  test("refuses what is no object", () => {
    for (const wrong of [null, [], "x", 1, undefined]) expect(Value.Check(schema, wrong)).toBe(false);
  });
});

describe("adapterEventSchema", () => {
  test("accepts each event and refuses an unknown type", () => {
    for (const event of Object.values(fullEvents)) expect(Value.Check(adapterEventSchema, event)).toBe(true);
    expect(Value.Check(adapterEventSchema, { type: "session_ended" })).toBe(false);
  });

  test.each<[keyof typeof fullEvents, object]>([
    ["completed", { confidence: 1.1 }],
    ["completed", { tokens_used: -1 }],
    ["completed", { files_changed: undefined }],
    ["usage", { cost: -0.1 }],
    ["progress", { percentage: 101 }],
    ["tool_call", { kind: "shell" }],
    ["tool_call", { call_id: "" }],
    ["permission_request", { options: [] }],
    ["output", { stream: "stdin" }],
    ["output", { type: "thinking" }],
  ])("refuses %s with %j", (type, change) => {
    expect(Value.Check(adapterEventSchemas[type], { ...fullEvents[type], ...change })).toBe(false);
  });
});

/** Paths of all plain objects in a value, itself first. */
function objectsIn(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, child]) => objectsIn(child, `${path}/${key}`));
  return Array.isArray(value) ? inner : [path, ...inner];
}

function at(value: unknown, path: string): unknown {
  return path.split("/").slice(1).reduce((inner, key) => (inner as Record<string, unknown>)[key], value);
}
