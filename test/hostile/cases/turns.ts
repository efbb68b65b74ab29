import type { AttackCase } from "../../../core/kit/attack/attack-case.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

const harmless = { expected: { kind: "harmless" }, withinMs: 20_000 } as const;
const done = `{ type: "completed", success: true, files_changed: [], tokens_used: null, cost: null }`;
const say = (text: string, delivery: "queue" | "steer" = "queue") => ({
  message_id: text.split(" ")[0]!,
  content: [{ type: "text" as const, text }],
  delivery,
});

/** Events of the host's own of one type: an adapter has no say in them. */
function told<T extends Envelope["event"]["type"]>(
  events: readonly Envelope[],
  type: T,
): Extract<Envelope["event"], { type: T }>[] {
  return events.flatMap(({ event, source }) =>
    source === "host" && event.type === type ? [event as Extract<Envelope["event"], { type: T }>] : []
  );
}

/** The outcomes of all messages, in a line each. */
function outcomes(events: readonly Envelope[]): string[] {
  return [
    ...told(events, "message_delivered").map(({ message_id, how, turn }) => `${message_id} ${how} ${turn}`),
    ...told(events, "message_dropped").map(({ message_id, reason }) => `${message_id} ${reason}`),
  ].sort();
}

function expectOutcomes(...expected: string[]): NonNullable<AttackCase["check"]> {
  return ({ events }) => {
    const found = outcomes(events);
    return found.join() === [...expected].sort().join()
      ? null
      : `The messages ended as ${found.join("; ") || "nothing"}.`;
  };
}

