import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accessModeState, unused } from "../../../core/sessions/routing/access-mode-state.ts";
import type { RoutableAgent } from "../../../core/sessions/routing/agent-report.ts";
import { chooseRoute, type Route, type RouteWish } from "../../../core/sessions/routing/choose-route.ts";
import { demandCandidate } from "../../../core/sessions/routing/demand-candidate.ts";
import { lackingCapabilities } from "../../../core/sessions/routing/lacking.ts";
import type { AccessMode } from "../../../plugin-sdk/access-modes.ts";
import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import { availabilities } from "../../../plugin-sdk/availability.ts";
import { orderAccessModes } from "../../../plugin-sdk/order-access-modes.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { fakeAgent } from "../../doors/cli/fake-host.ts";
import { api, local, subscription } from "./modes.ts";

const now = Date.UTC(2026, 0, 1);

interface Given extends Partial<AgentReport> {
  modes?: AccessMode[];
  /** Those of its modes that are limited now. */
  limited?: AccessMode[];
  limitedUntil?: number | null;
}

function agent(id: string, { modes = [], limited = [], limitedUntil = null, ...report }: Given = {}): RoutableAgent {
  const states = orderAccessModes(modes).map((mode) =>
    accessModeState(mode, limited.includes(mode) ? { spans: [], limitedUntil: now + 60_000 } : unused, { now })
  );
  return { report: fakeAgent(id, report), modes: states, limitedUntil };
}

function chosen(wish: Partial<RouteWish>, agents: RoutableAgent[]): string[] {
  return chooseRoute({ wanted: "auto", ...wish }, agents).candidates.map(({ adapter_id }) => adapter_id);
}

function passed(wish: Partial<RouteWish>, agents: RoutableAgent[]): Record<string, string> {
  const { passed_over } = chooseRoute({ wanted: "auto", ...wish }, agents);
  return Object.fromEntries(passed_over.map(({ adapter_id, code, reason }) => [adapter_id, `${code}: ${reason}`]));
}

