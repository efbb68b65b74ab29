import { afterAll, beforeAll, expect, test } from "vitest";
import { SharedAttachments } from "../../core/cluster/machines/shared-attachments.ts";
import { sha256Hex } from "../../core/ground/platform/files/hash.ts";
import { openTokens } from "../../core/doors/http/tokens.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import type { AttachmentPart } from "../../plugin-sdk/messages.ts";
import { tinyPng, tinyPngBase64 } from "../sessions/host/attachments/tiny-png.ts";
import { type LogMachine, logMachine } from "./log-fixture.ts";
import { allPresent, type Machine, startMachine, until } from "./machine.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";
import { nextOf } from "./resumed-sessions.ts";

let on: NatsServers;
let one: Machine;
let two: Machine;
let old: LogMachine;

beforeAll(async () => {
  on = await startServers();
  const made = await Promise.all(["one", "two"].map((name) => startMachine({ name, servers: on.urls })));
  [one, two] = made as [Machine, Machine];
  await allPresent(made);
  old = await logMachine("old", on);
}, 60_000);

afterAll(async () => {
  for (const machine of [one, two]) await machine?.remove();
  await old?.close();
  await on?.stop();
});

const text = (words: string) => ({ type: "text" as const, text: words });
const placed = (machine: string) => ({ machine, wait_ms: 10_000 });

async function upload({ host }: Pick<Machine, "host">, bytes: Uint8Array = tinyPng): Promise<AttachmentPart> {
  const { sha256, mime_type } = await host.attach(bytes);
  return { type: "image", sha256, mime_type };
}

/** A picture that no other test has. */
const another = (tail: number) => new Uint8Array([...tinyPng, tail]);
const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));

/** Reads a session, which may run on, until an event of it is the one. */
async function untilEvent(machine: Machine, id: string, isIt: (event: Envelope["event"]) => boolean): Promise<void> {
  const signal = AbortSignal.timeout(40_000);
  for await (const { event } of (await machine.host.open(id)).events({ signal })) if (isIt(event)) return;
  throw new Error("The session has no such event.");
}

/** Whether the servers have pictures for another machine. */
async function areShared(pictures: readonly Uint8Array[]): Promise<boolean> {
  const shared = new SharedAttachments(old.engine);
  const found = await Promise.all(pictures.map((bytes) => shared.get(sha256Hex(bytes))));
  return found.every((bytes) => bytes !== null);
}

const says = (words: string) => (event: Envelope["event"]) => event.type === "output" && event.data.includes(words);

test("a session that another machine takes has its images and files there", async () => {
  const large = new Uint8Array(5 * 1024 * 1024).fill(7);
  const { sha256, mime_type } = await one.host.attach(large);
  const content: AttachmentPart[] = [await upload(one), { type: "file", sha256, name: "a.bin", mime_type }];
  const request = { workdir: two.workdir, prompt: "look", content, place: placed("two") };
  const session = await one.host.start(request, { adapter: "looker" });
  expect(await session.result()).toMatchObject({ outcome: "completed" });
  // Its own bytes, as that machine read them.
  await untilEvent(two, session.id, says(`look ["${tinyPngBase64}","${base64(large.subarray(0, 3000))}`));
}, 60_000);

test("a message to a session of another machine carries them, if its sender may name them", async () => {
  const request = { workdir: two.workdir, prompt: "one", keep_ms: 60_000, place: placed("two") };
  const { id } = await one.host.start(request, { adapter: "looker" });
  await until("it is kept", async () => (await one.host.conversations.get(id)).state === "kept");
  const bytes = another(1);
  const said = await one.host.conversations.say(id, { content: [text("two"), await upload(one, bytes)] });
  expect(said.session_id).toBe(id);
  await untilEvent(one, id, says(`two ["${base64(bytes)}"]`));

  const { token } = await openTokens(one.stateDir).create({ name: "other", scopes: ["run"] });
  const foreign = await upload(one, another(2));
  const asked = { workdir: two.workdir, prompt: "look", content: [foreign], place: placed("two") };
  await expect(one.as(token).start(asked, { adapter: "looker" })).rejects.toMatchObject({ code: "not_found" });
  await (await one.host.open(id)).interrupt();
}, 60_000);

test("a machine of an earlier version is not given any", async () => {
  const heartbeat = {
    name: "old",
    run: "r",
    version: "0.0.1",
    runtime: "node",
    started_at: new Date().toISOString(),
    said_at: new Date().toISOString(),
    labels: {},
    agents: [],
    sessions: 0,
    slots: 1,
    seq: 0,
    gseq: 0,
    copies: {},
    leaving: false,
    gone: false,
  };
  const { engine } = old;
  engine.say(engine.names.presence("old"), JSON.stringify(heartbeat));
  await until("it is seen", async () => (await one.host.cluster()).machines.some(({ name }) => name === "old"));
  const request = { workdir: two.workdir, prompt: "look", content: [await upload(one)], place: placed("old") };
  await expect(one.host.start(request, { adapter: "looker" })).rejects.toMatchObject({
    code: "unsupported",
    message: 'Cannot send an image or a file to machine "old": it has version 0.0.1.',
  });
  engine.say(engine.names.presence("old"), JSON.stringify({ ...heartbeat, gone: true }));
}, 60_000);

test("a session that goes on elsewhere has its images, and those of messages that waited", async () => {
  const [first, second] = [another(3), another(4)];
  const request = {
    workdir: two.workdir,
    prompt: "wait",
    content: [await upload(two, first)],
    resume: "after_restart" as const,
    keep_ms: 60_000,
  };
  const { id } = await two.host.start(request, { adapter: "looker" });
  await two.host.conversations.say(id, { content: [text("then"), await upload(two, second)] });
  await untilEvent(one, id, ({ type }) => type === "message_accepted");
  await until("the servers have both", () => areShared([first, second]));
  await two.signal("SIGKILL");
  await untilEvent(one, id, ({ type }) => type === "session_ended");
  const next = await nextOf(id, one);
  expect(next).not.toBeNull();
  await untilEvent(one, next!, says(`["${base64(first)}"]`));
  await one.host.conversations.stop(next!);
  await untilEvent(one, next!, says(`then ["${base64(second)}"]`));
  await (await one.host.open(next!)).interrupt();
}, 120_000);
