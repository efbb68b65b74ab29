import fc from "fast-check";
import type { Envelope, HostEvent } from "../../../plugin-sdk/envelope.ts";
import { toolKinds } from "../../../plugin-sdk/tool-kinds.ts";
import { fakeResult, fakeSettings } from "../cli/fake-host.ts";

const text = fc.string({ unit: "grapheme", maxLength: 40 });
const id = fc.string({ minLength: 1, maxLength: 12 });
const json = fc.jsonValue();
const count = fc.option(fc.nat(), { nil: null });
const kind = fc.constantFrom(...toolKinds);
const type = <T extends string>(name: T) => fc.constant(name);
const some = <T, K extends keyof T>(fields: { [F in keyof T]: fc.Arbitrary<T[F]> }, requiredKeys: K[]) =>
  fc.record(fields, { requiredKeys }) as unknown as fc.Arbitrary<Envelope["event"]>;

/** One event of each type that the host adds. */
export const hostEvents: { [T in HostEvent["type"]]: Extract<HostEvent, { type: T }> } = {
  session_started: {
    type: "session_started",
    adapter_id: "alpha",
    workdir: "/work",
    task_id: null,
    labels: {},
    requested: { workdir: "/work", prompt: "go" },
    effective: fakeSettings(),
    candidates: ["alpha"],
    passed_over: [],
  },
  queued: { type: "queued", position: 2 },
  attempt_started: { type: "attempt_started", attempt: 2, adapter_id: "alpha", access_mode: "api" },
  attempt_failed: {
    type: "attempt_failed",
    attempt: 1,
    adapter_id: "alpha",
    error: { code: "crash", message: "It died." },
    retry_in_ms: 10,
  },
  fallback: { type: "fallback", from: "alpha", to: "beta", reason: "It died." },
  process_spawned: { type: "process_spawned", process_id: 1, pid: 2, argv: ["/bin/ls"] },
  process_exited: { type: "process_exited", process_id: 1, pid: 2, exit_code: 0, signal: null, duration_ms: 1 },
  permission_resolved: { type: "permission_resolved", request_id: "r", choice: null, by: "deadline" },
  capability: { type: "capability", permission: "net", target: "a:1", decision: "denied", grant_command: "do it" },
  worker: { type: "worker", state: "killed", message: "It was killed." },
  git: { type: "git", changes: [{ name: "refs/heads/main", outcome: "moved", id: "0".repeat(40) }] },
  artifacts: { type: "artifacts", artifacts: null, reason: "git_missing" },
  held: {
    type: "held",
    held: [{ path: "a/.envrc", kind: "acted_on", change: "new", by: "shells and terminals", why: "They run it." }],
    install_scripts: [{ path: "package.json", names: ["postinstall"] }],
  },
  message_accepted: {
    type: "message_accepted",
    message_id: "m",
    delivery: "steer",
    content: [{ type: "text", text: "and now" }, { type: "image", sha256: "0".repeat(64), mime_type: "image/png" }],
    by: { client: "me" },
  },
  message_changed: { type: "message_changed", message_id: "m", content: [{ type: "text", text: "but now" }] },
  message_sent: { type: "message_sent", message_id: "m", turn: 1 },
  message_delivered: { type: "message_delivered", message_id: "m", turn: 1, how: "injected" },
  message_dropped: { type: "message_dropped", message_id: "m", reason: "moved", to: "0123" },
  turn_started: {
    type: "turn_started",
    turn: 2,
    after: 1,
    message_ids: ["m"],
    by: "client",
    memory: "agent",
    prompt_sha256: "0".repeat(64),
    checkpoint: null,
  },
  turn_ended: {
    type: "turn_ended",
    turn: 2,
    outcome: "completed",
    stop_reason: "end_turn",
    output: "done",
    usage: fakeResult().usage,
    artifacts: [],
    checkpoint: null,
  },
  model_call: {
    type: "model_call",
    model: "m",
    status: 200,
    tokens_in: 1,
    tokens_out: 2,
    tokens_cached: 0,
    cost: null,
    currency: null,
  },
  rewound: {
    type: "rewound",
    to: 1,
    undo: false,
    at: "2026-01-02T03:04:05.678Z",
    before: "0".repeat(40),
    after: "1".repeat(40),
    files: 2,
    left: 1,
  },
  gap: { type: "gap", from_seq: 1, to_seq: 2 },
  session_ended: { type: "session_ended", result: fakeResult() },
};