describe("chooseRoute auto", () => {
  test.each(availabilities.filter((one) => one !== "available"))(
    "passes over an agent that is %s, and says why",
    (availability) => {
      const agents = [agent("a", { availability, reason: "So it is.", next_step: "Do this." }), agent("b")];
      const route = chooseRoute({ wanted: "auto" }, agents);
      expect(route.candidates.map(({ adapter_id }) => adapter_id)).toEqual(["b"]);
      const code = availability === "rate_limited" || availability === "quota_exhausted" ? "rate_limit" : "unavailable";
      expect(route.passed_over).toEqual([{ adapter_id: "a", code, reason: "So it is.", next_step: "Do this." }]);
    },
  );

  test("keeps those that state what is required", () => {
    const agents = [
      agent("none"),
      agent("review", { capabilities: { code_review: true } }),
      agent("not", { capabilities: { code_review: false } }),
      agent("big", { capabilities: { code_review: true, max_context_tokens: 100_000, custom: { "x": true } } }),
    ];
    expect(chosen({ require: { code_review: true } }, agents)).toEqual(["review", "big"]);
    expect(chosen({ require: { code_review: true, max_context_tokens: 100_000 } }, agents)).toEqual(["big"]);
    expect(chosen({ require: { max_context_tokens: 100_001 } }, agents)).toEqual([]);
    expect(chosen({ require: { custom: { x: true } } }, agents)).toEqual(["big"]);
    expect(chosen({ require: { custom: { toString: true } } }, agents)).toEqual([]);
    expect(chosen({ require: { code_review: false } }, agents)).toEqual(["none", "review", "not", "big"]);
    expect(passed({ require: { code_review: true, max_context_tokens: 5, custom: { x: true } } }, agents)).toEqual({
      none: "unavailable: It lacks code_review, max_context_tokens 5, custom.x.",
      review: "unavailable: It lacks max_context_tokens 5, custom.x.",
      not: "unavailable: It lacks code_review, max_context_tokens 5, custom.x.",
    });
  });

  test("keeps those that offer the model; one that lists none takes any", () => {
    const agents = [agent("a", { models: ["m", "n"] }), agent("b"), agent("c", { models: ["x"] })];
    expect(chosen({ model: "m" }, agents)).toEqual(["a", "b"]);
    expect(chooseRoute({ wanted: "auto", model: "m" }, agents).passed_over).toEqual([{
      adapter_id: "c",
      code: "invalid_model",
      reason: 'It does not offer model "m".',
      next_step: "Its models are x.",
    }]);
  });

  test("passes over an agent whose context the prompt does not fit, if that is known", () => {
    const agents = [agent("a", { capabilities: { max_context_tokens: 10 } }), agent("b")];
    expect(chosen({ prompt_tokens: 10 }, agents)).toEqual(["a", "b"]);
    expect(chosen({ prompt_tokens: 11 }, agents)).toEqual(["b"]);
    expect(passed({ prompt_tokens: 11 }, agents)["a"]).toMatch(/^too_large: .*about 11 tokens.*holds 10/);
  });

  test("orders by the operator, then by the priority of the mode, then by its type, then as listed", () => {
    const agents = [
      agent("plain"),
      agent("local", { modes: [local()] }),
      agent("api", { modes: [api()] }),
      agent("plan", { modes: [subscription()] }),
      agent("two", { modes: [subscription({ priority: 2 })] }),
      agent("one", { modes: [local({ priority: 1 })] }),
      agent("also-one", { modes: [subscription({ priority: 1 })] }),
    ];
    expect(chosen({}, agents)).toEqual(["one", "also-one", "two", "plan", "api", "local", "plain"]);
    expect(chosen({ order: ["local", "nobody", "plain"] }, agents)).toEqual(
      ["local", "plain", "one", "also-one", "two", "plan", "api"],
    );
  });

  test("an access mode that is limited gives way to the next, in its agent and between agents", () => {
    const plan = subscription({ priority: 1 });
    const paid = api({ priority: 3 });
    const both = { modes: [plan, paid], limited: [plan] };
    expect(chooseRoute({ wanted: "auto" }, [agent("a", both)]).candidates).toEqual([{
      adapter_id: "a",
      access_mode: paid,
      further_modes: [],
    }]);
    expect(chooseRoute({ wanted: "auto" }, [agent("a", { modes: [plan, paid] })]).candidates).toEqual([{
      adapter_id: "a",
      access_mode: plan,
      further_modes: [paid],
    }]);
    expect(chosen({}, [agent("a", both), agent("b", { modes: [subscription({ priority: 2 })] })])).toEqual(["b", "a"]);
  });

  test("where a mode names the model, others that name another are not used", () => {
    const modes = [api({ model: "big", priority: 1 }), api({ model: "small", priority: 2 })];
    const mode = (model?: string) =>
      chooseRoute({ wanted: "auto", model }, [agent("a", { modes })]).candidates[0]?.access_mode;
    expect([mode(), mode("big"), mode("small"), mode("other")]).toEqual([modes[0], modes[0], modes[1], modes[0]]);
    expect(passed({ model: "small" }, [agent("a", { modes, limited: [modes[1]!] })])["a"]).toBe(
      'rate_limit: Its access to model "small" is limited until 2026-01-01T00:01:00.000Z.',
    );
  });

  test("a mode that is not enabled is as if it were not there", () => {
    const agents = [agent("a", { modes: [api({ enabled: false })] })];
    expect(chooseRoute({ wanted: "auto" }, agents).candidates).toEqual([{
      adapter_id: "a",
      access_mode: null,
      further_modes: [],
    }]);
  });
});

