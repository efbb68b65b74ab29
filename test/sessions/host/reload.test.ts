import { readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseHostManifest } from "bulkhead";
import { expect, test } from "vitest";
import { adapterCode, completed, errorOf, openHost, ownChildren, until, writePlugin } from "./test-host.ts";

const answers = (text: string) =>
  adapterCode(`    yield { type: "output", stream: "stdout", data: ${JSON.stringify(text)} };
    yield ${completed};`);
const waits = adapterCode(`    yield { type: "progress", message: "running" };
    await ctx.sleep(300);
    yield { type: "output", stream: "stdout", data: "still the old one" };
    yield ${completed};`);
const readsNote = adapterCode(`    const note = await ctx.fs.readText("note.txt");
    yield { type: "output", stream: "stdout", data: note };
    yield ${completed};`);

async function parsed(root: string, plugins: string, more = "") {
  const text = `bulkhead: 1\n${more}plugins:\n${plugins}`;
  return await parseHostManifest(text, { file: join(root, "bulkhead.yaml") });
}

async function openWith(plugins: string, packages: Record<string, { code: string; manifest?: string }>) {
  const opened = await openHost();
  for (const [id, plugin] of Object.entries(packages)) {
    await writePlugin(join(opened.root, "plugins", id), id, plugin);
  }
  const manifest = await parsed(opened.root, plugins);
  return { ...opened, manifest };
}

test("reload takes plugins in and out, and leaves those alone that did not change", async () => {
  const { host, root, manifest, run } = await openWith("  alpha: {}\n", {
    alpha: { code: answers("alpha") },
    beta: { code: answers("beta") },
  });
  expect(await host.reload(manifest)).toEqual({ added: ["alpha"], removed: [], changed: [], unavailable: [] });
  const before = host.registry.get("alpha");
  expect((await run("alpha")).result.output).toBe("alpha");
  expect(await host.reload(await parsed(root, "  alpha: {}\n  beta: {}\n"))).toEqual({
    added: ["beta"],
    removed: [],
    changed: [],
    unavailable: [],
  });
  expect(host.registry.get("alpha")).toBe(before);
  expect((await run("beta")).result.output).toBe("beta");
  expect(await host.reload(await parsed(root, "  beta: {}\n"))).toEqual({
    added: [],
    removed: ["alpha"],
    changed: [],
    unavailable: [],
  });
  expect(await errorOf(run("alpha"))).toMatchObject({ code: "unknown_adapter" });
  expect((await run("beta")).result.output).toBe("beta");
});

test("reload grants anew for the sessions to come", async () => {
  const { host, root, manifest, run, workdir } = await openWith("  reader: {}\n", {
    reader: { code: readsNote, manifest: "permissions: { read: [workdir] }" },
  });
  await writeFile(join(workdir, "note.txt"), "granted");
  await host.reload(manifest);
  expect((await run("reader")).result.error).toMatchObject({ code: "permission_denied" });
  const granted = await parsed(root, "  reader: { grant: { read: [workdir] } }\n");
  expect(await host.reload(granted)).toEqual({ added: [], removed: [], changed: ["reader"], unavailable: [] });
  expect((await run("reader")).result.output).toBe("granted");
  await host.reload(manifest);
  expect((await run("reader")).result.error).toMatchObject({ code: "permission_denied" });
});

test("reload takes out what the host manifest blocks by then, and says so", async () => {
  const { host, root, manifest, run } = await openWith("  alpha: {}\n", { alpha: { code: answers("alpha") } });
  await host.reload(manifest);
  const late = join(root, "late");
  await writePlugin(late, "late", { code: answers("late") });
  await host.registry.register(late);
  expect((await run("late")).result.output).toBe("late");
  const blocking = await parsed(root, "  alpha: {}\nblocked: [{ plugin: alpha }, { plugin: late, versions: '*' }]\n");
  expect(await host.reload(blocking)).toEqual({ added: [], removed: ["alpha", "late"], changed: [], unavailable: [] });
  expect(await errorOf(run("alpha"))).toMatchObject({
    code: "blocked_plugin",
    message: expect.stringContaining('bulkhead.yaml:4 blocks every version of plugin "alpha".'),
  });
  expect(await errorOf(host.registry.register(late))).toMatchObject({ code: "blocked_plugin" });
});

