import type { AccessMode, Availability } from "bulkhead/plugin-sdk";
import { probeAdapter } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import OpenAiCompatible from "../../plugins/openai-compatible/mod.ts";

const models = "https://api.example/v1/models";
const mode: AccessMode = {
  type: "api",
  enabled: true,
  model: "m",
  endpoint: "https://api.example/v1",
  api_key_env_var: "KEY",
  max_tokens: 10,
  pricing: { input_per_1k_tokens: null, output_per_1k_tokens: null, currency: "USD" },
};

test.each<[status: number, body: string, Availability]>([
  [200, '{"data":[]}', "available"],
  [200, '{"models":[]}', "available"],
  [200, "<html>", "incompatible"],
  [404, '{"detail":"Not Found"}', "incompatible"],
  [401, "", "unauthenticated"],
  [403, "", "unauthenticated"],
  [429, "", "rate_limited"],
  [429, '{"error":{"code":"insufficient_quota"}}', "quota_exhausted"],
  [503, "", "unrunnable"],
])("a server that answers %i with %s is %s, in sentences", async (status, body, availability) => {
  const { report, violations, calls } = await probeAdapter(OpenAiCompatible, {
    config: { access_modes: [mode] },
    secrets: ["KEY"],
    responses: { [models]: { status, body } },
  });
  expect(violations).toEqual([]);
  expect(report).toMatchObject({ availability, reason: expect.stringMatching(/\.$/) });
  expect(calls).toContainEqual(expect.objectContaining({ call: "secrets.use", target: "KEY" }));
});

test("a key that is not there, and a mode that is not, each have a state of their own", async () => {
  const { report } = await probeAdapter(OpenAiCompatible, { config: { access_modes: [mode] } });
  expect(report).toMatchObject({ availability: "unauthenticated", next_step: "bulkhead secret set KEY" });
  const off = await probeAdapter(OpenAiCompatible, { config: { access_modes: [{ ...mode, enabled: false }] } });
  expect(off.report.availability).toBe("disabled");
});
