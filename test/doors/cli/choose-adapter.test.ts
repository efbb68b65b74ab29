import { expect, test } from "vitest";
import { chooseAdapter } from "../../../core/doors/cli/find-adapters.ts";
import { fakePlugin } from "./fake-host.ts";

const plugins = [fakePlugin("alpha"), fakePlugin("beta"), fakePlugin("gamma", { enabled: false })];

test("chooseAdapter prefers the given id, then routing, then the only enabled one", () => {
  expect(chooseAdapter({ given: "beta", plugins, routing: { agent: "alpha" } })).toBe("beta");
  expect(chooseAdapter({ given: undefined, plugins, routing: { agent: "alpha" } })).toBe("alpha");
  expect(chooseAdapter({ given: undefined, plugins, routing: { agent: ["beta"] } })).toBe("beta");
  const only = [fakePlugin("solo"), fakePlugin("off", { enabled: false })];
  expect(chooseAdapter({ given: undefined, plugins: only, routing: { agent: "auto" } })).toBe("solo");
});

test("chooseAdapter leaves it to routing where there are several, and keeps a chain", () => {
  expect(chooseAdapter({ given: undefined, plugins, routing: { agent: "auto" } })).toBe("auto");
  expect(chooseAdapter({ given: "auto", plugins, routing: { agent: "alpha" } })).toBe("auto");
  expect(chooseAdapter({ given: undefined, plugins, routing: undefined })).toBe("auto");
  expect(chooseAdapter({ given: undefined, plugins, routing: { agent: ["beta", "alpha"] } })).toEqual([
    "beta",
    "alpha",
  ]);
  expect(chooseAdapter({ given: "alpha,beta", plugins, routing: { agent: "alpha" } })).toEqual(["alpha", "beta"]);
});

test("chooseAdapter names the command that enables a plugin which is there, else the enabled adapters", () => {
  const refusal = (given: string, of = plugins) => {
    try {
      return chooseAdapter({ given, plugins: of, routing: undefined });
    } catch (error) {
      return error;
    }
  };
  expect(refusal("gamma")).toMatchObject({
    code: "unknown_adapter",
    message: 'No enabled adapter has the id "gamma".',
    hint: "bulkhead plugin enable gamma",
    details: { enabled: ["alpha", "beta"] },
  });
  expect(refusal("beta,gamma")).toMatchObject({ hint: "bulkhead plugin enable gamma" });
  expect(refusal("nobody")).toMatchObject({ code: "unknown_adapter", hint: "Enabled are: alpha, beta." });
  expect(refusal("alpa")).toMatchObject({ code: "unknown_adapter", hint: 'Did you mean "alpha"?' });
  expect(refusal("nobody", [])).toMatchObject({ hint: expect.stringContaining("bulkhead setup") });
  expect(refusal("delta", [fakePlugin("delta", { enabled: false, blocked: "line 4 blocks it" })])).toMatchObject({
    code: "blocked_plugin",
  });
});

test("chooseAdapter leaves it to routing to say that no adapter is enabled", () => {
  const none = [fakePlugin("off", { enabled: false })];
  expect(chooseAdapter({ given: undefined, plugins: none, routing: undefined })).toBe("auto");
});
