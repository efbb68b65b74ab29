import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EventRules } from "../../../core/sessions/session/event-rules.ts";
import { OpenRequests } from "../../../core/sessions/session/open-requests.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import { done, type ScriptedAdapter, ScriptedSession, type Stage } from "./scripted-session.ts";
import { checkSession } from "./session-rules.ts";

const options = [
  { id: "yes", label: "Yes", kind: "allow_once" as const },
  { id: "no", label: "No", kind: "reject_once" as const },
];
const call: AdapterEvent = { type: "tool_call", call_id: "c", tool: "shell", kind: "execute", input: {} };
const failed: AdapterEvent = {
  type: "tool_result",
  call_id: "c",
  tool: "shell",
  output: "It waited too long.",
  success: false,
  duration_ms: null,
};

function ask(request_id: string, more: object = {}): AdapterEvent {
  const asked = { type: "permission_request" as const, request_id, tool: "shell", title: "Run it?", options };
  return { ...asked, kind: "execute", ...more };
}

/** Runs one attempt that prints the answers it got, while a client acts. */
async function play(
  script: (stage: Stage) => Promise<unknown[]>,
  { client = () => {}, ...request }: { client?(session: ScriptedSession): void; approval?: "reads" } = {},
) {
  const alpha: ScriptedAdapter = {
    id: "alpha",
    scripts: [async (stage) => {
      const answers = await script(stage);
      stage.say({ type: "output", stream: "stdout", data: answers.join(" ") }, done);
    }],
  };
  const scripted = new ScriptedSession([alpha], { request: { answer_timeout_ms: 60_000, ...request } });
  let over = false;
  scripted.session.result.finally(() => (over = true)).catch(() => {});
  while (!over) {
    await vi.advanceTimersByTimeAsync(200);
    client(scripted);
  }
  const result = await scripted.ended();
  expect(checkSession(scripted.events)).toEqual([]);
  const events = scripted.events.map(({ event }) => event);
  return {
    result,
    asked: events.flatMap((event) => (event.type === "permission_request" ? [event.request_id] : [])),
    resolved: events.flatMap((event) => event.type === "permission_resolved" ? [`${event.choice} ${event.by}`] : []),
  };
}

describe("a question of the agent", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("is a new one where its id was answered before: the first one's answer is not its own", async () => {
    const { result, asked, resolved } = await play(async ({ say, answer }) => {
      say(ask("7", { kind: "read" }));
      const first = await answer("7");
      say(ask("7"));
      return [first, await answer("7")];
    }, {
      approval: "reads",
      client: ({ session }) => session.waiting.map((one) => session.answer(one.request_id, "no")),
    });
    expect(result).toMatchObject({ outcome: "completed", output: "yes no" });
    expect([asked, resolved]).toEqual([["7", "7~1"], ["yes policy", "no client"]]);
  });

  test.each<[string, AdapterEvent[], AdapterEvent]>([
    ["the agent takes it back", [ask("7")], { type: "request_withdrawn", request_id: "7" }],
    ["its tool call is over", [call, ask("7", { call_id: "c" })], failed],
  ])("is closed when %s, and the session goes on without a deadline", async (_what, before, end) => {
    const late: boolean[] = [];
    const { result, resolved } = await play(async ({ say, answer }) => {
      say(...before);
      const answered = answer("7");
      await new Promise((resolve) => setTimeout(resolve, 700));
      say(end);
      // Past the deadline of the request.
      await new Promise((resolve) => setTimeout(resolve, 100_000));
      return [await answered];
    }, { client: ({ session, types }) => types.includes(end.type) && late.push(session.answer("7", "yes")) });
    expect(result).toMatchObject({ outcome: "completed", output: "" });
    expect(resolved).toEqual(["null agent"]);
    expect(new Set(late)).toEqual(new Set([false]));
  });

  test("gets no answer where it came while another one with its id was open", async () => {
    const { result, resolved } = await play(async ({ say, answer }) => {
      say(ask("7"));
      const first = answer("7");
      say(ask("7"));
      return [await answer("7"), await first];
    }, { client: ({ session }) => session.waiting.map((one) => session.answer(one.request_id, "yes")) });
    expect(result.output).toBe(" yes");
    expect(resolved).toEqual(["yes client"]);
  });
});

/** One event of an agent; several make a batch, which the host checks whole before it acts on any. */
type Said =
  /** `inCall`: the tool call that is under way asks. */
  | { say: "ask" | "question"; id: string; inCall: boolean; policy: "yes" | "no" | null }
  | { say: "withdraw"; id: string }
  | { say: "call_over" };

