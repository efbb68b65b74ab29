import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isLoaderName } from "../../core/broker/loader-names.ts";
import { capabilities, errorOf, makeBroker } from "./broker-fixture.ts";

beforeEach(() => void (process.env["BROKER_TEST_ENV"] = "host value"));
afterEach(() => void delete process.env["BROKER_TEST_ENV"]);

describe("env_get", () => {
  test("gives a granted name's value, of the request before the host", async () => {
    const permissions = { env: ["BROKER_TEST_ENV", "BROKER_TEST_UNSET"] };
    const { broker } = await makeBroker({ permissions });
    expect(await broker.call("env_get", { name: "BROKER_TEST_ENV" })).toBe("host value");
    expect(await broker.call("env_get", { name: "BROKER_TEST_UNSET" })).toBe(null);
    const other = await makeBroker({ permissions, requestEnv: { BROKER_TEST_ENV: "request value" } });
    expect(await other.broker.call("env_get", { name: "BROKER_TEST_ENV" })).toBe("request value");
  });

  test("is denied for any other name, also one that the request sets", async () => {
    const { broker, events } = await makeBroker({ requestEnv: { BROKER_TEST_ENV: "x" } });
    const error = await errorOf(broker.call("env_get", { name: "BROKER_TEST_ENV" }));
    expect(error).toMatchObject({
      code: "permission_denied",
      hint: "bulkhead plugin grant acme env:BROKER_TEST_ENV",
    });
    expect(error.message).not.toContain("host value");
    expect(capabilities(events)).toMatchObject([{ permission: "env", decision: "denied" }]);
  });
});

test.each([
  ["LD_PRELOAD", true],
  ["ld_preload", true],
  ["LD_ANYTHING", true],
  ["DYLD_INSERT_LIBRARIES", true],
  ["NODE_OPTIONS", true],
  ["BASH_ENV", true],
  ["BASH_FUNC_x%%", true],
  ["GIT_SSH_COMMAND", true],
  ["PATH", true],
  ["IFS", true],
  ["PYTHONPATH", true],
  ["BULKHEAD_SESSION_MARK", true],
  ["API_KEY", false],
  ["MODEL_NODE", false],
  ["PATHS", false],
  ["HTTPS_PROXY", false],
])("isLoaderName of %s is %s", (name, expected) => {
  expect(isLoaderName(name)).toBe(expected);
});
