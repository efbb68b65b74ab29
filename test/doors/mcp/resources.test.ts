import { createHash } from "node:crypto";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Artifact } from "../../../plugin-sdk/result.ts";
import { ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { until } from "../../sessions/host/test-host.ts";
import { connectOverPipes } from "./mcp-client.ts";

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function makeFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-mcp-")));
  folders.push(folder);
  return folder;
}

function artifact(path: string, content: string): Artifact {
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { path, change: "created", kind: "file", sha256, bytes: content.length };
}

test("resources are sessions' events and results, listed and read by address", async () => {
  const host = new ScriptedHost(async (session) => session.emit({ type: "progress", message: "half" }));
  const handle = await host.start({ workdir: "/work", prompt: "Do this" });
  await handle.result();
  await using tester = await connectOverPipes({ sessions: host });
  const { resources } = await tester.client.listResources();
  const base = `bulkhead://sessions/${handle.id}`;
  expect(resources.map(({ uri, title }) => [uri, title])).toEqual([
    [`${base}/events`, "Events: Do this"],
    [`${base}/result`, "Result: Do this"],
  ]);
  const read = async (uri: string) => {
    const { contents } = await tester.client.readResource({ uri });
    return JSON.parse((contents[0] as { text: string }).text) as Record<string, unknown>;
  };
  expect(await read(`${base}/result`)).toMatchObject({ outcome: "completed", provenance: { adapter_id: "alpha" } });
  expect(await read(`${base}/events?after=2`)).toMatchObject({
    events: [{ seq: 3, event: { type: "progress" } }, { seq: 4 }],
    next_after: 4,
    complete: true,
  });
  const { resourceTemplates } = await tester.client.listResourceTemplates();
  expect(resourceTemplates).toHaveLength(3);
  for (
    const uri of ["bulkhead://sessions/none/result", "bulkhead://other", `${base}/artifacts/../x`, "file:///etc/passwd"]
  ) {
    await expect(tester.client.readResource({ uri }), uri).rejects.toMatchObject({ code: -32602 });
  }
});

test("an artifact is given as it was at the session's end, and never through a link", async () => {
  const [workdir, outside] = [await makeFolder(), await makeFolder()];
  await mkdir(join(workdir, "src"));
  const names = ["src/good.txt", "changed.txt", "linked.txt", "via/secret.txt", "bytes.bin"];
  const host = new ScriptedHost(async () => ({ artifacts: names.map((name) => artifact(name, `content of ${name}`)) }));
  for (const name of ["src/good.txt", "bytes.bin"]) await writeFile(join(workdir, name), `content of ${name}`);
  await writeFile(join(workdir, "changed.txt"), "later");
  // The same content, so that only the way to it is wrong.
  await writeFile(join(outside, "target"), "content of linked.txt");
  await writeFile(join(outside, "secret.txt"), "content of via/secret.txt");
  await symlink(join(outside, "target"), join(workdir, "linked.txt"));
  await symlink(outside, join(workdir, "via"));
  await writeFile(join(workdir, "unlisted.txt"), "not the session's");
  const handle = await host.start({ workdir, prompt: "go" });
  await handle.result();
  await using tester = await connectOverPipes({ sessions: host });
  const read = (path: string) =>
    tester.client.readResource({ uri: `bulkhead://sessions/${handle.id}/artifacts/${path}` });
  expect((await read("src/good.txt")).contents).toMatchObject([{ text: "content of src/good.txt" }]);
  for (const path of ["changed.txt", "linked.txt", "via/secret.txt"]) {
    await expect(read(path), path).rejects.toMatchObject({ data: { error_type: "conflict" } });
  }
  await expect(read("unlisted.txt")).rejects.toMatchObject({ data: { error_type: "not_found" } });
});

test("a watched session's news is told, until it is watched no more", async () => {
  const waits: (() => void)[] = [];
  const host = new ScriptedHost(async (session) => {
    for (let step = 0; step < 2; step++) {
      await new Promise<void>((resolve) => waits.push(resolve));
      session.emit({ type: "progress", message: `step ${step}` });
    }
  });
  const handle = await host.start({ workdir: "/work", prompt: "go" });
  await until(() => waits.length === 1);
  const uri = `bulkhead://sessions/${handle.id}/events`;
  await using tester = await connectOverPipes({ sessions: host });
  const told: string[] = [];
  tester.client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
  await tester.client.subscribeResource({ uri });
  waits[0]!();
  await until(() => told.length === 1);
  expect(told).toEqual([uri]);
  await tester.client.unsubscribeResource({ uri });
  waits[1]!();
  await handle.result();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(told).toHaveLength(1);
});

test("prompts lead to the tools, and their arguments complete", async () => {
  const host = new ScriptedHost(async () => {});
  const handle = await host.start({ workdir: "/work", prompt: "go" });
  await using tester = await connectOverPipes({ sessions: host });
  const { prompts } = await tester.client.listPrompts();
  expect(prompts.map(({ name }) => name)).toEqual(["delegate_task", "review_session"]);
  const { messages } = await tester.client.getPrompt({
    name: "delegate_task",
    arguments: { task: "Fix it", workdir: "/w", adapter: "beta" },
  });
  expect((messages[0]!.content as { text: string }).text).toContain(
    'run_session with adapter "beta" with workdir "/w"',
  );
  await expect(tester.client.getPrompt({ name: "delegate_task", arguments: { task: "x" } })).rejects.toMatchObject({
    code: -32602,
  });
  const complete = async (name: string, value: string) =>
    (await tester.client.complete({ ref: { type: "ref/prompt", name: "delegate_task" }, argument: { name, value } }))
      .completion.values;
  expect(await complete("adapter", "")).toEqual(["auto", "alpha", "beta"]);
  expect(await complete("adapter", "b")).toEqual(["beta"]);
  expect(await complete("session_id", "")).toEqual([handle.id]);
  expect(await complete("task", "")).toEqual([]);
});
