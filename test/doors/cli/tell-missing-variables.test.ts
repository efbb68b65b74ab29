import { expect, test } from "vitest";
import { tellMissingVariables } from "../../../core/doors/cli/tell-missing-variables.ts";
import { variablesRead } from "../../../core/packages/permissions/requested-permissions.ts";
import { fakePlugin } from "./fake-host.ts";
import { fakeTerminal } from "./fake-terminal.ts";

const plugins = [
  { id: "alpha", enabled: true, env_missing: ["KEY", "OTHER"] },
  { id: "beta", enabled: true, env_missing: ["KEY"] },
  { id: "gamma", enabled: false, env_missing: ["KEY"] },
  { id: "in-this-process", enabled: true },
];

async function told(options: { wanted?: string | string[]; env?: Record<string, string> }): Promise<string> {
  const { wanted, env = { KEY: "sk-the-value" } } = options;
  const terminal = fakeTerminal({ env });
  await tellMissingVariables(terminal, { plugins, ...(wanted === undefined ? {} : { wanted }) });
  expect(terminal.out()).toBe("");
  return terminal.err();
}

test("tellMissingVariables names what this terminal has and the daemon lacks, and no value", async () => {
  const text = await told({});
  expect(text).toMatch(
    /^The daemon was started without variables that this terminal has: KEY \(read by alpha, beta\)\.\n/,
  );
  expect(text).toContain("bulkhead restart");
  expect(text).not.toContain("the-value");
});

test("tellMissingVariables says nothing of agents that are not wanted, nor of variables that no one has", async () => {
  expect(await told({ wanted: "beta" })).toContain("KEY (read by beta).");
  expect(await told({ wanted: ["in-this-process", "gamma"] })).toBe("");
  expect(await told({ env: { KEY: "" } })).toBe("");
  expect(await told({ env: { PATH: "/bin" } })).toBe("");
});

test("variablesRead names the variables of a plugin's code, of its programs, and of its keys, once", () => {
  const { manifest } = fakePlugin("alpha");
  const api = { type: "api", priority: 1, enabled: true, model: "m", max_tokens: 1, api_key_env_var: "KEY" } as const;
  const pricing = { input_per_1k_tokens: 0, output_per_1k_tokens: 0, currency: "USD" };
  const full = {
    ...manifest,
    permissions: { env: ["LANG"], run: [{ binary: "alpha", env: ["KEY", "URL"] }] },
    access_modes: [{ ...api, pricing }],
  };
  expect(variablesRead({ manifest: full, config: {} })).toEqual(["KEY", "LANG", "URL"]);
  expect(variablesRead({ manifest, config: {} })).toEqual([]);
});
