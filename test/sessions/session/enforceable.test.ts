import { expect, test } from "vitest";
import { accepts, reports, unenforceableFields } from "../../../core/sessions/session/enforceable.ts";
import type { CliTool, Manifest } from "../../../plugin-sdk/manifest.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { fakePlugin } from "../../doors/cli/fake-host.ts";

const bare: Manifest = fakePlugin("alpha").manifest;
const asked: SessionRequest = { workdir: "/w", prompt: "p" };

const everything: Partial<SessionRequest> = {
  model: "m",
  allowed_tools: [],
  max_turns: 1,
  effort: "low",
  fork: { at: "r" },
  plan: true,
  continue_from: "s",
  mcp_servers: ["m"],
  approval: "deny",
  tool_approvals: { t: "deny" },
  budget: { cost: 1, tokens: 1, turns: 1, tool_calls: 1 },
};

test("an adapter that says nothing of itself can be held to nothing", () => {
  expect(unenforceableFields({ ...asked, ...everything }, bare).sort()).toEqual([
    "allowed_tools",
    "approval",
    "budget.cost",
    "budget.tokens",
    "budget.tool_calls",
    "budget.turns",
    "continue_from",
    "effort",
    "fork",
    "fork.at",
    "max_turns",
    "mcp_servers",
    "model",
    "plan",
    "tool_approvals",
  ]);
  expect(unenforceableFields(asked, bare)).toEqual([]);
  // The system prompt goes in front, and to approve everything needs nobody's help.
  expect(unenforceableFields({ ...asked, system_prompt: "s", approval: "all", mcp_servers: [], plan: false }, bare))
    .toEqual([]);
});

test("an adapter that accepts and reports everything can be held to everything", () => {
  const manifest: Manifest = {
    ...bare,
    accepts: ["model", "continue_from", "mcp_servers", "effort", "plan", "fork", "continue_at"],
    reports: ["tokens", "cost", "turns", "tool_calls", "permissions"],
  };
  // But to what its agent may spend: the host holds that.
  const beyond = ["budget.cost", "budget.tokens"];
  expect(unenforceableFields({ ...asked, ...everything }, manifest)).toEqual(beyond);
});

test("a budget holds where the host sees the calls, whatever the agent reports, of money where they have a price", () => {
  const api = {
    type: "api" as const,
    priority: 1,
    enabled: true,
    model: "m",
    max_tokens: 1,
    pricing: { input_per_1k_tokens: 1, output_per_1k_tokens: 1, currency: "USD" },
  };
  const request = { ...asked, budget: { cost: 1, tokens: 1 } };
  const reporter: Manifest = { ...bare, reports: ["tokens", "cost"], access_modes: [api] };
  expect(unenforceableFields(request, reporter, { modes: [api] })).toEqual(["budget.cost", "budget.tokens"]);
  expect(unenforceableFields(request, bare, { modes: [api], seesCalls: true })).toEqual([]);
  expect(unenforceableFields(request, bare, { modes: [null], seesCalls: true })).toEqual(["budget.cost"]);
  // A replay asks no model.
  expect(unenforceableFields({ ...request, replay_of: "s" }, bare)).toEqual(["replay_of"]);
});

