import { describe, expect, test } from "vitest";
import { openDoor } from "./door-fixture.ts";
import { MemoryHost } from "./memory-host.ts";
import type { SessionHost } from "../../../core/sessions/host/session-host.ts";

const request = { workdir: "/project", prompt: "Fix it" };

describe.each(["a token over TCP", "the socket"])("a client with %s", (road) => {
  const client = (door: Awaited<ReturnType<typeof openDoor>>) =>
    road === "the socket" ? door.client() : door.client("read", "run");

  test("starts a session, follows it and has its result", async () => {
    const door = await openDoor();
    const host: Omit<SessionHost, "conversations"> = await client(door);
    const session = await host.start(request);
    await door.sessions.say(session.id, "one", "two");
    await door.sessions.end(session.id);
    const seen = [];
    for await (const { seq, event } of session.events()) seen.push(`${seq} ${event.type}`);
    expect(seen).toEqual(["1 session_started", "2 output", "3 output", "4 session_ended"]);
    expect(await session.result()).toMatchObject({ outcome: "completed", output: "done" });
    expect(await host.list()).toMatchObject([{ session_id: session.id, state: "ended" }]);
    // A list of many sessions needs no output of megabytes.
    const headers = { authorization: `Bearer ${await door.token("read")}` };
    const short = await fetch(`${door.url}/v1/sessions/${session.id}?output=false`, { headers });
    expect(await short.json()).toMatchObject({ result: { outcome: "completed", output: "" } });
  });
});

test("a body with a mistyped field is told which was meant, in sentences that end once", async () => {
  const door = await openDoor();
  const authorization = await door.bearer();
  const response = await fetch(`${door.url}/v1/sessions`, {
    method: "POST",
    headers: { ...Object.fromEntries([authorization.split(": ")]), "content-type": "application/json" },
    body: JSON.stringify({ workdir: "/project", prmpt: "Fix it", env: { KEY: 5 } }),
  });
  const { detail } = await response.json() as { detail: string };
  expect(detail).toContain('prmpt: expected a known key, found "prmpt"; did you mean "prompt"?');
  expect(detail).toContain("env.KEY: expected string, found something else.");
  expect(detail).not.toMatch(/\?\.|\.\./);
});

test("interruptSession logs that a session could not be stopped, unless it has ended", async () => {
  const sessions = new MemoryHost();
  const asked: string[] = [];
  const open = sessions.open.bind(sessions);
  sessions.open = async (id) => ({
    ...await open(id),
    interrupt: async () => {
      asked.push(id);
      if (id === ending.id) await sessions.end(id);
      throw new Error("The journal is closed.");
    },
  });
  const door = await openDoor({ sessions });
  const start = () => sessions.start({ workdir: "/w", prompt: "go" });
  const [ended, ending, running] = [await start(), await start(), await start()];
  await sessions.end(ended.id);
  const interrupt = async ({ id }: { id: string }) =>
    (await door.local(`http://localhost/v1/sessions/${id}/interrupt`, { method: "POST" })).status;
  expect([await interrupt(ended), await interrupt(ending), await interrupt(running)]).toEqual([200, 202, 202]);
  expect(asked).toEqual([ending.id, running.id]);
  await expect.poll(() => door.logs).toMatchObject([{ level: "error", session_id: running.id }]);
});