type Step =
  | { do: "batch"; said: Said[] }
  | { do: "wait"; id: string }
  | { do: "answer"; index: number; choice: string }
  | { do: "later"; ms: number }
  | { do: "next_attempt" };

/** One request as the rules see it. */
interface Fact {
  id: string;
  call: number | null;
  isQuestion: boolean;
  accepted: boolean;
  isEnding: boolean;
  isWaitedFor: boolean;
  expiresAt: number;
  end: { choice: string | null; by: string } | null;
}

const deadlineMs = 100;

/** The rules, told a second time: one list of all that one attempt asked, the newest last. */
class Model {
  /** All requests that were accepted, over all attempts. */
  readonly accepted: Fact[] = [];
  #asked: Fact[] = [];
  #now = 0;
  #call = 0;

  newest(id: string): Fact | undefined {
    return this.#asked.findLast((fact) => fact.id === id);
  }

  /** Returns what becomes of each event of a batch. */
  batch(said: readonly Said[]): boolean[] {
    const begun: [Fact, string | null][] = [];
    const taken = said.map((one) => {
      if (one.say === "withdraw") return this.#ending(this.#lastAccepted(one.id));
      if (one.say === "call_over") {
        for (const fact of this.accepted) if (fact.call === this.#call) this.#ending(fact);
        this.#call++;
        return true;
      }
      const fact = this.#ask(one);
      if (fact.accepted) begun.push([fact, one.policy]);
      return fact.accepted;
    });
    for (const [fact, policy] of begun) if (policy !== null) this.end(fact, policy, "policy");
    for (const fact of this.accepted) if (fact.isEnding) this.end(fact, null, "agent");
    return taken;
  }

  /** The adapter asks for the answer to an id: it is that of the newest request, accepted or not. */
  wait(id: string): Fact | undefined {
    const last = this.#lastAccepted(id);
    if (last !== undefined) last.isWaitedFor = true;
    return this.newest(id);
  }

  later(ms: number): void {
    this.#now += ms;
    for (const fact of this.accepted) if (fact.expiresAt <= this.#now) this.end(fact, null, "deadline");
  }

  nextAttempt(): void {
    for (const fact of this.accepted) this.end(fact, null, "session_end");
    this.#asked = [];
  }

  end(fact: Fact, choice: string | null, by: string): void {
    fact.end ??= { choice, by };
  }

  #ask({ id, inCall, say }: Extract<Said, { say: "ask" | "question" }>): Fact {
    const before = this.#lastAccepted(id);
    const isOpen = before !== undefined && before.end === null && !before.isEnding;
    const isUnheard = before !== undefined && !isOpen && !before.isEnding && !before.isWaitedFor;
    if (isOpen && !before.isWaitedFor) before.isEnding = true;
    const fact: Fact = {
      id,
      call: inCall ? this.#call : null,
      isQuestion: say === "question",
      accepted: !isOpen && !isUnheard,
      isEnding: false,
      isWaitedFor: false,
      expiresAt: this.#now + deadlineMs,
      end: null,
    };
    this.#asked.push(fact);
    if (fact.accepted) this.accepted.push(fact);
    return fact;
  }

  #lastAccepted(id: string): Fact | undefined {
    return this.#asked.findLast((fact) => fact.id === id && fact.accepted);
  }

  #ending(fact: Fact | undefined): boolean {
    if (fact?.end === null) fact.isEnding = true;
    return fact !== undefined;
  }
}

