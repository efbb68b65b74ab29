import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AttachmentPart } from "../../../../plugin-sdk/messages.ts";
import { adapterCode, openHost, type TestHost } from "../test-host.ts";
import { tinyPng, tinyPngBase64 } from "./tiny-png.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const textOf = (text: string) => ({ type: "text" as const, text });

/** Says for each turn what it got, with the bytes of its attachments. */
const echo = adapterCode(`
    for await (const turn of ctx.turns) {
      const parts = [];
      for (const part of turn.content ?? []) {
        parts.push({ ...part, base64: await ctx.attachments.base64(part.sha256), path: await ctx.attachments.path(part.sha256) });
      }
      yield { type: "output", stream: "stdout", data: JSON.stringify({ prompt: turn.prompt, parts }) };
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);

async function upload({ host }: TestHost, bytes: Uint8Array = tinyPng): Promise<AttachmentPart> {
  const { sha256, mime_type } = await host.attach(bytes);
  return { type: "image", sha256, mime_type };
}

/** Workers start slowly on a busy machine. */
const patient = { timeout: 20_000 };
const code = (error: unknown) => (error as { code?: string }).code;

test("an image and a file of a request reach the adapter, with a copy that programs can read", async () => {
  const made = await openHost();
  await made.add("alpha", { code: echo, manifest: "accepts: [turns, images, files]" });
  const image = await upload(made);
  const { sha256 } = await made.host.attach(bytesOf("notes"));
  const content: AttachmentPart[] = [image, { type: "file", sha256, name: "my notes.md", mime_type: "text/html" }];
  const { result, events } = await made.run("alpha", { prompt: "look", content });
  const { prompt, parts } = JSON.parse(result.output);
  expect(prompt).toBe("look");
  expect(parts[0]).toMatchObject({ type: "image", mime_type: "image/png", base64: tinyPngBase64 });
  expect(parts[0].path).toMatch(/-image\.png$/);
  expect(parts[1]).toMatchObject({ name: "my notes.md", mime_type: "text/plain" });
  expect(Buffer.from(parts[1].base64, "base64").toString()).toBe("notes");
  expect(parts[1].path).toMatch(/-my_notes\.md$/);
  // The copies go with the session, the uploads stay with its events.
  expect(existsSync(parts[0].path)).toBe(false);
  expect(events[0]!.event).toMatchObject({ requested: { content: [image, { mime_type: "text/plain" }] } });
  await made.host.sessions.delete(result.session_id);
  expect(await readdir(join(made.stateDir, "attachments"))).toEqual([]);
});

test("a large file comes whole, over several pieces", async () => {
  const made = await openHost();
  const code = adapterCode(`
    const base64 = await ctx.attachments.base64(request.content[0].sha256);
    yield { type: "output", stream: "stdout", data: base64.length + " " + base64.slice(-8) };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`);
  await made.add("alpha", { code, manifest: "accepts: [files]" });
  const bytes = new Uint8Array(3 * 1024 * 1024 + 1).fill(7);
  const { sha256 } = await made.host.attach(bytes);
  const content: AttachmentPart[] = [{ type: "file", sha256, name: "a.bin", mime_type: "x/y" }];
  const { result } = await made.run("alpha", { content });
  const whole = Buffer.from(bytes).toString("base64");
  expect(result.output).toBe(`${whole.length} ${whole.slice(-8)}`);
});

test("an adapter gets no attachment that its session does not name", async () => {
  const made = await openHost();
  const other = await upload(made);
  const code = adapterCode(`
    for (const way of ["base64", "path"]) {
      for (const id of ["${other.sha256}", "../../x", "${"0".repeat(64)}"]) {
        try {
          await ctx.attachments[way](id);
          yield { type: "output", stream: "stdout", data: "got it " };
        } catch (error) {
          yield { type: "output", stream: "stdout", data: error.code + " " };
        }
      }
    }
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`);
  await made.add("alpha", { code, manifest: "accepts: [images]" });
  const { result } = await made.run("alpha");
  expect(result.output.trim()).toBe("not_found invalid_request not_found not_found invalid_request not_found");
});

test("messages carry attachments: to the next turn, and to the next session", async () => {
  const made = await openHost();
  await made.add("alpha", { code: echo, manifest: "accepts: [turns, images]" });
  const { conversations } = made.host.sessions;
  const session = await made.host.runSession({ workdir: made.workdir, prompt: "one", keep_ms: 60_000 }, {
    adapter: "alpha",
    artifacts: "none",
  });
  const image = await upload(made);
  await expect.poll(async () => (await conversations.get(session.id)).state, patient).toBe("kept");
  await conversations.say(session.id, { content: [textOf("two"), image] });
  await expect.poll(async () => (await conversations.get(session.id)).turns[1]?.outcome, patient).toBe("completed");
  const first = await session.interrupt();
  expect(JSON.parse(first.output)).toMatchObject({ prompt: "two", parts: [{ base64: tinyPngBase64 }] });
  // Only the image: it is a prompt too.
  const said = await conversations.say(session.id, { content: [image] });
  expect(said.session_id).not.toBe(session.id);
  await expect.poll(async () => (await conversations.get(session.id)).turns[2]?.outcome, patient).toBe("completed");
  const next = await (await made.host.sessions.open(said.session_id)).interrupt();
  expect(JSON.parse(next.output).parts).toMatchObject([{ base64: tinyPngBase64 }]);
  expect((await conversations.messages(session.id)).map(({ content }) => content)).toEqual([
    [textOf("two"), image],
    [image],
  ]);
  await made.host.sessions.delete(session.id);
  expect(await readdir(join(made.stateDir, "attachments"))).toEqual([image.sha256]);
  await made.host.sessions.delete(said.session_id);
  expect(await readdir(join(made.stateDir, "attachments"))).toEqual([]);
});

test("an adapter that takes none is refused, passed over, or told where the files are", async () => {
  const made = await openHost();
  await made.add("plain", { code: echo, manifest: "accepts: [turns]" });
  await made.add("seeing", { code: echo, manifest: "accepts: [turns, images]" });
  const image = await upload(made);
  const content = [image];
  const refused = made.run("plain", { content });
  await expect(refused).rejects.toMatchObject({ code: "unenforceable", details: { fields: ["images"] } });
  const chain = await made.host.runSession({ workdir: made.workdir, prompt: "x", content }, {
    adapter: ["plain", "seeing"],
    artifacts: "none",
  });
  expect(JSON.parse((await chain.result()).output).parts).toHaveLength(1);
  const { result } = await made.run("plain", { content, best_effort: true });
  const { prompt, parts } = JSON.parse(result.output);
  expect(parts).toEqual([]);
  expect(prompt).toMatch(/^go\n\nAttached files, to read only:\n- \/.*-image\.png$/);
  expect(result.effective.unenforced).toEqual(["images"]);
});

test("a message with an image to an agent that takes none is refused while it runs", async () => {
  const made = await openHost();
  await made.add("plain", { code: echo, manifest: "accepts: [turns]" });
  const session = await made.host.runSession({ workdir: made.workdir, prompt: "one", keep_ms: 60_000 }, {
    adapter: "plain",
    artifacts: "none",
  });
  const image = await upload(made);
  const said = made.host.sessions.conversations.say(session.id, { content: [image] });
  await expect(said).rejects.toMatchObject({ code: "unenforceable" });
  await session.interrupt();
});

test("a client names its own uploads alone", async () => {
  const made = await openHost();
  await made.add("alpha", { code: echo, manifest: "accepts: [turns, images]" });
  const { sessions } = made.host;
  const pieces = async function* () {
    yield await Promise.resolve(tinyPng);
  };
  const { sha256 } = await sessions.attach(pieces(), { client: "a" });
  const content: AttachmentPart[] = [{ type: "image", sha256, mime_type: "image/gif" }];
  const request = { workdir: made.workdir, prompt: "x", content };
  const start = (client: string, more: object = {}) =>
    sessions.start(request, { adapter: "alpha", artifacts: "none", client, ...more });
  expect(await start("b").catch(code)).toBe("not_found");
  const own = await start("a");
  expect(await start("b", { mayRead: (id: string) => id === own.id }).then(() => "taken")).toBe("taken");
  expect(await sessions.conversations.say(own.id, { content }, { client: "b" }).catch(code)).toBe("not_found");
});
