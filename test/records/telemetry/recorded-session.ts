import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** Words that no collector may see unless the operator lets it. */
export const kept = {
  prompt: "PROMPT-7731 fix the parser",
  output: "OUTPUT-4242 it is fixed",
  path: "/home/someone/secret-project",
  secret: "sk-live-90210",
};

/** Span of a client. */
export const client = { trace: "4bf92f3577b34da6a3ce929d0e0e4736", span: "00f067aa0ba902b7" };

const usage = {
  tokens_in: 120,
  tokens_out: 30,
  tokens_cached: 100,
  cost: 0.25,
  currency: "USD",
  model: "model-1",
  duration_ms: 9000,
  scope: "session",
  basis: "reported",
};

/** Events of a session with two tools, an agent of the agent and a program, in order. */
export function eventsOf({ traceparent }: { traceparent?: string } = {}): object[] {
  return [
    {
      type: "session_started",
      adapter_id: "echo",
      workdir: kept.path,
      task_id: null,
      labels: { [kept.secret]: kept.secret },
      requested: { workdir: kept.path, prompt: kept.prompt, ...(traceparent === undefined ? {} : { traceparent }) },
      effective: { model: "model-1" },
      candidates: ["echo"],
      passed_over: [],
    },
    { type: "attempt_started", attempt: 1, adapter_id: "echo", access_mode: "api" },
    { type: "process_spawned", process_id: 1, pid: 4711, argv: [`${kept.path}/bin/agent`, kept.secret] },
    { type: "agent_info", agent_version: "2.1.0", model: "model-1" },
    { type: "usage", scope: "turn", tokens_in: 20, tokens_out: 10, tokens_cached: null, cost: null, model: "model-1" },
    { type: "tool_call", call_id: "call-1", tool: "Read", kind: "read", input: { path: `${kept.path}/a.ts` } },
    { type: "tool_result", call_id: "call-1", tool: "Read", output: kept.output, success: true, duration_ms: 3 },
    { type: "tool_call", call_id: "call-2", tool: "Task", kind: "agent", input: { prompt: kept.prompt } },
    { type: "agent_started", agent_id: "helper-1", call_id: "call-2", name: "explorer", prompt: kept.prompt },
    {
      type: "tool_call",
      call_id: "call-3",
      tool: `Read ${kept.path}/b.ts`,
      kind: "read",
      input: { path: kept.path },
      agent_id: "helper-1",
    },
    { type: "tool_result", call_id: "call-3", tool: "Read", output: kept.output, success: false, duration_ms: 3 },
    { type: "agent_ended", agent_id: "helper-1", outcome: "completed", output: kept.output },
    { type: "tool_result", call_id: "call-2", tool: "Task", output: kept.output, success: true, duration_ms: 9 },
    { type: "output", stream: "stdout", data: kept.output },
    { type: "usage", scope: "turn", tokens_in: 100, tokens_out: 20, tokens_cached: 100, cost: null, model: "model-1" },
    { type: "process_exited", process_id: 1, pid: 4711, exit_code: 0, signal: null, duration_ms: 50 },
    {
      type: "session_ended",
      result: {
        session_id: "s",
        task_id: null,
        outcome: "completed",
        stop_reason: "end_turn",
        output: kept.output,
        usage,
        provenance: { adapter_id: "echo" },
      },
    },
  ];
}

/** Puts events of sessions into envelopes, one after the other, a moment apart. */
export class Envelopes {
  #gseq = 0;
  readonly #seqs = new Map<string, number>();
  #ms: number;

  constructor(startMs: number = Date.now() - 60_000) {
    this.#ms = startMs;
  }

  of(session_id: string, events: readonly object[]): Envelope[] {
    return events.map((event) => {
      const seq = (this.#seqs.get(session_id) ?? 0) + 1;
      this.#seqs.set(session_id, seq);
      this.#ms += 10;
      return {
        v: 1,
        seq,
        gseq: ++this.#gseq,
        ts: new Date(this.#ms).toISOString(),
        session_id,
        attempt: 1,
        adapter: { id: "echo", version: "1.0.0" },
        source: "agent",
        event: event as Envelope["event"],
      };
    });
  }
}
