import { expect, test } from "vitest";
import { loadHostManifest } from "bulkhead";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { adapterCode, completed, openHost } from "./test-host.ts";

const saysModel = (members: string) =>
  adapterCode(
    `    yield { type: "output", stream: "stdout", data: String(request.model) };\n    yield ${completed};`,
    members,
  ).replace("{ defineAdapter }", "{ defineAdapter, InvalidModelError }");

test("validateModel(): its answer is what the adapter gets and what is recorded", async () => {
  const { add, run } = await openHost();
  await add("alpha", {
    code: saysModel(`validateModel(model) {
      if (model !== "good") throw new InvalidModelError(model, ["good"]);
      return "vendor-good";
    },`),
    manifest: "accepts: [model]",
  });
  const { result } = await run("alpha", { model: "good" });
  expect(result).toMatchObject({
    outcome: "completed",
    output: "vendor-good",
    usage: { model: "vendor-good" },
    effective: { model: "vendor-good" },
    provenance: { model: "vendor-good" },
    requested: { model: "good" },
  });
  expect((await run("alpha", { model: "bad" })).result).toMatchObject({ error: { code: "invalid_model" }, output: "" });
  expect((await run("alpha")).result).toMatchObject({ output: "undefined", usage: { model: null } });
});

test("validateModel(): an answer that is no name ends the session with a sentence", async () => {
  const { add, run } = await openHost();
  await add("alpha", { code: saysModel(`validateModel() {},`), manifest: "accepts: [model]" });
  const { result } = await run("alpha", { model: "m" });
  expect(result.error?.message).toContain('validateModel("m") must return the name of a model.');
});

test("a tool's model that the host chose is recorded", async () => {
  const made = await openHost();
  const folder = join(made.root, "mm");
  await mkdir(folder);
  await writeFile(
    join(folder, "plugin.yaml"),
    `manifest: 1
id: mm
name: MM
version: 1.0.0
description: Made by a test.
license: MIT
host: ^1.0.0
adapter_type: cli
cli: { binary: echo, command_template: "{binary} -m {model}", models: { fast: vendor-fast } }
capabilities: {}
`,
  );
  const run = [{ binary: "echo", args: ["-m {*}"], contain: "off" as const }];
  await made.host.registry.register(folder, { grant: { run } });
  for (const request of [{}, { model: "fast" }]) {
    const { result } = await made.run("mm", request);
    expect(result).toMatchObject({
      output: "-m vendor-fast\n",
      usage: { model: "vendor-fast" },
      effective: { model: "vendor-fast" },
      provenance: { model: "vendor-fast" },
    });
  }
});

test("a tool whose program is not there is missing, before anything of it runs", async () => {
  const { root } = await openHost();
  await writeFile(
    join(root, "bulkhead.yaml"),
    `bulkhead: 1
tools:
  nob: { binary: nonexistent-bin, command_template: "{binary}" }
  ok: { binary: echo, command_template: "{binary} hi" }
`,
  );
  const { host, add } = await openHost({ manifest: (await loadHostManifest({ from: root }))! });
  const grant = { run: [{ binary: "nonexistent-bin" }, { binary: "echo" }] };
  await add("code", {
    code: adapterCode(
      "",
      `async isAvailable(ctx) {
      const found = [await ctx.which("nonexistent-bin"), await ctx.which("echo")];
      const denied = await ctx.which("sh").catch((error) => error.code);
      return { availability: "available", reason: JSON.stringify([...found, denied]) };
    },`,
    ),
    manifest: "permissions:\n  run:\n    - binary: nonexistent-bin\n    - binary: echo",
  }, { grant });
  const agents = await host.agents();
  const of = (name: string) => agents.find(({ id }) => id === name)!;
  expect(of("nob")).toMatchObject({
    availability: "missing",
    primary: false,
    health: { status: "unhealthy", details: { binary_found: false, authenticated: false } },
  });
  expect(of("nob").reason).toContain('"nonexistent-bin"');
  expect(of("ok")).toMatchObject({ availability: "available", primary: true });
  expect(of("code").reason).toMatch(/^\[null,"\/.*\/echo","permission_denied"\]$/);
});

test("getCapabilities(): it narrows what the manifest states, for people and for routing, and widens nothing", async () => {
  const { add, host, workdir } = await openHost();
  const said = `{ testing: false, web_search: true, max_context_tokens: 1000, custom: { maps: false, music: true } }`;
  await add("alpha", {
    code: adapterCode(`    yield ${completed};`, `getCapabilities: () => (${said}),`),
    manifest: "capabilities: { testing: true, debugging: true, max_context_tokens: 8000, custom: { maps: true } }",
  });
  const [report] = await host.agents();
  expect(report?.capabilities).toEqual({
    testing: false,
    debugging: true,
    max_context_tokens: 1000,
    custom: { maps: false },
  });
  const ask = { workdir, prompt: "p" };
  await expect(host.runSession(ask, { require: { testing: true } })).rejects.toMatchObject({ code: "unavailable" });
  await expect(host.runSession(ask, { require: { web_search: true } })).rejects.toMatchObject({ code: "unavailable" });
  await (await host.runSession(ask, { require: { debugging: true } })).result();
});
