import { expect, test } from "vitest";
import { isSameAgent, offered } from "../../core/cluster/machines/machine-facts.ts";
import type { Plugin } from "../../core/packages/registry/plugin.ts";

const installed = (version: string, hashes?: Record<string, string>) =>
  offered({ id: "a", manifest: { version }, hashes } as unknown as Plugin);

test("an installed plugin is the same agent only with the same version and the same locked files", () => {
  const one = installed("1.0.0", { "mod.js": "aa", "plugin.yaml": "bb" });
  expect(isSameAgent(one, installed("1.0.0", { "plugin.yaml": "bb", "mod.js": "aa" }))).toBe(true);
  expect(isSameAgent(one, installed("1.0.0", { "mod.js": "ab", "plugin.yaml": "bb" }))).toBe(false);
  expect(isSameAgent(one, installed("1.0.0"))).toBe(false);
  expect(isSameAgent(one, installed("1.0.1", { "mod.js": "aa", "plugin.yaml": "bb" }))).toBe(false);
});
