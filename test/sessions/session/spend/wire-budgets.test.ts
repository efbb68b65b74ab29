import { Buffer } from "node:buffer";
import process from "node:process";
import { describe, expect, test } from "vitest";
import type { AccessMode } from "../../../../plugin-sdk/access-modes.ts";
import type { UsageEvent } from "../../../../plugin-sdk/events.ts";
import type { Wire, WireFollower } from "../../../../core/walls/agent/wire.ts";
import { readInterrupted } from "../../../../core/sessions/session/interrupted-session.ts";
import { knownUse } from "../../../../core/sessions/session/spend/shared-budgets.ts";
import { StandInAddresses } from "../../../../core/walls/broker/stand-in-addresses.ts";
import {
  done,
  failsWith,
  hangs,
  ScriptedSession,
  type ScriptedSessionOptions,
  type Stage,
} from "../scripted-session.ts";

/** Budgets of random sizes; `npm run test:budgets` tries a thousand. */
const budgets = Number(process.env["BULKHEAD_BUDGETS"] ?? 12);

const accessMode: AccessMode = {
  type: "api",
  enabled: true,
  model: "m",
  max_tokens: 1000,
  pricing: { input_per_1k_tokens: 1, output_per_1k_tokens: 2, cached_per_1k_tokens: 0.5, currency: "USD" },
};

const head = { method: "POST", path: "/v1/messages", headers: [], base: "https://api.example.com" };

interface Answer {
  tokens_in: number;
  /** Null: the answer does not tell it. */
  tokens_out: number | null;
  /** False: it tells no figures, and is as long as these are many. */
  tells?: boolean;
  cached?: number;
  isWhole?: boolean;
  model?: string;
}

/** An agent's program, which calls its model through the broker. */
interface Program {
  stage: Stage;
  /** Calls the model; returns the words of a refusal, or null. */
  call(answer: Answer): Promise<string | null>;
  /** Sends the head of a call alone. */
  begin(path?: string): WireFollower;
}

function session(agent: (program: Program) => Promise<void>, options: ScriptedSessionOptions = {}): ScriptedSession {
  let wire: Wire | undefined;
  const script = async (stage: Stage) => {
    await stage.opened.onCall("log", {});
    const begin = (path = head.path) => wire!.begin({ ...head, path }) as WireFollower;
    return void await agent({ stage, call: (answer) => call(wire!, answer), begin });
  };
  return new ScriptedSession([{ id: "a", scripts: [script], accessMode }], {
    makeBroker: ({ wires }) => {
      wire = wires?.[0];
      return {
        call: () => Promise.resolve(null),
        addresses: new StandInAddresses(),
        uses: { allowed: 0, denied: 0, by: {} },
        prepare: () => {},
        guardsChanged: () => Promise.resolve(false),
        heldBytes: () => Promise.resolve(0),
        close: () => Promise.resolve(),
      };
    },
    ...options,
  });
}

async function call(
  wire: Wire,
  { tokens_in, tokens_out, cached = 0, isWhole = true, model = "m", tells = true }: Answer,
) {
  const begun = wire.begin(head);
  if (begun === null) return expect.unreachable();
  if ("answer" in begun) {
    const { body } = await begun.answer(null);
    return String(JSON.parse(Buffer.concat([...body as Iterable<Uint8Array>]).toString()).error.message);
  }
  begun.sent?.(tells ? Buffer.from("{}") : Buffer.alloc(4 * tokens_in));
  begun.answered?.({ status: 200, headers: [] });
  const usage = {
    input_tokens: tokens_in - cached,
    cache_read_input_tokens: cached,
    output_tokens: tokens_out ?? undefined,
  };
  const body = tells ? { usage } : { text: "x".repeat(4 * (tokens_out ?? 0)) };
  begun.received?.(Buffer.from(JSON.stringify({ model, ...body })));
  begun.ended?.(isWhole);
  return null;
}

async function* page<T>(all: T[]): AsyncGenerator<T[]> {
  yield await Promise.resolve(all);
}

const told = (tokens_in: number, tokens_out: number, more: Partial<UsageEvent> = {}): UsageEvent => ({
  type: "usage",
  scope: "session",
  tokens_in,
  tokens_out,
  tokens_cached: null,
  cost: null,
  ...more,
});

