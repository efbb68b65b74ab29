import { expect, test } from "vitest";
import { pluginOf } from "../../../core/packages/registry/unknown-plugin.ts";
import type { RegistryProblem } from "../../../core/packages/registry/registry.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";

const broken = (id: string, message: string, unavailable = false): RegistryProblem => ({
  id,
  folder: `/plugins/${id}`,
  error: new BulkheadError("invalid_manifest", message),
  unavailable,
});

const registryOf = (...problems: RegistryProblem[]) => ({
  get: () => undefined,
  list: () => [],
  problems: () => problems,
});

test("pluginOf says why a plugin that is there cannot be used, enabled or not", () => {
  expect(() => pluginOf(registryOf(broken("grok", "no version")), "grok")).toThrow("no version");
  const both = [broken("grok", "a second folder"), broken("grok", "the enabled one", true)];
  expect(() => pluginOf(registryOf(...both), "grok")).toThrow("the enabled one");
});

test("pluginOf asks whether another id was meant", () => {
  expect(() => pluginOf(registryOf(broken("grok", "no version")), "grk")).toThrow(
    expect.objectContaining({ code: "not_found", hint: 'Did you mean "grok"?' }) as Error,
  );
});
