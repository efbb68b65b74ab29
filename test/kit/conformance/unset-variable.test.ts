import { expect, test } from "vitest";
import { openKitHost } from "../../../core/kit/conformance/kit-host.ts";
import { testPlugin } from "../../../core/kit/conformance/test-plugin.ts";
import { writePackage } from "../../packages/registry/package-folder.ts";

const plugin = `manifest: 1
id: needy
name: Needy
version: 1.0.0
description: Needs a variable.
license: MIT
host: ^1.0.0
adapter_type: cli
cli:
  binary: needy
  command_template: "{binary} [-m {model}] < {prompt_file}"
  models: { fast: fast-1 }
  env_vars: { KEY: "\${BULKHEAD_TEST_NOT_SET}" }
capabilities: {}
permissions:
  env: [BULKHEAD_TEST_NOT_SET]
`;
const script = `conformance: 1
programs: [{ binary: needy, answers: [{ stdout: "done\\n" }] }]
`;

test("testPlugin accuses no adapter of drift where a variable is not set, and names the variable", async () => {
  await using kit = await openKitHost();
  const folder = await writePackage({ "plugin.yaml": plugin, "conformance.yaml": script });
  const text = JSON.stringify(await testPlugin(folder, { kit, isolation: "thread" }));
  expect(text).toContain("the environment has no BULKHEAD_TEST_NOT_SET");
  expect(text).not.toContain("DRIFT");
}, 120_000);
