import { expect, test } from "vitest";
import { chooseAdapter } from "../../core/cli/choose-adapter.ts";
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

test("chooseAdapter lists the enabled adapters where it cannot choose", () => {
  expect(() => chooseAdapter({ given: undefined, plugins, routing: { agent: ["beta", "gamma"] } })).toThrow(
    expect.objectContaining({ code: "unknown_adapter", details: { enabled: ["alpha", "beta"] } }),
  );
  expect(() => chooseAdapter({ given: "gamma", plugins, routing: undefined })).toThrow(/"gamma"/);
  expect(() => chooseAdapter({ given: undefined, plugins: [], routing: undefined })).toThrow(
    expect.objectContaining({ hint: expect.stringContaining("bulkhead init") }),
  );
});