describe("usage of calls that the host saw", () => {
  test("wins over the agent's word, with cached input at its price", async () => {
    const made = session(async ({ stage, call }) => {
      await call({ tokens_in: 1000, tokens_out: 100, cached: 400 });
      await call({ tokens_in: 1000, tokens_out: 0 });
      stage.say(told(2000, 90, { cost: 77 }), done);
    });
    const { usage } = await made.ended();
    const seen = { tokens_in: 2000, tokens_out: 100, tokens_cached: 400, cost: 0.6 + 0.2 + 0.2 + 1, currency: "USD" };
    expect(usage).toMatchObject({ ...seen, basis: "wire", scope: "session", requests: 2 });
    expect(usage.wire).toEqual({ calls: 2, unknown: 0, ...seen });
    const calls = made.events.filter(({ event }) => event.type === "model_call").map(({ event }) => event);
    expect(calls).toMatchObject([{ model: "m", status: 200, tokens_in: 1000, cost: 1 }, { tokens_out: 0 }]);
  });

  test("says where the agent's word differs by more than 5 %", async () => {
    const usageOf = async (tokens: number, more: Partial<UsageEvent> = {}) =>
      (await session(async ({ stage, call }) => {
        await call({ tokens_in: 900, tokens_out: 100 });
        stage.say(told(tokens, 0, more), done);
      }).ended()).usage;
    expect((await usageOf(1050)).wire).not.toHaveProperty("reported_tokens");
    expect(await usageOf(940)).toMatchObject({ basis: "wire", wire: { reported_tokens: 940 } });
    // It called a model elsewhere: what it says is more than was seen.
    expect(await usageOf(1060)).toMatchObject({ tokens_in: 1060, basis: "estimated", wire: { reported_tokens: 1060 } });
    expect((await usageOf(500, { partial: true })).wire).not.toHaveProperty("reported_tokens");
  });

  test("is no more than a part where an answer broke off, or a model has no price", async () => {
    const { usage } = await session(async ({ stage, call }) => {
      await call({ tokens_in: 10, tokens_out: 1, isWhole: false });
      stage.say(told(500, 5), done);
    }).ended();
    expect(usage).toMatchObject({ tokens_in: 500, basis: "estimated", wire: { calls: 1, unknown: 1, tokens_in: 10 } });
    const other = await session(async ({ stage, call }) => {
      await call({ tokens_in: 10, tokens_out: 1, model: "other" });
      stage.say(told(10, 1, { cost: 3 }), done);
    }).ended();
    expect(other.usage).toMatchObject({ cost: 3, basis: "reported", tokens_in: 10, wire: { cost: null } });
  });
});