describe("chooseRoute with named adapters", () => {
  const missing = { availability: "missing", reason: "It is not there." } as const;

  test("one alone is taken also when it is not available, over no other", () => {
    const agents = [agent("a", { ...missing, models: ["x"] }), agent("b")];
    expect(chooseRoute({ wanted: "a", model: "m", prompt_tokens: 1e9 }, agents)).toEqual({
      candidates: [{ adapter_id: "a", access_mode: null, further_modes: [] }],
      passed_over: [],
    });
    expect(chosen({ wanted: "a", require: { testing: true } }, agents)).toEqual([]);
    const plan = subscription();
    expect(chooseRoute({ wanted: "a" }, [agent("a", { modes: [plan], limited: [plan] })]).candidates).toEqual([
      { adapter_id: "a", access_mode: plan, further_modes: [] },
    ]);
  });

  test("a chain keeps its order, whatever the priorities, and passes over who cannot", () => {
    const agents = [agent("a", { modes: [subscription({ priority: 1 })] }), agent("b"), agent("c", missing)];
    const wanted = ["c", "b", "nobody", "a", "b"];
    expect(chosen({ wanted, order: ["a"] }, agents)).toEqual(["b", "a"]);
    expect(passed({ wanted }, agents)).toEqual({
      c: "unavailable: It is not there.",
      nobody: "unknown_adapter: No adapter has this id.",
    });
  });
});

describe("chooseRoute with a limited agent", () => {
  const limited = { availability: "rate_limited", reason: "It is limited." } as const;
  const plan = subscription();
  const until = new Date(now + 60_000).toISOString();

  test("keeps it in a chain when its limit ends while the session waits, with the mode that opens first", () => {
    const agents = [
      agent("a", { ...limited, limitedUntil: now + 900 }),
      agent("b", { ...limited, modes: [plan, api()], limited: [plan, api()] }),
      agent("c"),
    ];
    const wish = { wanted: ["a", "b", "c"], patient_until: now + 60_000 };
    expect(chooseRoute(wish, agents)).toMatchObject({
      candidates: [
        { adapter_id: "a", access_mode: null, limited_until: new Date(now + 900).toISOString() },
        { adapter_id: "b", access_mode: plan, limited_until: until },
        { adapter_id: "c" },
      ],
      passed_over: [],
    });
    expect(chosen({ ...wish, patient_until: now + 899 }, agents)).toEqual(["c"]);
    expect(chosen({ wanted: ["a", "c"] }, agents)).toEqual(["c"]);
  });

  test("passes over one whose limit has no known end, and never waits for one of `auto`", () => {
    const patient_until = now + 60_000;
    expect(chosen({ wanted: ["a", "c"], patient_until }, [agent("a", limited), agent("c")])).toEqual(["c"]);
    const agents = [agent("a", { ...limited, limitedUntil: now + 900 }), agent("c")];
    expect(chosen({ wanted: "auto", patient_until }, agents)).toEqual(["c"]);
  });
});

describe("demandCandidate", () => {
  function refusal(wish: RouteWish, agents: RoutableAgent[]): BulkheadError {
    try {
      demandCandidate(chooseRoute(wish, agents), wish);
    } catch (error) {
      if (error instanceof BulkheadError) return error;
    }
    throw new Error("It did not throw.");
  }

  test("gives the route that leads somewhere", () => {
    const route: Route = { candidates: [{ adapter_id: "a", access_mode: null, further_modes: [] }], passed_over: [] };
    expect(demandCandidate(route, { wanted: "auto" })).toBe(route);
  });

  test("says for each adapter why it was passed over and what to do", () => {
    const error = refusal({ wanted: "auto", require: { testing: true } }, [
      agent("a", {
        availability: "unauthenticated",
        reason: "It is not logged in.",
        next_step: "Run a login.",
        capabilities: { testing: true },
      }),
      agent("b"),
    ]);
    expect(error.toJSON()).toEqual({
      code: "unavailable",
      message:
        "No enabled adapter can take this session:\n  a: It is not logged in. Run a login.\n  b: It lacks testing.",
      hint: '"bulkhead agents" shows all of them.',
      details: {
        passed_over: [
          { adapter_id: "a", code: "unavailable", reason: "It is not logged in.", next_step: "Run a login." },
          { adapter_id: "b", code: "unavailable", reason: "It lacks testing." },
        ],
      },
    });
  });

  test("has the code of the reason that all share", () => {
    const limited = agent("a", { availability: "rate_limited" });
    const modelled = agent("b", { models: ["x"] });
    expect(refusal({ wanted: "auto" }, [limited]).code).toBe("rate_limit");
    expect(refusal({ wanted: "auto", model: "m" }, [modelled]).code).toBe("invalid_model");
    expect(refusal({ wanted: "auto", model: "m" }, [limited, modelled]).code).toBe("unavailable");
    expect(refusal({ wanted: ["no", "nobody"] }, [modelled]).code).toBe("unknown_adapter");
    expect(refusal({ wanted: "auto" }, [])).toMatchObject({
      code: "unknown_adapter",
      message: "No adapter is enabled.",
    });
  });
});