/** The host's rules as an attempt uses them, beside the model; `faults` says where the two differ. */
class Played {
  readonly faults: string[] = [];
  readonly #model = new Model();
  readonly #told: Envelope["event"][] = [];
  readonly #rules = new EventRules();
  readonly #requests = new OpenRequests({
    rules: this.#rules,
    stream: { host: (event) => void this.#told.push(event) },
  });
  readonly #names: string[] = [];
  readonly #waits: { fact: Fact | undefined; answer: Promise<string | null> }[] = [];
  #attempt = 1;
  #calls = 0;

  step(step: Step): void {
    switch (step.do) {
      case "batch":
        return this.#batch(step.said);
      case "wait": {
        const fact = this.#model.wait(step.id);
        const name = this.#rules.answeredBy(step.id);
        this.#waits.push({ fact, answer: name === null ? Promise.resolve(null) : this.#requests.wait(name) });
        return;
      }
      case "answer":
        return this.#answer(step);
      case "later":
        this.#model.later(step.ms);
        return void vi.advanceTimersByTime(step.ms);
      case "next_attempt":
        this.#model.nextAttempt();
        this.#finish();
        return this.#rules.begin(++this.#attempt);
    }
  }

  async end(): Promise<string[]> {
    this.#model.nextAttempt();
    this.#finish();
    const said = this.#told.flatMap((event) =>
      event.type === "permission_resolved" ? [`${event.request_id} ${event.choice} ${event.by}`] : []
    );
    const due = this.#model.accepted.map(({ end }, at) => `${this.#names[at]} ${end?.choice} ${end?.by}`);
    this.#compare("endings", said.sort().join(), due.sort().join());
    this.#compare("names", new Set(this.#names).size, this.#names.length);
    for (const { fact, answer } of this.#waits) {
      this.#compare(`answer to ${fact?.id}`, await answer, fact?.accepted ? fact.end?.choice ?? null : null);
    }
    return this.faults;
  }

  #batch(said: readonly Said[]): void {
    const due = this.#model.batch(said);
    const react: (() => void)[] = [];
    said.forEach((one, at) => {
      const event = this.#accept(one);
      this.#compare(`${one.say} ${"id" in one ? one.id : ""} is taken`, event.type !== "unparsed", due[at]);
      if (event.type !== "permission_request" && event.type !== "question") return;
      const { request_id: name, type } = event;
      this.#names.push(name);
      const policy = "policy" in one ? one.policy : null;
      const offered = type === "question" ? null : ["yes", "no"];
      const asked = { type, text: "", choices: [] };
      if (policy !== null) react.push(() => this.#requests.addAnswered(name, policy));
      else react.push(() => this.#requests.add(name, { asked, offered, ms: deadlineMs }));
    });
    react.forEach((act) => act());
    this.#requests.closeEnded();
  }

  #accept(one: Said): AdapterEvent {
    switch (one.say) {
      case "withdraw":
        return this.#rules.accept({ type: "request_withdrawn", request_id: one.id });
      case "call_over": {
        const call_id = `c${this.#calls++}`;
        this.#rules.accept({ ...call, call_id } as AdapterEvent);
        return this.#rules.accept({ ...failed, call_id } as AdapterEvent);
      }
      case "question":
      case "ask": {
        const more = one.inCall ? { call_id: `c${this.#calls}` } : {};
        if (one.say === "ask") return this.#rules.accept(ask(one.id, more), limits);
        return this.#rules.accept({ type: "question", request_id: one.id, question: "Which?", ...more }, limits);
      }
    }
  }

  #answer({ index, choice }: Extract<Step, { do: "answer" }>): void {
    const { accepted } = this.#model;
    const fact = accepted[index % Math.max(accepted.length, 1)];
    if (fact === undefined) return;
    const due = fact.end === null && (fact.isQuestion || choice !== "odd");
    const took = this.#requests.answer(this.#names[accepted.indexOf(fact)]!, choice);
    this.#compare(`answer ${choice} to ${fact.id} is taken`, took, due);
    if (due) this.#model.end(fact, choice, "client");
  }

  #finish(): void {
    this.#requests.closeAll();
    for (const { event } of this.#rules.finish()) this.#told.push(event);
  }

  #compare(what: string, is: unknown, due: unknown): void {
    if (is !== due) this.faults.push(`${what}: ${is}, not ${due}`);
  }
}

const limits = { open_requests: 100, open_request_bytes: 1e6 };

const id = fc.constantFrom("a", "b");
const said: fc.Arbitrary<Said> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      say: fc.constantFrom("ask" as const, "question" as const),
      id,
      inCall: fc.boolean(),
      policy: fc.constantFrom(null, null, "yes" as const, "no" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ say: fc.constant("withdraw" as const), id }) },
  { weight: 1, arbitrary: fc.constant({ say: "call_over" as const }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.array(said, { minLength: 1, maxLength: 3 }).map((said) => ({ do: "batch" as const, said })),
  },
  { weight: 5, arbitrary: id.map((id) => ({ do: "wait" as const, id })) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      index: fc.nat(10),
      choice: fc.constantFrom("yes", "no", "odd"),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom(40, 60, 100).map((ms) => ({ do: "later" as const, ms })) },
  { weight: 1, arbitrary: fc.constant({ do: "next_attempt" as const }) },
);

test("ids used again, requests taken back and late answers, in any order: each request ends once, as the rules say", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 16 }), async (steps) => {
        const played = new Played();
        for (const one of steps) played.step(one);
        expect(await played.end()).toEqual([]);
      }),
      { numRuns: 10_000, seed: 44 },
    );
  } finally {
    vi.useRealTimers();
  }
});
