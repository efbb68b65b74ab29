import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseHostManifest } from "bulkhead";
import { expect, test } from "vitest";
import { adapterCode, completed, errorOf, openHost, type TestHost, writePlugin } from "./test-host.ts";

/** Tells what it is configured with and keeps a value; crashes or fails when it is asked to. */
const code = `let word;\n${
  adapterCode(
    `    if (request.prompt === "crash") {
      void Promise.reject(new Error("No luck"));
      await ctx.sleep(1e8);
    }
    if (request.prompt === "fail") throw new Error("It failed.");
    const before = (await ctx.kv.get("said")) ?? null;
    await ctx.kv.set("said", word);
    const note = await ctx.fs.readText("note.txt").catch(({ code }) => code);
    yield { type: "output", stream: "stdout", data: JSON.stringify({ word, before, note }) };
    yield ${completed};`,
    "initialize({ custom }) { word = custom.word; },",
  )
}`;
const manifest = `permissions: { read: [workdir], kv: true }
config: { type: object, properties: { word: { type: string } }, required: [word] }`;

async function openWith(plugins: string): Promise<TestHost> {
  const opened = await openHost();
  await writePlugin(join(opened.root, "plugins", "stub"), "stub", { code, manifest });
  await writeFile(join(opened.workdir, "note.txt"), "granted");
  await opened.host.reload(await parsed(opened, plugins));
  return opened;
}

function parsed({ root }: TestHost, plugins: string) {
  return parseHostManifest(`bulkhead: 1\nplugins:\n${plugins}`, { file: join(root, "bulkhead.yaml") });
}

const two = `  one: { source: stub, config: { word: first }, grant: { read: [workdir], kv: true } }
  two: { source: stub, config: { word: second }, grant: { kv: true }, limits: { quarantine_crashes: 2, restart_backoff_ms: 1 } }
`;

async function said(opened: TestHost, id: string): Promise<unknown> {
  const { result } = await opened.run(id);
  return result.error ?? JSON.parse(result.output ?? "");
}

test("instances of one plugin run side by side, each with its options, its grants and its store", async () => {
  const opened = await openWith(two);
  // A test's host may begin with scripts of the hosts before it.
  const scripts = join(opened.stateDir, "scripts");
  const lent: string[] = await readdir(scripts).catch(() => []);
  expect(await Promise.all([said(opened, "one"), said(opened, "two")])).toEqual([
    { word: "first", before: null, note: "granted" },
    { word: "second", before: null, note: "permission_denied" },
  ]);
  expect(await said(opened, "one")).toMatchObject({ before: "first" });
  expect(await errorOf(opened.run("stub"))).toMatchObject({ code: "unknown_adapter" });
  const { events } = await opened.run("two");
  expect(new Set(events.map(({ adapter }) => adapter.id))).toEqual(new Set(["two"]));
  expect(JSON.stringify(events)).toContain("bulkhead plugin grant two read:workdir");
  const agents = await opened.host.agents();
  expect(agents.filter(({ id }) => id !== "stub").map(({ id, availability }) => [id, availability])).toEqual([
    ["one", "available"],
    ["two", "available"],
  ]);
  const made = (await readdir(scripts)).filter((name) => !lent.includes(name));
  expect(made.length).toBeLessThanOrEqual(1);
});

test("an instance that crashes too often is stopped alone, and its errors name the author's file", async () => {
  const opened = await openWith(two);
  for (let count = 0; count < 2; count++) await opened.run("two", { prompt: "crash" });
  expect((await opened.run("two")).result.error).toMatchObject({
    code: "quarantined",
    hint: "bulkhead plugin release two",
  });
  expect((await opened.host.quarantined()).map(({ plugin_id }) => plugin_id)).toEqual(["two"]);
  expect(await said(opened, "one")).toMatchObject({ word: "first" });
  const failed = await opened.run("one", { prompt: "fail" });
  expect(JSON.stringify(failed.result.error)).toMatch(/mod\.js:\d+:\d+/);
  expect(await opened.host.release("two")).toBe(true);
  expect(await said(opened, "two")).toMatchObject({ word: "second" });
});

test("a reload takes instances in and out, and leaves the others alone", async () => {
  const opened = await openWith(two);
  const more = `${two}  three: { source: stub, config: { word: third } }\n`;
  expect(await opened.host.reload(await parsed(opened, more))).toEqual({
    added: ["three"],
    removed: [],
    changed: [],
    unavailable: [],
  });
  expect(await said(opened, "one")).toMatchObject({ word: "first" });
  const fewer = "  two: { source: stub, config: { word: other }, grant: { kv: true } }\n";
  expect(await opened.host.reload(await parsed(opened, fewer))).toEqual({
    added: [],
    removed: ["one", "three"],
    changed: ["two"],
    unavailable: [],
  });
  expect(await said(opened, "two")).toMatchObject({ word: "other" });
  expect(await errorOf(opened.run("one"))).toMatchObject({ code: "unknown_adapter" });
});