test("reload leaves a running session of a plugin that it takes out to its end, and then ends its workers", async () => {
  const { host, root, manifest, workdir } = await openWith("  slow: {}\n", { slow: { code: waits } });
  await host.reload(manifest);
  const session = await host.runSession({ workdir, prompt: "go", retry: "never" }, {
    adapter: "slow",
    artifacts: "none",
  });
  let reloaded = false;
  for await (const { event } of session.events()) {
    if (event.type !== "progress" || reloaded) continue;
    reloaded = true;
    expect(await host.reload(await parsed(root, ""))).toMatchObject({ removed: ["slow"] });
    expect(await errorOf(host.runSession({ workdir, prompt: "go" }, { adapter: "slow" }))).toMatchObject({
      code: "unknown_adapter",
    });
  }
  expect(reloaded).toBe(true);
  expect(await session.result()).toMatchObject({ outcome: "completed", output: "still the old one" });
  await until(async () => !(await ownChildren()).some(({ command }) => command.includes("warden")));
});

test("reload takes over the code that an author has changed since it was loaded", async () => {
  const { host, root, manifest, run } = await openWith("  alpha: {}\n  beta: {}\n", {
    alpha: { code: answers("old") },
    beta: { code: answers("beta") },
  });
  await host.reload(manifest);
  expect((await run("alpha")).result.output).toBe("old");
  expect((await run("beta")).result.output).toBe("beta");
  expect(await host.reload(manifest)).toEqual({ added: [], removed: [], changed: [], unavailable: [] });
  await writePlugin(join(root, "plugins", "alpha"), "alpha", { code: answers("new") });
  expect((await run("alpha")).result.output).toBe("old");
  expect(await host.edited()).toEqual(["alpha"]);
  expect(await host.reload(manifest)).toEqual({ added: [], removed: [], changed: ["alpha"], unavailable: [] });
  expect((await run("alpha")).result.output).toBe("new");
  expect(await host.edited()).toEqual([]);
  await writePlugin(join(root, "plugins", "alpha"), "alpha", { code: "export default {" });
  expect(await host.reload(manifest)).toMatchObject({ changed: ["alpha"] });
  expect((await run("alpha")).result.error).toMatchObject({ code: "bundle_failed" });
});

test("edited names a plugin whose manifest or modules look different, and not for other files or after a reload", async () => {
  const { host, root, manifest, run } = await openWith("  alpha: {}\n", { alpha: { code: answers("old") } });
  await host.reload(manifest);
  const folder = join(root, "plugins", "alpha");
  const later = (seconds: number) => new Date(Date.now() + seconds * 1000);
  // Nothing is loaded yet, so a change cannot be missed.
  await utimes(join(folder, "plugin.yaml"), later(1), later(1));
  expect(await host.edited()).toEqual([]);
  await run("alpha");
  await writeFile(join(folder, "README.md"), "More.\n");
  expect(await host.edited()).toEqual([]);
  await utimes(join(folder, "plugin.yaml"), later(2), later(2));
  expect(await host.edited()).toEqual(["alpha"]);
  expect(await host.reload(manifest)).toMatchObject({ changed: [] });
  expect(await host.edited()).toEqual([]);
});

test("the host's log tells of sessions, and of a plugin that comes into quarantine", async () => {
  const opened = await openWith("  alpha: {}\n  dies: {}\n", {
    alpha: { code: answers("alpha") },
    dies: { code: adapterCode(`    await ctx.sleep(1); for (;;);\n    yield ${completed};`) },
  });
  const limits = "limits: { quarantine_crashes: 1, heartbeat_interval_ms: 100, heartbeat_timeout_ms: 300 }\n";
  await opened.host.reload(await parsed(opened.root, "  alpha: {}\n  dies: {}\n", limits));
  await opened.run("alpha");
  await opened.run("dies");
  const told = opened.logs.map(({ level, message }) => `${level} ${message}`);
  expect(told.slice(0, 3)).toEqual([
    "info A session of alpha started.",
    "info A session of alpha ended: completed (end_turn).",
    "info A session of dies started.",
  ]);
  expect(told).toContainEqual(expect.stringMatching(/^warn A worker of dies ended early \(killed\): /));
  expect(told).toContainEqual(expect.stringMatching(/^warn Plugin "dies" is in quarantine after a crash\./));
  expect(told).toContainEqual(expect.stringMatching(/^warn A session of dies ended: error /));
});

