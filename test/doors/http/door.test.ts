import { describe, expect, test } from "vitest";
import { openDoor } from "./door-fixture.ts";
import type { SessionHost } from "../../../core/sessions/host/session-host.ts";

const request = { workdir: "/project", prompt: "Fix it" };

describe.each(["a token over TCP", "the socket"])("a client with %s", (road) => {
  const client = (door: Awaited<ReturnType<typeof openDoor>>) =>
    road === "the socket" ? door.client() : door.client("read", "run");

  test("starts a session, follows it and has its result", async () => {
    const door = await openDoor();
    const host: SessionHost = await client(door);
    const session = await host.start(request);
    await door.sessions.say(session.id, "one", "two");
    await door.sessions.end(session.id);
    const seen = [];
    for await (const { seq, event } of session.events()) seen.push(`${seq} ${event.type}`);
    expect(seen).toEqual(["1 session_started", "2 output", "3 output", "4 session_ended"]);
    expect(await session.result()).toMatchObject({ outcome: "completed", output: "done" });
    expect(await host.list()).toMatchObject([{ session_id: session.id, state: "ended" }]);
  });
});
