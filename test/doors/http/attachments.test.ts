import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sha256Hex } from "../../../core/ground/platform/files/hash.ts";
import type { AttachmentPart } from "../../../plugin-sdk/messages.ts";
import { adapterCode, openHost } from "../../sessions/host/test-host.ts";
import { tinyPng } from "../../sessions/host/attachments/tiny-png.ts";
import { openDoor } from "./door-fixture.ts";

const sha256 = sha256Hex(tinyPng);
const image: AttachmentPart = { type: "image", sha256, mime_type: "image/png" };
const echo = adapterCode(`
    for await (const turn of ctx.turns) {
      yield { type: "output", stream: "stdout", data: String((turn.content ?? []).length) };
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);

async function realDoor() {
  const made = await openHost();
  await made.add("alpha", { code: echo, manifest: "accepts: [turns, images]" });
  return { ...made, ...await openDoor({ sessions: made.host.sessions }) };
}

test("an upload answers with its hash, its size and its true type", async () => {
  const { url, token } = await openDoor();
  const upload = async (scope: "run" | "read", body: Uint8Array<ArrayBuffer> | string, type = "text/html") =>
    await fetch(`${url}/v1/attachments`, {
      method: "POST",
      headers: { authorization: `Bearer ${await token(scope)}`, "content-type": type },
      body,
    });
  const answer = await upload("run", new Uint8Array(tinyPng));
  expect(answer.status).toBe(201);
  expect(await answer.json()).toEqual({ sha256, bytes: tinyPng.length, mime_type: "image/png" });
  expect(await (await upload("run", "<html>", "image/png")).json()).toMatchObject({ mime_type: "text/plain" });
  expect((await upload("read", "x")).status).toBe(403);
  expect((await fetch(`${url}/v1/attachments`, { method: "POST", body: "x" })).status).toBe(401);
});

test("an upload that is too large is refused, with and without its length said, and leaves nothing", async () => {
  const { url, token, stateDir } = await realDoor();
  const headers = { authorization: `Bearer ${await token("run")}` };
  const piece = new Uint8Array(1024 * 1024);
  const post = (body: NonNullable<RequestInit["body"]>) =>
    fetch(`${url}/v1/attachments`, { method: "POST", headers, body, duplex: "half" } as RequestInit)
      .then(({ status }) => status, () => "cut off");
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => sent++ < 64 ? controller.enqueue(piece) : controller.close(),
  });
  expect([413, "cut off"]).toContain(await post(new Uint8Array(21 * 1024 * 1024)));
  expect([413, "cut off"]).toContain(await post(endless));
  await expect.poll(() => readdir(join(stateDir, "attachments")).catch(() => [])).toEqual([]);
});

test("a token names its own uploads, and those of sessions that it may read", async () => {
  const { workdir, client } = await realDoor();
  const [one, other, reader] = [await client("run"), await client("run"), await client("run", "read")];
  expect(await one.attach(tinyPng)).toEqual({ sha256, bytes: tinyPng.length, mime_type: "image/png" });
  const request = { workdir, prompt: "x", content: [image] };
  const foreign = other.start(request, { adapter: "alpha" });
  await expect(foreign).rejects.toMatchObject({ code: "not_found" });
  const session = await one.start(request, { adapter: "alpha" });
  expect((await session.result()).output).toBe("1");
  await expect(other.start(request, { adapter: "alpha" })).rejects.toMatchObject({ code: "not_found" });
  const seen = await reader.start(request, { adapter: "alpha" });
  expect((await seen.result()).output).toBe("1");
  const said = await one.conversations.say(session.id, { content: [image] });
  await expect.poll(async () => (await one.get(said.session_id)).state).toBe("ended");
});
