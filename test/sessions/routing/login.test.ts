import { expect, test } from "vitest";
import { describeAgent } from "../../../core/sessions/routing/agent-report.ts";
import { unused } from "../../../core/sessions/routing/access-mode-state.ts";
import type { AccessMode } from "../../../plugin-sdk/access-modes.ts";
import { fakePlugin } from "../../doors/cli/fake-host.ts";
import { api, local, subscription } from "./modes.ts";

const key = "THE_KEY";

/** What an agent with these modes is reported as that says how it is logged in, and whose host has no key. */
function described(access_modes: AccessMode[], access_mode?: AccessMode["type"]) {
  const plugin = fakePlugin("alpha");
  const report = {
    availability: "available" as const,
    reason: "It is logged in.",
    ...(access_mode && { access_mode }),
  };
  const checked = { status: "healthy" as const, latency_ms: 0, last_check: "2026-01-01T00:00:00.000Z" };
  return describeAgent({
    plugin: { ...plugin, manifest: { ...plugin.manifest, access_modes } },
    found: {
      report,
      health: { ...checked, details: { binary_found: true, authenticated: true } },
      access_mode: null,
      checkedAt: 0,
    },
    useOf: () => unused,
    missing: new Map([[key, "no value"]]),
    now: 0,
  }).report;
}

const plan = subscription();
const keyed = api({ api_key_env_var: key });

test("an agent that says it is logged in by a key is used through api, and one that says nothing as listed", () => {
  const byKey = described([plan, keyed], "api");
  expect(byKey).toMatchObject({ availability: "available", access_mode: { type: "api", status: "available" } });
  expect(byKey.access_mode).not.toHaveProperty("missing_key");
  expect(byKey.access_modes.map(({ type, status }) => `${type} ${status}`)).toEqual([
    "subscription unavailable",
    "api available",
  ]);
  expect(described([plan, keyed]).access_mode).toMatchObject({ type: "subscription" });
});

test("an available agent says which of its modes lacks its key", () => {
  const lacking = "It is logged in. Its api access needs the key THE_KEY, which has no value.";
  expect(described([plan, keyed])).toMatchObject({ availability: "available", reason: lacking });
  expect(described([plan, { ...keyed, enabled: false }]).reason).toBe("It is logged in.");
  expect(described([plan, keyed], "api").reason).toBe("It is logged in.");
  expect(described([keyed])).toMatchObject({
    availability: "unauthenticated",
    reason: "Its api access needs the key THE_KEY, which has no value.",
  });
});

test("a login of a type that no enabled mode has changes nothing", () => {
  for (const modes of [[plan], [plan, { ...keyed, enabled: false }], [plan, local()]]) {
    expect(described(modes, "api").access_mode).toMatchObject({ type: "subscription", status: "available" });
  }
});