test("a reload takes out a plugin that is broken by then, and the others go on; one that is mended comes back", async () => {
  const { host, root, manifest, run } = await openWith("  alpha: {}\n  beta: {}\n  nowhere: {}\n", {
    alpha: { code: answers("alpha") },
    beta: { code: answers("beta") },
  });
  expect(await host.reload(manifest)).toMatchObject({ added: ["alpha", "beta"], unavailable: ["nowhere"] });
  const file = join(root, "plugins", "beta", "plugin.yaml");
  const whole = await readFile(file, "utf8");
  await writeFile(file, whole.slice(0, whole.length / 2));
  expect(await host.reload(manifest)).toEqual({
    added: [],
    removed: ["beta"],
    changed: [],
    unavailable: ["beta", "nowhere"],
  });
  expect((await run("alpha")).result.output).toBe("alpha");
  expect(await errorOf(run("beta"))).toMatchObject({
    code: "invalid_manifest",
    message: expect.stringMatching(/^Cannot use plugin "beta": beta\/plugin\.yaml:\d+:\d+/),
    hint: expect.stringContaining(`${join(root, "bulkhead.yaml")}:4`),
  });
  expect((await host.agents()).map(({ id, availability }) => [id, availability])).toEqual([
    ["alpha", "available"],
    ["beta", "unavailable"],
    ["nowhere", "unavailable"],
  ]);
  await writeFile(file, whole);
  expect(await host.reload(manifest)).toMatchObject({ added: ["beta"], unavailable: ["nowhere"] });
  expect((await run("beta")).result.output).toBe("beta");
});

test("a plugin that cannot be used is passed over in a chain, with its reason, and stops no other one's sessions", async () => {
  const { host, root, manifest, run } = await openWith("  alpha: {}\n  beta: {}\n", {
    alpha: { code: answers("alpha") },
    beta: { code: answers("beta") },
  });
  await host.reload(manifest);
  await rm(join(root, "plugins", "beta"), { recursive: true });
  // The folder is gone while the host runs, and then at a reload.
  expect((await run("alpha")).result.output).toBe("alpha");
  expect(await host.edited()).toEqual([]);
  await host.reload(manifest);
  expect(await host.route({ adapter: ["beta", "alpha"] })).toMatchObject({
    candidates: [{ adapter_id: "alpha" }],
    passed_over: [{ adapter_id: "beta", code: "unavailable", reason: expect.stringContaining("plugins.beta") }],
  });
  expect(await host.route()).toMatchObject({
    candidates: [{ adapter_id: "alpha" }],
    passed_over: [{ adapter_id: "beta" }],
  });
});

test("reload keeps what was registered at run time, and takes routing and approval from the new manifest", async () => {
  const { host, root, manifest, run, add } = await openWith("  alpha: {}\n", { alpha: { code: answers("alpha") } });
  await add("extra", { code: answers("extra") });
  await host.reload(manifest);
  expect((await run("extra")).result.output).toBe("extra");
  await host.reload(await parsed(root, "  alpha: {}\n", "routing: { agent: [extra, alpha] }\n"));
  expect((await host.route()).candidates.map(({ adapter_id }) => adapter_id)).toEqual(["extra", "alpha"]);
});

test("reload takes MCP servers in and out", async () => {
  const taking = { code: answers("took it"), manifest: "accepts: [mcp_servers]" };
  const { host, root, manifest, run } = await openWith("  alpha: {}\n", { alpha: taking });
  await host.reload(manifest);
  const request = { mcp_servers: ["files"] };
  expect(await errorOf(run("alpha", request))).toMatchObject({ code: "invalid_request" });
  await host.reload(await parsed(root, "  alpha: {}\n", "mcp_servers: { files: { command: files } }\n"));
  expect((await run("alpha", request)).result.output).toBe("took it");
  await host.reload(manifest);
  expect(await errorOf(run("alpha", request))).toMatchObject({ code: "invalid_request" });
});

test("of two reloads at once the later one holds, however long each takes to read", async () => {
  const { host, root } = await openHost();
  const ids = Array.from({ length: 20 }, (_, at) => `p${at}`);
  for (const id of ids) await writePlugin(join(root, "elsewhere", id), id, { code: "" });
  const many = await parsed(root, ids.map((id) => `  ${id}: { source: elsewhere/${id} }\n`).join(""));
  const none = await parseHostManifest("bulkhead: 1\n", { file: join(root, "bulkhead.yaml") });
  const broken = await parsed(root, "  nowhere: {}\n");
  const [, second] = await Promise.all([host.reload(many), host.reload(broken), host.reload(none)]);
  expect(second).toMatchObject({ removed: ids.toSorted(), unavailable: ["nowhere"] });
  expect(host.registry.problems()).toEqual([]);
  expect(host.registry.list().filter(({ enabled }) => enabled)).toEqual([]);
});