/** Any event of a session, with any content. */
export const anyEvent: fc.Arbitrary<Envelope["event"]> = fc.oneof(
  some({ type: type("output"), stream: fc.constantFrom("stdout", "stderr"), data: text }, ["type", "stream", "data"]),
  some({ type: type("thinking"), content: text, tokens_used: fc.nat() }, ["type", "content"]),
  some({ type: type("tool_call"), call_id: id, tool: id, kind, input: json }, [
    "type",
    "call_id",
    "tool",
    "kind",
    "input",
  ]),
  fc.record({
    type: type("tool_result"),
    call_id: id,
    tool: id,
    output: json,
    success: fc.boolean(),
    duration_ms: count,
  }),
  some({
    type: type("file_change"),
    path: id,
    action: fc.constantFrom("create", "modify", "delete", "rename"),
    from: id,
    diff: text,
  }, ["type", "path", "action"]),
  some({ type: type("progress"), message: text, percentage: fc.integer({ min: 0, max: 100 }) }, ["type", "message"]),
  fc.record({
    type: type("plan"),
    entries: fc.array(fc.record({
      content: text,
      status: fc.constantFrom("pending" as const, "in_progress" as const, "completed" as const),
      priority: fc.constantFrom("high" as const, "medium" as const, "low" as const),
    })),
  }),
  some({
    type: type("usage"),
    scope: fc.constantFrom("turn", "session"),
    tokens_in: count,
    tokens_out: count,
    tokens_cached: count,
    cost: count,
    currency: fc.constantFrom("EUR", "USD"),
    model: text,
  }, ["type", "scope", "tokens_in", "tokens_out", "tokens_cached", "cost"]),
  some({
    type: type("permission_request"),
    request_id: id,
    tool: id,
    title: text,
    kind,
    call_id: id,
    input: json,
    options: fc.array(fc.record({ id, label: text, kind: fc.constantFrom("allow_once", "reject_once") })),
  }, ["type", "request_id", "tool", "title", "options"]),
  some({ type: type("question"), request_id: id, call_id: id, question: text, options: fc.array(text) }, [
    "type",
    "request_id",
    "question",
  ]),
  fc.record({ type: type("request_withdrawn"), request_id: id }),
  fc.record({ type: type("message"), message_id: id, state: fc.constantFrom("taken" as const, "returned" as const) }),
  fc.record({ type: type("turn_began"), message_ids: fc.array(id) }),
  some({ type: type("agent_started"), agent_id: id, call_id: id, parent: id, name: text, prompt: text }, [
    "type",
    "agent_id",
    "name",
  ]),
  some({ type: type("agent_ended"), agent_id: id, outcome: fc.constantFrom("completed", "stopped"), output: text }, [
    "type",
    "agent_id",
    "outcome",
  ]),
  some({ type: type("rate_limit"), message: text, wait_ms: count, reset_at: text }, ["type", "message", "wait_ms"]),
  some({ type: type("agent_info"), agent_session_id: id, agent_version: id, model: id, tools: fc.array(id) }, ["type"]),
  fc.record({ type: type("unparsed"), data: json }),
  some({
    type: type("completed"),
    success: fc.boolean(),
    output: text,
    files_changed: fc.array(id),
    tokens_used: count,
    cost: count,
    confidence: fc.constantFrom(0, 0.5, 1),
  }, ["type", "success", "files_changed", "tokens_used", "cost"]),
  fc.record({ type: type("error"), code: id, message: text, recoverable: fc.boolean() }),
  fc.constantFrom(...Object.values(hostEvents)),
);
