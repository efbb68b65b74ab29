import { expect, test } from "vitest";
import { isSameAgent, OfferedAgents } from "../../core/cluster/machines/machine-facts.ts";
import type { Host } from "../../core/sessions/host/host.ts";
import type { Plugin } from "../../core/packages/manifest/plugin.ts";

async function offered(version: string, code: string | null) {
  const plugin = (id: string, enabled: boolean) => ({ id, enabled, manifest: { version } }) as Plugin;
  const registry = { list: () => [plugin("a", true), plugin("off", false)] };
  const codeOf = () => code === null ? Promise.reject(new Error("gone")) : Promise.resolve(code);
  const all = await new OfferedAgents(() => ({ registry, codeOf }) as unknown as Host).look();
  expect(all.map(({ id }) => id)).toEqual(["a"]);
  return all[0]!;
}

test("a plugin is the same agent only with the same version and the same code, and one whose code is unknown never", async () => {
  const one = await offered("1.0.0", "aa");
  expect(isSameAgent(one, await offered("1.0.0", "aa"))).toBe(true);
  expect(isSameAgent(one, await offered("1.0.0", "ab"))).toBe(false);
  expect(isSameAgent(one, await offered("1.0.1", "aa"))).toBe(false);
  expect(isSameAgent(one, await offered("1.0.0", null))).toBe(false);
  expect(isSameAgent(await offered("1.0.0", null), await offered("1.0.0", null))).toBe(false);
});