describe("a budget where the host sees the calls", () => {
  test("refuses the call after the one that spent it, and keeps what the agent said", async () => {
    const refusals: (string | null)[] = [];
    const made = session(async ({ stage, call }) => {
      for (let times = 0; times < 4; times++) refusals.push(await call({ tokens_in: 50, tokens_out: 0 }));
      stage.say({ type: "output", data: "As far as I came.", stream: "stdout" }, told(100, 0), done);
    }, { request: { budget: { tokens: 100 } } });
    const result = await made.ended();
    expect(refusals.map((one) => one?.slice(0, 34) ?? null)).toEqual([
      null,
      null,
      "The budget of 100 tokens is spent.",
      "The budget of 100 tokens is spent.",
    ]);
    expect(result).toMatchObject({ stop_reason: "budget_tokens", outcome: "error", usage: { tokens_in: 100 } });
    expect(result.effective).toMatchObject({ budget: { tokens: 100 }, budget_basis: "wire" });
    expect(result.output).toContain("As far as I came.");
    const refused = made.events.filter(({ event }) => event.type === "model_call" && event.refused === "budget_tokens");
    expect(refused).toHaveLength(1);
  });

  test.each([
    ["a call that tells no figures counts by its size", { tokens: 1000 }, { tells: false }],
    ["an answer that breaks off counts by its size", { tokens: 1000 }, { tells: false, isWhole: false }],
    ["a call of another model counts at the price of the mode's", { cost: 1 }, { model: "other" }],
    ["one that tells nothing has that price too", { cost: 1 }, { tells: false }],
  ])("%s", async (_, budget, answer) => {
    let went = 0;
    const made = session(async ({ stage, call }) => {
      while (went < 50 && await call({ tokens_in: 300, tokens_out: 100, ...answer }) === null) went++;
      stage.say(done);
    }, { request: { budget } });
    const { stop_reason, usage } = await made.ended();
    expect(stop_reason).toBe("tokens" in budget ? "budget_tokens" : "budget_cost");
    // The journal has it, for those that go on with the budget.
    const used = knownUse(usage);
    expect("tokens" in budget ? used.tokens : used.cost).toBeGreaterThanOrEqual(Object.values(budget)[0]!);
    const former = await readInterrupted(page(made.events.filter(({ event }) => event.type !== "session_ended")), 0);
    expect(former.used).toEqual(used);
    expect(went).toBeGreaterThan(0);
    expect(went).toBeLessThanOrEqual(3);
  });

  test("leaves it to the agent to end, also where an answer before told no figures; not where it calls elsewhere", async () => {
    const isCut = async (reported: number) => {
      let cut = false;
      const made = session(async ({ stage, call }) => {
        void stage.cancelled.then(() => cut = true);
        await call({ tokens_in: 10, tokens_out: 1, tells: false, isWhole: false });
        await call({ tokens_in: 100, tokens_out: 0 });
        stage.say(told(reported, 0));
        expect(await call({ tokens_in: 1, tokens_out: 0 })).toContain("The budget of 50 tokens is spent.");
        stage.say(done);
      }, { request: { budget: { tokens: 50 } } });
      expect(await made.ended()).toMatchObject({
        stop_reason: "budget_tokens",
        usage: { wire: { calls: 2, unknown: 1 } },
      });
      return cut;
    };
    expect([await isCut(100), await isCut(500)]).toEqual([false, true]);
  });

  test("refuses a call whose figures cannot be read, and the others go on; without a budget it goes too", async () => {
    const tried = async (request: NonNullable<ScriptedSessionOptions["request"]>) => {
      const begun: unknown[] = [];
      const made = session(async ({ stage, call, begin }) => {
        begun.push(begin("/v1/messages/batches"), begin("/v1/messages/count_tokens"));
        begun.push(await call({ tokens_in: 10, tokens_out: 0 }));
        stage.say(done);
      }, { request });
      expect((await made.ended()).stop_reason).toBe("end_turn");
      return begun.map((one) => one !== null && typeof one === "object" && "answer" in one);
    };
    expect(await tried({ budget: { tokens: 100 } })).toEqual([true, false, false]);
    expect(await tried({ budget: { turns: 9 } })).toEqual([false, false, false]);
  });

  test("holds for calls whose heads came before it was spent", async () => {
    const why: (string | null)[] = [];
    const made = session(async ({ stage, call, begin }) => {
      const late = begin();
      why.push(late.refused?.() ?? null);
      await call({ tokens_in: 100, tokens_out: 0 });
      why.push(late.refused?.() ?? null);
      late.ended?.(false);
      stage.say(done);
    }, { request: { budget: { tokens: 100 } } });
    expect(await made.ended()).toMatchObject({ stop_reason: "budget_tokens", usage: { wire: { calls: 1 } } });
    expect(why).toEqual([null, expect.stringContaining("The budget of 100 tokens is spent.")]);
  });

  test("is within it when the last answer used it up and no call follows", async () => {
    const { stop_reason } = await session(async ({ stage, call }) => {
      await call({ tokens_in: 100, tokens_out: 0 });
      stage.say(done);
    }, { request: { budget: { tokens: 100 } } }).ended();
    expect(stop_reason).toBe("end_turn");
  });

  test("counts an answer that broke off as far as it was told, in money too", async () => {
    const refusals: (string | null)[] = [];
    const made = session(async ({ stage, call }) => {
      const broken = { tokens_in: 1000, isWhole: false };
      for (let times = 0; times < 4; times++) refusals.push(await call({ ...broken, tokens_out: null }));
      stage.say(done);
    }, { request: { budget: { cost: 3 } } });
    expect(await made.ended()).toMatchObject({ stop_reason: "budget_cost", usage: { wire: { calls: 3, unknown: 3 } } });
    expect(refusals.map((one) => one !== null)).toEqual([false, false, false, true]);
  });

  test("is no reason to try again after the agent failed on it", async () => {
    let tries = 0;
    const made = session(async ({ stage, call }) => {
      tries++;
      await call({ tokens_in: 1, tokens_out: 1 });
      await call({ tokens_in: 1, tokens_out: 1 });
      await failsWith("rate_limit")(stage);
    }, { request: { budget: { cost: 0.001 }, retry: "always" } });
    expect(await made.ended()).toMatchObject({ stop_reason: "budget_cost", error: { code: "budget_exceeded" } });
    expect(tries).toBe(1);
  });

  test("gives way to a client that interrupts an agent which does not end", async () => {
    const made = session(async ({ stage, call }) => {
      await call({ tokens_in: 200, tokens_out: 0 });
      await call({ tokens_in: 200, tokens_out: 0 });
      setTimeout(() => made.session.stop("interrupted", "Enough."), 5);
      await hangs(stage);
    }, { request: { budget: { tokens: 100 } } });
    expect(await made.ended()).toMatchObject({ stop_reason: "budget_tokens" });
  });

  test("of any size is passed by at most one answer", async () => {
    for (let run = 0; run < budgets; run++) {
      const isCost = run % 2 === 0;
      const most = Math.random() * 10 ** (run % 6);
      const size = () => Math.floor(Math.random() * 10 ** (run % 5)) + 1;
      let [before, used] = [0, 0];
      const made = session(async ({ stage, call }) => {
        for (let calls = 0; calls < 200; calls++) {
          const answer = { tokens_in: size(), tokens_out: size() };
          if (await call(answer) !== null) break;
          before = used;
          used += isCost ? (answer.tokens_in + 2 * answer.tokens_out) / 1000 : answer.tokens_in + answer.tokens_out;
        }
        stage.say(done);
      }, { request: { budget: isCost ? { cost: most } : { tokens: Math.ceil(most) } } });
      const { stop_reason, usage } = await made.ended();
      const ceiling = isCost ? most : Math.ceil(most);
      const what = `run ${run}: ${JSON.stringify({ ceiling, before, used })}`;
      expect(before, what).toBeLessThan(ceiling + 1e-9);
      if (used >= ceiling) expect(stop_reason, what).toBe(isCost ? "budget_cost" : "budget_tokens");
      expect(isCost ? usage.cost : usage.wire!.tokens_in + usage.wire!.tokens_out, what).toBeCloseTo(used, 6);
    }
  });
});
