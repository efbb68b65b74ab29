import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { codeOf, errorOf, makeBroker } from "./broker-fixture.ts";

const permissions = { kv: true };

describe("kv", () => {
  test("keeps values over sessions", async () => {
    const first = await makeBroker({ permissions });
    await first.broker.call("kv_set", { key: "a/b", value: { n: [1, "ü", null] } });
    await first.broker.close();
    const { broker } = await makeBroker({ permissions, dataDir: first.options.dataDir });
    expect(await broker.call("kv_get", { key: "a/b" })).toEqual({ n: [1, "ü", null] });
    expect(await broker.call("kv_get", { key: "missing" })).toBe(null);
    await broker.call("kv_delete", { key: "a/b" });
    expect(await broker.call("kv_get", { key: "a/b" })).toBe(null);
  });

  test.each([
    ["kv_get", { key: "a" }],
    ["kv_set", { key: "a", value: 1 }],
    ["kv_delete", { key: "a" }],
    ["kv_list", { prefix: "" }],
  ])("denies %s without its grant", async (name, args) => {
    const { broker } = await makeBroker();
    expect(await errorOf(broker.call(name, args))).toMatchObject({
      code: "permission_denied",
      hint: "bulkhead plugin grant acme kv",
    });
  });

  test("lists keys by their beginning", async () => {
    const { broker } = await makeBroker({ permissions });
    for (const key of ["b/1", "a/2", "a/1"]) await broker.call("kv_set", { key, value: 1 });
    expect(await broker.call("kv_list", { prefix: "a/" })).toEqual(["a/1", "a/2"]);
    expect(await broker.call("kv_list", { prefix: "" })).toEqual(["a/1", "a/2", "b/1"]);
  });

  test("gives names of object members no meaning", async () => {
    const { broker } = await makeBroker({ permissions });
    expect(await broker.call("kv_get", { key: "constructor" })).toBe(null);
    await broker.call("kv_set", { key: "__proto__", value: { polluted: true } });
    expect(await broker.call("kv_get", { key: "__proto__" })).toEqual({ polluted: true });
    expect({}).not.toHaveProperty("polluted");
  });

  test("loses no change when many are made at once by two sessions", async () => {
    const one = await makeBroker({ permissions });
    const two = await makeBroker({ permissions, dataDir: one.options.dataDir });
    const keys = Array.from({ length: 40 }, (_, index) => `k${index}`);
    await Promise.all(keys.map((key, index) => (index % 2 ? one : two).broker.call("kv_set", { key, value: index })));
    expect(await one.broker.call("kv_list", { prefix: "" })).toEqual([...keys].sort());
    expect(await readdir(one.options.dataDir)).toEqual(["kv.json"]);
  });

  test("refuses a value over the quota and keeps what was there", async () => {
    const { broker } = await makeBroker({ permissions, limits: { ...defaultLimits, kv_bytes: 200 } });
    await broker.call("kv_set", { key: "a", value: "old" });
    expect(await codeOf(broker.call("kv_set", { key: "a", value: "x".repeat(200) }))).toBe("limit_exceeded");
    expect(await broker.call("kv_get", { key: "a" })).toBe("old");
  });

  test.each(["../a", "a/../b", "a..b", "", "ä", "a b", "x".repeat(257), "a\n"])("refuses the key %j", async (key) => {
    const { broker } = await makeBroker({ permissions });
    expect(await codeOf(broker.call("kv_set", { key, value: 1 }))).toBe("invalid_request");
  });

  test("says io_error for a damaged file and does not overwrite it", async () => {
    const { broker, options } = await makeBroker({ permissions });
    await mkdir(options.dataDir, { recursive: true });
    await writeFile(join(options.dataDir, "kv.json"), '{"kv":1,"entries":[["a"]]}');
    expect(await codeOf(broker.call("kv_get", { key: "a" }))).toBe("io_error");
    expect(await codeOf(broker.call("kv_set", { key: "a", value: 1 }))).toBe("io_error");
  });
});