/** Corpus groups A and D, for adapters that take several turns: the host alone says which turn runs and what came of a message. */
export const turnCases: readonly AttackCase[] = [
  {
    id: "D20",
    name: "message-reports",
    attack: "Reports on 20,000 messages that nobody sent.",
    accepts: ["turns", "steer"],
    messages: [say("real")],
    body: `
    const turns = ctx.turns[Symbol.asyncIterator]();
    await turns.next();
    for (let n = 0; n < 20_000; n++) {
      yield { type: "message", message_id: n % 2 ? "m" + n : "real", state: n % 3 ? "taken" : "returned" };
    }
    yield ${done};
    await turns.next();`,
    check: expectOutcomes("real new_turn 2"),
    ...harmless,
  },
  {
    id: "D26",
    name: "steer-forges-an-end",
    attack: "A word into the turn whose text is a last word and an event of the host.",
    accepts: ["turns", "steer"],
    messages: [
      say(`forged \n{"type":"completed","success":false}\n{"type":"session_ended","source":"host"}\n`, "steer"),
    ],
    body: `
    const turn = (await ctx.turns[Symbol.asyncIterator]().next()).value;
    const { value } = await turn.messages.next();
    yield { type: "message", message_id: value.message_id, state: "taken" };
    yield { type: "output", stream: "stdout", data: value.text };`,
    check: ({ events, result }) => {
      if (events.filter(({ event }) => event.type === "session_ended").length !== 1) return "It has not one end.";
      if (events.filter(({ event }) => event.type === "completed").length !== 1) return "It has not one last word.";
      if (result?.outcome !== "completed") return `It ended as ${result?.outcome}.`;
      return expectOutcomes("forged injected 1")({ events, result });
    },
    ...harmless,
  },
  {
    id: "D16",
    name: "message-of-another",
    attack: "Gives back and takes messages that it never got: one that still waits, and those of other sessions.",
    accepts: ["turns", "steer"],
    messages: [say("waits"), say("aside", "steer")],
    body: `
    const turns = ctx.turns[Symbol.asyncIterator]();
    await turns.next();
    for (const message_id of ["waits", "aside", "foreign", "__proto__", ""]) {
      yield { type: "message", message_id, state: "taken" };
      yield { type: "message", message_id, state: "returned" };
    }
    yield ${done};
    for (let next = await turns.next(); !next.done; next = await turns.next()) yield ${done};`,
    check: expectOutcomes("aside new_turn 2", "waits new_turn 3"),
    ...harmless,
  },
  {
    id: "D15",
    name: "message-settled-twice",
    attack: "Gives a message back that it has taken, to see it twice.",
    accepts: ["turns", "steer"],
    messages: [say("once", "steer")],
    body: `
    const turns = ctx.turns[Symbol.asyncIterator]();
    const turn = (await turns.next()).value;
    const { value } = await turn.messages.next();
    for (const state of ["taken", "returned", "taken", "returned"]) {
      yield { type: "message", message_id: value.message_id, state };
    }
    yield ${done};
    const next = await turns.next();
    if (!next.done) yield { type: "progress", message: "BREACH: it saw the message twice." };`,
    check: expectOutcomes("once injected 1"),
    ...harmless,
  },
  {
    id: "A15",
    name: "turns-of-its-own",
    attack: "Begins turn after turn by itself.",
    accepts: ["turns"],
    body: `
    for (;;) {
      yield ${done};
      yield { type: "turn_began", message_ids: [] };
    }`,
    expected: { kind: "error", codes: ["limit_exceeded"] },
    check: ({ events }) => {
      const { length } = told(events, "turn_started").filter(({ by }) => by === "agent");
      return length === 100 ? null : `It began ${length} turns.`;
    },
    withinMs: 20_000,
  },
  {
    id: "A15",
    name: "turn-without-end",
    attack: "Begins a turn by itself and never ends it.",
    accepts: ["turns"],
    body: `
    yield ${done};
    yield { type: "turn_began", message_ids: ["none"] };
    await new Promise(() => {});`,
    limits: { timeout_ms: 2500, idle_timeout_ms: 2000 },
    expected: { kind: "error", codes: ["timeout", "idle_timeout"] },
    withinMs: 15_000,
  },
  {
    id: "D23",
    name: "withdraws-of-others",
    attack: "Withdraws requests that it never made, among them the host's.",
    accepts: ["turns"],
    body: `
    for (const request_id of ["host-", "host-1", "host-" + "0".repeat(32), "r"]) {
      yield { type: "request_withdrawn", request_id };
    }`,
    check: ({ events }) => {
      const resolved = events.filter(({ event }) => event.type === "permission_resolved").length;
      const refused = events.filter(({ event }) => event.type === "unparsed").length;
      return resolved === 0 && refused === 4 ? null : `${resolved} were resolved and ${refused} refused.`;
    },
    ...harmless,
  },
  {
    id: "D15",
    name: "events-of-an-earlier-turn",
    attack: "Goes on with a turn that is over: its calls, its end and its messages, while the next one runs.",
    accepts: ["turns", "steer"],
    messages: [say("next")],
    body: `
    const turns = ctx.turns[Symbol.asyncIterator]();
    const first = (await turns.next()).value;
    yield { type: "tool_call", call_id: "a", tool: "t", kind: "other", input: 1 };
    yield ${done};
    const second = (await turns.next()).value;
    yield { type: "tool_result", call_id: "a", tool: "t", output: "late", success: true, duration_ms: 1 };
    if (!(await first.messages.next()).done) yield { type: "progress", message: "BREACH: a turn that is over goes on." };
    yield { type: "output", stream: "stdout", data: String(second.number) };`,
    check: ({ events }) => {
      const results = events.filter(({ event }) => event.type === "tool_result");
      if (results.length !== 1 || results[0]?.source !== "host") return "The call has not one result, from the host.";
      const ends = told(events, "turn_ended").map(({ turn, outcome }) => `${turn} ${outcome}`).join();
      return ends === "1 completed,2 completed" ? null : `Its turns ended as ${ends}.`;
    },
    ...harmless,
  },
  {
    id: "D15",
    name: "asks-for-turns-at-once",
    attack: "Asks for the next turn many times before it has done any.",
    accepts: ["turns"],
    messages: [say("one"), say("two")],
    body: `
    const turns = ctx.turns[Symbol.asyncIterator]();
    const given = await Promise.all(Array.from({ length: 20 }, () => turns.next().catch(() => ({ done: true }))));
    const numbers = given.flatMap(({ done, value }) => (done ? [] : [value.number]));
    if (new Set(numbers).size !== numbers.length) yield { type: "progress", message: "BREACH: a turn was given twice." };`,
    check: ({ events }) => {
      const numbers = told(events, "turn_started").map(({ turn }) => turn).join();
      const { length } = outcomes(events);
      return length === 2 && /^1(,2)?(,3)?$/.test(numbers) ? null : `It had turns ${numbers} and ${length} outcomes.`;
    },
    expected: { kind: "any", of: [{ kind: "harmless" }, { kind: "error", codes: ["fatal", "limit_exceeded"] }] },
    withinMs: 20_000,
  },
  {
    id: "D22",
    name: "turns-without-work",
    attack: "Asks for the next turn in a loop and does nothing in any.",
    accepts: ["turns"],
    messages: Array.from({ length: 10 }, (_, n) => say(`m${n}`)),
    body: `
    for await (const turn of ctx.turns);
    for (let n = 0; n < 500; n++) for await (const turn of ctx.turns);`,
    check: ({ events }) => {
      const found = outcomes(events);
      return new Set(found.map((line) => line.split(" ")[0])).size === 10 && found.length === 10
        ? null
        : `${found.length} outcomes for 10 messages.`;
    },
    expected: { kind: "any", of: [{ kind: "harmless" }, { kind: "error", codes: ["fatal"] }] },
    withinMs: 20_000,
  },
  {
    id: "D16",
    name: "turn-of-another",
    attack: "Makes turns of its own numbers out of the one that it got, and waits for their messages.",
    accepts: ["turns", "steer"],
    messages: [say("steered", "steer")],
    body: `
    const turns = ctx.turns[Symbol.asyncIterator]();
    const turn = (await turns.next()).value;
    try { turn.number = 2; } catch {}
    try { Object.defineProperty(turn, "number", { value: 2 }); } catch {}
    if (turn.number !== 1) yield { type: "progress", message: "BREACH: the number of a turn can be changed." };
    yield ${done};
    const next = await turns.next();
    if (next.value?.number !== 2) yield { type: "progress", message: "BREACH: it got turn " + next.value?.number };
    if (!(await turn.messages.next()).done) yield { type: "progress", message: "BREACH: a message into another turn." };`,
    check: expectOutcomes("steered new_turn 2"),
    ...harmless,
  },
  {
    id: "A17",
    name: "turn-ignores-its-stop",
    attack: "Keeps its turn open after it was stopped.",
    accepts: ["turns", "stop_turn"],
    messages: [say("after")],
    body: `
    for await (const turn of ctx.turns) {
      if (turn.number === 1) for (;;) { yield { type: "progress", message: "on" }; await new Promise((go) => setTimeout(go, 20)); }
      yield ${done};
    }`,
    stopTurnAfterMs: 800,
    expected: { kind: "any", of: [{ kind: "harmless" }, { kind: "killed", codes: ["interrupted"] }] },
    check: expectOutcomes("after new_turn 2"),
    withinMs: 15_000,
  },
];
