import { expect, test } from "vitest";
import { textOf } from "../../../plugin-sdk/conversation.ts";
import { connectHost } from "../../../core/doors/client/mod.ts";
import { openDoor } from "./door-fixture.ts";

const request = { workdir: "/", prompt: "Fix it" };
const words = (text: string) => ({ content: [{ type: "text" as const, text }] });

test("a client gives, changes, takes back and lists messages, and stops a turn", async () => {
  const door = await openDoor();
  const host = await door.client("run");
  const { id } = await host.start(request);
  const talk = host.conversations;
  const one = await talk.say(id, { ...words("one"), message_id: "m-1", delivery: "steer", expected_turn: 1 });
  expect(one).toEqual({ message_id: "m-1", session_id: id, state: "pending" });
  expect(await talk.say(id, { ...words("one"), message_id: "m-1" })).toEqual(one);
  await talk.say(id, { ...words("two"), message_id: "m/2" });
  expect(textOf((await talk.edit(id, "m/2", words("three").content)).content)).toBe("three");
  expect(await talk.withdraw(id, "m-1")).toMatchObject({ state: "dropped", reason: "withdrawn" });
  await expect(talk.edit(id, "m-1", words("late").content)).rejects
    .toMatchObject({ code: "conflict", details: { state: "dropped" } });
  expect((await talk.messages(id)).map(({ message_id }) => message_id)).toEqual(["m-1", "m/2"]);
  expect((await talk.messages(id, { state: "pending" })).map(({ message_id }) => message_id)).toEqual(["m/2"]);
  expect(await talk.get(id)).toMatchObject({ conversation_id: id, state: "working", pending: [{ message_id: "m/2" }] });
  await talk.stop(id, { drop_pending: true });
  expect(door.sessions.conversations.stops).toEqual([{ id, drop_pending: true }]);
});

test("sayMessage takes text or content, and its id from the header", async () => {
  const door = await openDoor();
  const { id } = await door.sessions.start(request);
  const say = async (body: object, key?: string) =>
    await door.local(`http://localhost/v1/conversations/${id}/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(key === undefined ? {} : { "idempotency-key": key }) },
      body: JSON.stringify(body),
    });
  const first = await say({ text: "one" }, "key-1");
  expect([first.status, await first.json()]).toEqual([202, { message_id: "key-1", session_id: id, state: "pending" }]);
  expect((await say({ text: "one", ...words("one") })).status).toBe(400);
  expect((await say({ delivery: "queue" })).status).toBe(400);
  expect((await say({ text: "one", delivery: "later" })).status).toBe(400);
  expect((await say({ text: "one", message_id: "other" }, "key-1")).status).toBe(400);
});

test("a client follows a conversation over its sessions, and resumes by gseq", async () => {
  const door = await openDoor();
  const host = await door.client("run");
  const { id } = await host.start(request);
  await door.sessions.end(id);
  const said = await host.conversations.say(id, words("more"));
  expect(said).toMatchObject({ state: "delivered", turn: 2 });
  await door.sessions.end(said.session_id);
  const seen = [];
  for await (const { gseq, session_id, event } of host.conversations.events(id)) {
    seen.push({ gseq, what: `${session_id === id ? 1 : 2} ${event.type}` });
  }
  expect(seen.map(({ what }) => what))
    .toEqual(["1 session_started", "1 session_ended", "2 session_started", "2 session_ended"]);
  const later = [];
  for await (const { event } of host.conversations.events(said.session_id, { after: seen[2]!.gseq })) {
    later.push(event.type);
  }
  expect(later).toEqual(["session_ended"]);
  const response = await door.local(`http://localhost/v1/conversations/${id}/events`, {
    headers: { "last-event-id": String(seen[2]!.gseq) },
  });
  expect(await response.text()).toContain(`id: ${seen[3]!.gseq}\n`);
});

test("the owner of a conversation owns the sessions that it has not begun by itself", async () => {
  const door = await openDoor();
  const [host, admin] = [await door.client("run"), await door.client("admin")];
  const { id } = await host.start(request);
  await door.sessions.end(id);
  const byAdmin = await admin.conversations.say(id, words("more"));
  expect((await host.get(byAdmin.session_id)).state).toBe("running");
  const byHost = await door.sessions.conversations.follow(id);
  await expect(host.get(byHost.id)).rejects.toMatchObject({ code: "not_found" });
  await host.conversations.get(id);
  expect((await host.get(byHost.id)).state).toBe("running");
});

test("a conversation that no token began belongs to none that looks at it", async () => {
  const door = await openDoor();
  const looking = await door.client("read", "run");
  const { id } = await door.sessions.start(request);
  await looking.conversations.get(id);
  await door.sessions.end(id);
  for await (const _ of looking.conversations.events(id)) { /* It only looks. */ }
  await expect(looking.conversations.say(id, words("more"))).rejects.toMatchObject({ code: "forbidden" });
  await expect(looking.delete(id)).rejects.toMatchObject({ code: "forbidden" });
});

test("a message passes the folders of the token that gives it, also to an agent that runs", async () => {
  const door = await openDoor();
  const { token } = await door.tokens.create({ name: "here", scopes: ["run"], workdirs: [door.folder] });
  const host = connectHost({ url: door.url, token });
  const { id } = await host.start({ ...request, workdir: door.folder });
  expect(await host.conversations.say(id, words("more"))).toMatchObject({ state: "pending" });
  door.sessions.move(id, "/");
  await expect(host.conversations.say(id, words("more"))).rejects.toMatchObject({ code: "forbidden" });
  await door.sessions.end(id);
  await expect(host.conversations.say(id, words("more"))).rejects.toMatchObject({ code: "forbidden" });
});
