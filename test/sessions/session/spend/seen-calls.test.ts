import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { unenforceableFields } from "../../../../core/sessions/session/enforceable.ts";
import { fetchesModel, modelEndpoints, seesCalls } from "../../../../core/sessions/session/spend/seen-calls.ts";
import type { AccessMode } from "../../../../plugin-sdk/access-modes.ts";
import type { Plugin } from "../../../../core/packages/manifest/plugin.ts";
import type { RunPermission } from "../../../../plugin-sdk/permissions.ts";
import { fakePlugin } from "../../../doors/cli/fake-host.ts";

const run: RunPermission = { binary: "agent", args: ["*"], env: ["SEEN_CALLS_KEY"] };

function agent(granted: RunPermission[] = [run], changes: Partial<Plugin> = {}): Plugin {
  const plugin = fakePlugin("alpha", { grant: { run: granted }, ...changes });
  const endpoint = { program: "agent", key: "SEEN_CALLS_KEY", base_url: "URL", url: "https://api.example.com" };
  const permissions = { run: [{ ...run, contain: "off" as const }] };
  return { ...plugin, manifest: { ...plugin.manifest, adapter_type: "cli", endpoints: [endpoint], permissions } };
}

const env = { SEEN_CALLS_KEY: "k" };

function isSeen(
  plugin: Plugin,
  request: { env?: Record<string, string>; model?: string },
  secrets = new Map<string, string>(),
): boolean {
  const endpoints = modelEndpoints(plugin.manifest, { mode: null, gateway: null });
  return seesCalls(plugin, { mode: null, endpoints, request, effective: plugin.grant, secrets });
}

afterEach(() => void delete process.env["SEEN_CALLS_KEY"]);

test("fetchesModel: an adapter that may start no program calls its model itself", () => {
  const api: AccessMode = { type: "api", priority: 1, enabled: true, model: "m", max_tokens: 1 } as AccessMode;
  expect(fetchesModel({ net: ["api.example.com"] }, api)).toBe(true);
  expect(fetchesModel({ run: [run] }, api)).toBe(false);
  expect(fetchesModel({}, { ...api, type: "subscription" } as AccessMode), "a plan has no key").toBe(false);
  expect(fetchesModel({}, null)).toBe(false);
});

test("seesCalls: the host holds the key of a contained program, from the request or its own environment", () => {
  expect(isSeen(agent(), { env })).toBe(true);
  expect(isSeen(agent(), {})).toBe(false);
  expect(isSeen(agent(), {}, new Map([["SEEN_CALLS_KEY", "k"]]))).toBe(true);
  process.env["SEEN_CALLS_KEY"] = "k";
  expect(isSeen(agent(), {})).toBe(true);
  expect(isSeen(agent(), { env: { SEEN_CALLS_KEY: "" } })).toBe(false);
});

test("seesCalls: not of a program outside the walls, without the key, or that no endpoint names", () => {
  expect(isSeen(agent([{ ...run, contain: "off" }]), { env })).toBe(false);
  expect(isSeen(agent([{ ...run, env: [] }]), { env })).toBe(false);
  expect(isSeen(agent([{ ...run, binary: "other" }]), { env })).toBe(false);
  const { os_walls } = agent();
  expect(isSeen(agent([run], { os_walls: { ...os_walls, agents: "off" } }), { env })).toBe(false);
});

test("seesCalls: of a program with models of several providers those of the endpoint", () => {
  const plugin = agent();
  plugin.manifest.endpoints![0]!.models = "near/";
  expect([isSeen(plugin, { env, model: "near/m" }), isSeen(plugin, { env, model: "far/m" }), isSeen(plugin, { env })])
    .toEqual([true, false, false]);
});

test("modelEndpoints: those of the access mode, none of a program that the person sends elsewhere", () => {
  const { manifest } = agent();
  const api = { type: "api", enabled: true, model: "m" } as AccessMode;
  const plan = { type: "subscription", enabled: true, plan: "p" } as AccessMode;
  const count = (mode: AccessMode | null, gateway: string | null = null) =>
    modelEndpoints(manifest, { mode, gateway }).length;
  expect([count(api), count(plan), count(null), count(api, "agent"), count(api, "other")]).toEqual([1, 1, 1, 0, 1]);
  manifest.endpoints![0]!.access_mode = "api";
  expect([count(api), count(plan), count(null)]).toEqual([1, 0, 0]);
});

test("unenforceableFields: a budget of tokens holds where the calls are seen, one of cost where they have prices too", () => {
  const { manifest } = agent();
  const request = { workdir: "/w", prompt: "p", budget: { tokens: 1, cost: 1 } };
  expect(unenforceableFields(request, manifest)).toEqual(["budget.cost", "budget.tokens"]);
  expect(unenforceableFields(request, manifest, { seesCalls: true })).toEqual(["budget.cost"]);
  const pricing = { input_per_1k_tokens: 1, output_per_1k_tokens: 1, currency: "USD" };
  const mode = { type: "api" as const, enabled: true, model: "m", max_tokens: 1, pricing };
  const priced = { ...manifest, access_modes: [mode] };
  expect(unenforceableFields(request, priced, { seesCalls: true, modes: [mode] })).toEqual([]);
});
