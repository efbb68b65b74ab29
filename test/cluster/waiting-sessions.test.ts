import { expect, test } from "vitest";
import { type WaitingSession, WaitingSessions } from "../../core/cluster/machines/waiting-sessions.ts";
import { clientOf } from "../../core/cluster/machines/waiting-sessions.ts";

function waiting(session_id: string, client: string, machine?: string): WaitingSession {
  const place = machine === undefined ? {} : { machine };
  return { session_id, request: { workdir: "/", prompt: "go", place }, options: { client }, agents: [], until: 1e15 };
}

function line(...sessions: WaitingSession[]): WaitingSessions {
  const made = new WaitingSessions();
  for (const session of sessions) made.hear(WaitingSessions.note(session));
  return made;
}

const ids = (sessions: readonly WaitingSession[]) => sessions.map(({ session_id }) => session_id).join(" ");

test("clients take turns, and each client's sessions are served first come, first served", () => {
  const made = line(waiting("a1", "a"), waiting("a2", "a"), waiting("a3", "a"), waiting("b1", "b"), waiting("c1", "c"));
  expect(ids(made.inTurn("one"))).toBe("a1 b1 c1 a2 a3");
});

test("a client that has had a turn stands behind those that have not", () => {
  const made = line(waiting("a1", "a"), waiting("b1", "b"), waiting("c1", "c"), waiting("a2", "a"));
  made.hadTurn(clientOf(waiting("", "a")));
  expect(ids(made.inTurn("one"))).toBe("b1 c1 a1 a2");
  made.hadTurn(clientOf(waiting("", "b")));
  expect(ids(made.inTurn("one"))).toBe("c1 a1 b1 a2");
});

test("a machine sees what any machine may take and what it alone may take", () => {
  const made = line(waiting("x", "a"), waiting("y", "a", "one"), waiting("z", "a", "two"));
  expect(ids(made.inTurn("one"))).toBe("x y");
  expect(ids(made.inTurn("two"))).toBe("x z");
});

test("a note without a text ends the waiting, and one that is no session is passed over", () => {
  const made = line(waiting("x", "a"), waiting("y", "a"));
  made.hear({ ...WaitingSessions.note(waiting("x", "a")), text: "" });
  for (const text of ["{}", "nonsense", JSON.stringify(waiting("other", "a"))]) {
    made.hear({ kind: "_", name: "z", text });
  }
  expect(ids(made.inTurn("one"))).toBe("y");
});

test("a session with attachments is read by this version, and is no session to one that would not find them", () => {
  const content = [{ type: "image" as const, sha256: "0".repeat(64), mime_type: "image/png" }];
  const plain = waiting("x", "a", "one");
  const session = { ...plain, request: { ...plain.request, content } };
  const note = WaitingSessions.note(session);
  expect(line(session).inTurn("one")).toEqual([session]);
  expect(note.kind).toBe("one");
  // Versions before it demand a request.
  expect(JSON.parse(note.text)).not.toHaveProperty("request");
  expect(JSON.parse(WaitingSessions.note(plain).text)).toEqual(plain);
  const wrong = JSON.stringify({ ...session, request: undefined, attached: { ...session.request, content: [{}] } });
  expect(new WaitingSessions().hear({ ...note, text: wrong })).toBe(false);
});

test("one client cannot fill the line", () => {
  const made = line(...Array.from({ length: 9 }, (_, at) => waiting(`a${at}`, "a")));
  const a = clientOf(waiting("", "a"));
  expect(made.hasRoom(a, 10)).toBe(false);
  expect(made.hasRoom(clientOf(waiting("", "b")), 10)).toBe(true);
  made.forget("a0");
  expect(made.hasRoom(a, 10)).toBe(true);
});