test("a cost is no limit where the model has no known price, whoever would name one", () => {
  const pricing = { input_per_1k_tokens: null, output_per_1k_tokens: null, currency: "USD" };
  const base = { type: "api" as const, enabled: true, model: "m", max_tokens: 1 };
  const priced = { ...base, pricing: { ...pricing, input_per_1k_tokens: 0, output_per_1k_tokens: 1 } };
  const unpriced = { ...base, pricing };
  const local = { type: "local" as const, enabled: true, model: "m", endpoint: "http://127.0.0.1:1" };
  const manifest: Manifest = { ...bare, reports: ["tokens"], accepts: ["model"], access_modes: [unpriced, local] };
  const request = { ...asked, budget: { cost: 1 } };
  const options = { input_per_1k_tokens: 1, output_per_1k_tokens: 0 };
  const open = (model: string | undefined, paid: Parameters<typeof unenforceableFields>[2]) =>
    unenforceableFields({ ...request, ...(model && { model }) }, manifest, { seesCalls: true, ...paid });
  expect(open(undefined, { modes: [unpriced] })).toEqual(["budget.cost"]);
  expect(open(undefined, { modes: [unpriced], options: { input_per_1k_tokens: 1 } })).toEqual(["budget.cost"]);
  expect(open(undefined, { modes: [unpriced], options })).toEqual([]);
  expect(open("another", { modes: [unpriced], options })).toEqual(["budget.cost"]);
  expect(open("another", { modes: [unpriced], options: { ...options, model: "another" } })).toEqual([]);
  expect(open("m", { modes: [priced] })).toEqual([]);
  expect(open("m-20260101", { modes: [priced] })).toEqual([]);
  expect(open("another", { modes: [priced] })).toEqual(["budget.cost"]);
  expect(open(undefined, { modes: [local] })).toEqual([]);
  expect(open(undefined, { modes: [unpriced, local] })).toEqual(["budget.cost"]);
});

test("a budget of the operator's holds where the host sees the calls, of money where they have prices too", () => {
  const mode = { type: "api" as const, enabled: true, model: "m", max_tokens: 1 };
  const pricing = { input_per_1k_tokens: 1, output_per_1k_tokens: 1, currency: "USD" };
  const budgets = [["t", { tokens: 1 }], ["c", { cost: 1 }]] as const;
  const open = (paid: Parameters<typeof unenforceableFields>[2]) =>
    unenforceableFields(asked, { ...bare, reports: ["tokens", "cost"] }, {
      budgets,
      modes: [{ ...mode, pricing }],
      ...paid,
    });
  expect(open({ seesCalls: true })).toEqual([]);
  expect(open({})).toEqual(["budgets.t", "budgets.c"]);
  expect(open({ seesCalls: true, inCluster: true })).toEqual(["budgets.t", "budgets.c"]);
  expect(open({ seesCalls: true, modes: [null] })).toEqual(["budgets.c"]);
  expect(open({ seesCalls: true, modes: [{ ...mode, pricing: { ...pricing, output_per_1k_tokens: null } }] }))
    .toEqual(["budgets.c"]);
});

test("of a tool without code it follows from its template and its rules", () => {
  const tool = (cli: Partial<CliTool>): Manifest => ({
    ...bare,
    cli: { binary: "t", command_template: "{binary} {prompt}", ...cli },
  });
  expect(accepts(tool({}), "model")).toBe(false);
  expect(accepts(tool({ command_template: "{binary} -m {model} {prompt}" }), "model")).toBe(true);
  expect(accepts(tool({ models: { large: "l" } }), "model")).toBe(true);
  const continued = tool({ command_template: "{binary} [-r {continue_from}] {prompt}" });
  expect(accepts(continued, "continue_from")).toBe(true);
  expect(accepts(continued, "max_turns")).toBe(false);
  expect(accepts({ ...bare, models: ["large"] }, "model")).toBe(true);
  const usage = {
    type: "usage",
    scope: "turn",
    tokens_in: "$.in",
    tokens_out: "$.out",
    tokens_cached: null,
    cost: null,
  };
  const rules = [{ when: { t: "u" }, event: usage }, { when: { t: "c" }, event: { type: "tool_call" } }];
  const mapped = tool({ output: { format: "jsonl", rules } });
  const facts = ["tokens", "cost", "turns", "tool_calls", "permissions"] as const;
  expect(facts.filter((fact) => reports(mapped, fact))).toEqual(["tokens", "turns", "tool_calls"]);
  expect(facts.filter((fact) => reports(tool({}), fact))).toEqual([]);
});
