import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isLoaderName } from "../../../core/ground/platform/places/loader-names.ts";
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
  ["TAR_OPTIONS", true],
  ["MAKEFLAGS", true],
  ["GNUMAKEFLAGS", true],
  ["RSYNC_RSH", true],
  ["RSYNC_CONNECT_PROG", true],
  ["XDG_CONFIG_HOME", true],
  ["xdg_data_dirs", true],
  ["GOFLAGS", true],
  ["CC", true],
  ["CARGO_HOME", true],
  ["RUSTC_WRAPPER", true],
  ["PIP_INDEX_URL", true],
  ["npm_lifecycle_event", true],
  ["YARN_RC_FILENAME", true],
  ["MAVEN_OPTS", true],
  ["DOTNET_STARTUP_HOOKS", true],
  ["DOCKER_HOST", true],
  ["KUBECONFIG", true],
  ["AWS_CONFIG_FILE", true],
  ["VIMINIT", true],
  ["FZF_DEFAULT_COMMAND", true],
  ["PYTEST_ADDOPTS", true],
  ["PHPRC", true],
  ["PSQLRC", true],
  ["ASAN_OPTIONS", true],
  ["API_KEY", false],
  ["ANTHROPIC_API_KEY", false],
  ["ANTHROPIC_BASE_URL", false],
  ["AWS_REGION", false],
  ["GOOGLE_CLOUD_PROJECT", false],
  ["GH_TOKEN", false],
  ["RUST_LOG", false],
  ["TZ", false],
  ["LC_ALL", false],
  ["TERM", false],
  ["NO_COLOR", false],
  ["CI", false],
  ["MODEL_NODE", false],
  ["PATHS", false],
  ["HTTPS_PROXY", false],
])("isLoaderName of %s is %s", (name, expected) => {
  expect(isLoaderName(name)).toBe(expected);
});