describe("any agents and wishes", () => {
  const id = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const capabilities = fc.record({
    code_review: fc.boolean(),
    testing: fc.boolean(),
    max_context_tokens: fc.integer({ min: 1, max: 50 }),
  }, { requiredKeys: [] });
  const priority = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined });
  const mode = fc.tuple(fc.constantFrom(subscription(), api(), local()), priority, fc.boolean()).map(
    ([base, given, enabled]): AccessMode => ({ ...base, enabled, ...(given === undefined ? {} : { priority: given }) }),
  );
  const anyAgent = fc.record({
    id,
    availability: fc.constantFrom(...availabilities),
    capabilities,
    models: fc.subarray(["m", "n"]),
    modes: fc.array(mode, { maxLength: 3 }),
  }).map(({ id: name, ...rest }) => agent(name, rest));
  const anyAgents = fc.uniqueArray(anyAgent, { selector: ({ report }) => report.id });
  const anyWish: fc.Arbitrary<RouteWish> = fc.record({
    wanted: fc.oneof(fc.constant("auto"), id, fc.array(id, { minLength: 2, maxLength: 5 })),
    require: capabilities,
    model: fc.option(fc.constantFrom("m", "x"), { nil: undefined }),
    prompt_tokens: fc.option(fc.nat(60), { nil: undefined }),
    order: fc.array(id),
  });

  test("each that is considered is chosen or passed over with a reason, and once", () => {
    fc.assert(fc.property(anyWish, anyAgents, (wish, agents) => {
      const { candidates, passed_over } = chooseRoute(wish, agents);
      const considered = wish.wanted === "auto" ? agents.map(({ report }) => report.id) : [wish.wanted].flat();
      const said = [...candidates, ...passed_over].map(({ adapter_id }) => adapter_id);
      expect(new Set(said).size).toBe(said.length);
      expect(new Set(said)).toEqual(new Set(considered));
      expect(passed_over.every(({ reason }) => reason !== "")).toBe(true);
    }));
  });

  test("whoever is chosen can do what is required, and where there was a choice is available", () => {
    fc.assert(fc.property(anyWish, anyAgents, (wish, agents) => {
      for (const { adapter_id, access_mode } of chooseRoute(wish, agents).candidates) {
        const { report, modes } = agents.find((one) => one.report.id === adapter_id)!;
        expect(lackingCapabilities(wish.require ?? {}, report.capabilities)).toEqual([]);
        expect(access_mode === null || access_mode.enabled).toBe(true);
        expect(access_mode === null).toBe(modes.length === 0);
        if (typeof wish.wanted === "string" && wish.wanted !== "auto") continue;
        expect(report.availability).toBe("available");
        expect(wish.model === undefined || report.models.length === 0 || report.models.includes(wish.model)).toBe(true);
      }
    }));
  });

  test("requiring more never brings anyone in", () => {
    fc.assert(fc.property(anyWish, anyAgents, (wish, agents) => {
      const more = { ...wish, require: { ...wish.require, testing: true, max_context_tokens: 51 } };
      const before = new Set(chosen(wish, agents));
      expect(chosen(more, agents).every((one) => before.has(one))).toBe(true);
    }));
  });

  test("the operator's order decides first, and the same question has the same answer", () => {
    fc.assert(fc.property(anyAgents, fc.uniqueArray(id), (agents, order) => {
      const ids = chosen({ order }, agents);
      const preferred = order.filter((one) => ids.includes(one));
      expect(ids.slice(0, preferred.length)).toEqual(preferred);
      expect(chosen({ order }, agents)).toEqual(ids);
    }));
  });
});
