import fc from "fast-check";

/** One thing a scripted adapter does. All JSON: it travels in a parameter. */
export type Step =
  | { do: "yield"; event: unknown }
  | { do: "yield_list"; events: unknown[] }
  | { do: "yield_odd"; odd: "function" | "cycle" | "bigint" | "getter" | "undefined" }
  | { do: "flood"; count: number; listed: boolean }
  | { do: "sleep"; ms: number }
  | { do: "ask"; id: string; wait: boolean }
  | { do: "question"; id: string; wait: boolean }
  | { do: "spawn"; then: "leave" | "wait" | "kill" }
  | { do: "read_denied" }
  | { do: "log"; count: number }
  | { do: "ignore_cancel" }
  | { do: "hang" }
  | { do: "late_throw" }
  | { do: "late_reject" }
  | { do: "throw" }
  | { do: "stop" };

/** What a client does with a session meanwhile. */
export interface Plan {
  steps: Step[];
  timeout_ms: number;
  approval: "ask" | "all" | "deny";
  interrupt_after_ms: number | null;
  /** Answers each request as soon as it is seen. */
  answers: boolean;
}

/** Text of an entry whose adapter does what `params.script` says. */
export const scriptedEntry = `import { defineAdapter } from "bulkhead/plugin-sdk";
const odd = {
  function: () => () => 1,
  cycle: () => { const a = {}; a.a = a; return a; },
  bigint: () => ({ type: "progress", message: 1n }),
  getter: () => ({ type: "progress", get message() { throw new Error("no"); } }),
  undefined: () => undefined,
};
const options = [
  { id: "yes", label: "Yes", kind: "allow_once" },
  { id: "no", label: "No", kind: "reject_once" },
];
async function* step(one, ctx) {
  switch (one.do) {
    case "yield": return yield one.event;
    case "yield_list": return yield one.events;
    case "yield_odd":
      try { yield odd[one.odd](); } catch (error) { yield { type: "progress", message: String(error.message) }; }
      return;
    case "flood": {
      const event = { type: "progress", message: "flood" };
      if (one.listed) yield Array.from({ length: one.count }, () => event);
      else for (let n = 0; n < one.count; n++) yield event;
      return;
    }
    case "sleep": return await ctx.sleep(one.ms);
    case "ask":
      yield { type: "permission_request", request_id: one.id, tool: "t", title: "May I?", options };
      if (one.wait) yield { type: "progress", message: "answer " + (await ctx.permission(one.id))?.id };
      return;
    case "question":
      yield { type: "question", request_id: one.id, question: "Which?" };
      if (one.wait) yield { type: "progress", message: "answer " + await ctx.answer(one.id) };
      return;
    case "spawn": {
      const child = await ctx.run("/bin/sleep", [one.then === "wait" ? "0.02" : "30"]);
      if (one.then === "wait") await child.exit;
      if (one.then === "kill") await child.kill();
      return;
    }
    case "read_denied":
      await ctx.fs.readText("/etc/passwd").catch(() => {});
      return;
    case "log":
      for (let n = 0; n < one.count; n++) ctx.log.info("line " + n);
      return;
    case "hang": return await new Promise(() => {});
    case "late_throw": setTimeout(() => { throw new Error("late"); }, 1); return;
    case "late_reject": Promise.reject(new Error("nobody cares")); return;
    case "throw": throw new Error("thrown");
  }
}
export default defineAdapter({
  id: "scripted", name: "Scripted", version: "1.0.0",
  async *runSession(request, ctx) {
    let ignores = false;
    for (const one of JSON.parse(request.params.script)) {
      if (one.do === "stop") return;
      if (one.do === "ignore_cancel") { ignores = true; continue; }
      try {
        yield* step(one, ctx);
      } catch (error) {
        if (!ignores || one.do === "throw") throw error;
      }
    }
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
  },
});
`;

/** What the manifest of the scripted adapter says beside the least. */
export const scriptedManifest = `reports: [permissions, tool_calls, tokens, turns]
permissions:
  run:
    - binary: /bin/sleep
      args: ["{}"]
config:
  type: object
  properties:
    script:
      type: string
      max_length: 1000000`;

/** Plans of every kind of misbehaviour; ids are few, so that they clash. */
export const plans: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(steps(), { maxLength: 10 }),
  timeout_ms: fc.integer({ min: 150, max: 600 }),
  approval: fc.constantFrom("ask", "all", "deny"),
  interrupt_after_ms: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(200) }),
  answers: fc.boolean(),
});

function steps(): fc.Arbitrary<Step> {
  const id = fc.constantFrom("a", "b", "c");
  const event = fc.oneof(
    id.map((call_id) => ({ type: "tool_call", call_id, tool: "t", kind: "edit", input: {} })),
    id.map((call_id) => ({ type: "tool_result", call_id, tool: "t", output: null, success: true, duration_ms: 1 })),
    id.map((text) => ({ type: "output", stream: "stdout", data: text })),
    fc.constant({ type: "completed", success: true, files_changed: ["x"], tokens_used: 1, cost: 0 }),
    fc.constant({ type: "error", code: "rate_limit", message: "wait", recoverable: true }),
    fc.constant({ type: "session_ended", result: {} }),
    fc.constant({ type: "session_started", adapter_id: "x", workdir: "/", task_id: null, labels: {} }),
    fc.constant({ type: "process_spawned", process_id: 1, pid: 1, argv: [] }),
    fc.constant({ type: "progress", message: 5 }),
    fc.constant({ type: "usage", scope: "turn", tokens_in: 1, tokens_out: 1, tokens_cached: null, cost: null }),
    fc.jsonValue({ maxDepth: 3 }),
  );
  const common = fc.oneof<fc.Arbitrary<Step>[]>(
    event.map((one) => ({ do: "yield", event: one })),
    fc.array(event, { maxLength: 5 }).map((events) => ({ do: "yield_list", events })),
    fc.record({ do: fc.constant("ask" as const), id, wait: fc.boolean() }),
    fc.record({ do: fc.constant("question" as const), id, wait: fc.boolean() }),
    fc.nat(30).map((ms) => ({ do: "sleep", ms })),
  );
  const rare = fc.oneof<fc.Arbitrary<Step>[]>(
    fc.constantFrom("function", "cycle", "bigint", "getter", "undefined").map((odd) => ({ do: "yield_odd", odd })),
    fc.record({ do: fc.constant("flood" as const), count: fc.integer({ min: 1, max: 6000 }), listed: fc.boolean() }),
    fc.constantFrom("leave", "wait", "kill").map((then) => ({ do: "spawn", then })),
    fc.constant({ do: "read_denied" }),
    fc.constant({ do: "log", count: 300 }),
    fc.constant({ do: "ignore_cancel" }),
    fc.constant({ do: "hang" }),
    fc.constant({ do: "late_throw" }),
    fc.constant({ do: "throw" }),
    fc.constant({ do: "stop" }),
  );
  const fatal = fc.constant<Step>({ do: "late_reject" });
  return fc.oneof(
    { weight: 20, arbitrary: common },
    { weight: 8, arbitrary: rare },
    { weight: 1, arbitrary: fatal },
  );
}
