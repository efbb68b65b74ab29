import process from "node:process";
import { describe, expect, test } from "vitest";
import { Mailbox } from "../../../core/sessions/session/mailbox.ts";
import type { Part } from "../../../plugin-sdk/messages.ts";
import { type AgentKind, agentKinds, runSchedule } from "./mailbox-model.ts";

/** Schedules for each kind of agent, half of them without crashes and kills, and the seed of the first. */
const schedules = Number(process.env["BULKHEAD_MAILBOX_SCHEDULES"] ?? 300);
const firstSeed = Number(process.env["BULKHEAD_MAILBOX_SEED"] ?? 1);

type Verb<V extends keyof Mailbox> = Mailbox[V] extends (...given: infer G) => infer R ? { given: G; gives: R } : never;

/** The first schedule that has such a fault. */
function firstFault(
  kind: AgentKind,
  { most, make, like = /./ }: { most: number; make?: () => Mailbox; like?: RegExp },
): string | null {
  for (let seed = firstSeed; seed < firstSeed + most; seed++) {
    const { faults } = runSchedule({ seed, kind, calm: seed % 2 === 0, make });
    if (faults.some((fault) => like.test(fault))) return `seed ${seed}: ${faults.join("; ")}`;
  }
  return null;
}

describe("Mailbox, whatever clients, adapters, crashes and kills do, and in any order", () => {
  test.each(agentKinds)("gives each message one outcome, shows none twice and keeps the order (%s)", (kind) => {
    expect(firstFault(kind, { most: schedules })).toBeNull();
  }, 600_000);

  test.each<[string, AgentKind, () => Mailbox, RegExp]>([
    [
      "a steer is handed over before message_sent is written",
      "injects",
      () => new SendsFirst(),
      /seen 2 times/,
    ],
    ["a sent steer waits again after its turn", "injects", () => new PutsBack(), /seen 2 times/],
    ["it closes after the decision to end", "queues", () => new ClosesLate(), /not in the log/],
    [
      "a late word on a returned steer counts",
      "cannot_steer",
      () => new HearsLate(),
      /after injected/,
    ],
    ["a turn that the agent begins makes its other steers unsure", "queues", () => new Forgets(), /without a crash/],
    ["the queue comes before steers", "injects", () => new QueuesFirst(), /is next/],
  ])("finds the mutant: %s", (_, kind, make, like) => {
    expect(firstFault(kind, { most: 3000, make, like })).toMatch(like);
  });
});

class SendsFirst extends Mailbox {
  #late: Verb<"heard">["gives"] = [];
  override pullSteer(): Verb<"pullSteer">["gives"] {
    const pulled = super.pullSteer();
    this.#late.push(...pulled?.events ?? []);
    return pulled && { ...pulled, events: [] };
  }
  override heard(...given: Verb<"heard">["given"]): Verb<"heard">["gives"] {
    return [...this.#late.splice(0), ...super.heard(...given)];
  }
  override endAttempt(): Verb<"endAttempt">["gives"] {
    return [...this.#late.splice(0), ...super.endAttempt()];
  }
  override turnBegan(...given: Verb<"turnBegan">["given"]): Verb<"turnBegan">["gives"] {
    return [...this.#late.splice(0), ...super.turnBegan(...given)];
  }
}

class PutsBack extends Mailbox {
  readonly #sent: string[] = [];
  override pullSteer(): Verb<"pullSteer">["gives"] {
    const pulled = super.pullSteer();
    if (pulled !== null) this.#sent.push(pulled.message.message_id);
    return pulled;
  }
  override endAttempt(): Verb<"endAttempt">["gives"] {
    for (const message_id of this.#sent.splice(0)) super.heard({ message_id, state: "returned" });
    return super.endAttempt();
  }
}

class ClosesLate extends Mailbox {
  #isDecided = false;
  override close(...given: Verb<"close">["given"]): Verb<"close">["gives"] {
    if (given.length > 0 || this.next !== null) return super.close(...given);
    this.#isDecided = true;
    return super.endTurn();
  }
  override accept(...given: Verb<"accept">["given"]): Verb<"accept">["gives"] {
    const accepted = super.accept(...given);
    if (this.#isDecided) super.close();
    return accepted;
  }
}

class HearsLate extends Mailbox {
  readonly #returned = new Set<string>();
  override heard(...given: Verb<"heard">["given"]): Verb<"heard">["gives"] {
    const [{ message_id, state }] = given;
    if (state === "taken" && this.#returned.has(message_id)) {
      return [{ type: "message_delivered", message_id, turn: 1, how: "injected" }];
    }
    if (state === "returned") this.#returned.add(message_id);
    return super.heard(...given);
  }
}

class Forgets extends Mailbox {
  override turnBegan(...given: Verb<"turnBegan">["given"]): Verb<"turnBegan">["gives"] {
    return [...super.turnBegan(...given), ...super.endAttempt()];
  }
}

class QueuesFirst extends Mailbox {
  override get next(): Mailbox["next"] {
    return this.pending.find(({ delivery }) => delivery === "queue") ?? super.next;
  }
}

const by = { client: "c" };
const text = (words: string): Part[] => [{ type: "text", text: words }];
const message = (message_id: string, more: Partial<Parameters<Mailbox["accept"]>[0]> = {}) => ({
  message_id,
  delivery: "queue" as const,
  content: text(message_id),
  by,
  ...more,
});
const ids = (mailbox: Mailbox) => mailbox.pending.map(({ message_id }) => message_id);

describe("Mailbox", () => {
  test("answers a known message with its state, and refuses its id for another one", () => {
    const mailbox = new Mailbox();
    mailbox.beginTurn(1);
    const given = message("m", { delivery: "steer" });
    expect(mailbox.accept(given)).toEqual({ state: "pending", events: [{ type: "message_accepted", ...given }] });
    mailbox.edit("m", text("edited"));
    expect(mailbox.accept(given)).toEqual({ state: "pending", events: [] });
    mailbox.pullSteer();
    expect(mailbox.accept(given)).toEqual({ state: "sent", turn: 1, events: [] });
    expect(mailbox.heard({ message_id: "m", state: "taken" })).toEqual([
      { type: "message_delivered", message_id: "m", turn: 1, how: "injected" },
    ]);
    mailbox.close();
    expect(mailbox.accept(given)).toEqual({ state: "delivered", turn: 1, events: [] });
    for (const other of [{ content: text("x") }, { delivery: "queue" as const }]) {
      expect(() => mailbox.accept({ ...given, ...other })).toThrow(
        expect.objectContaining({ code: "idempotency_conflict" }),
      );
    }
  });

  test("knows the same content whatever the order of its keys", () => {
    const mailbox = new Mailbox();
    mailbox.accept(message("m", { content: [{ type: "image", sha256: "0", mime_type: "image/png" }] }));
    const again = message("m", { content: [{ mime_type: "image/png", sha256: "0", type: "image" }] });
    expect(mailbox.accept(again).events).toEqual([]);
  });

  test("takes a message for a turn only while that turn runs", () => {
    const mailbox = new Mailbox();
    const refused = (turn: number) => () => mailbox.accept(message("m", { expected_turn: turn }));
    expect(refused(1)).toThrow('Cannot accept message "m" for turn 1: no turn runs.');
    mailbox.beginTurn(2);
    expect(refused(1)).toThrow('Cannot accept message "m" for turn 1: turn 2 runs.');
    expect(ids(mailbox)).toEqual([]);
    expect(refused(2)().state).toBe("pending");
  });

  test("has limits, and one that is reached takes nothing", () => {
    const mailbox = new Mailbox({ maxOpen: 2, maxTextBytes: 6, maxAttachments: 1 });
    const file: Part = { type: "file", sha256: "0", name: "a", mime_type: "text/plain" };
    const codeOf = (content: Part[]) => () => mailbox.accept(message("m", { content }));
    expect(codeOf([...text("ééé"), ...text("a")])).toThrow(expect.objectContaining({ code: "too_large" }));
    expect(codeOf([file, file])).toThrow('Cannot accept message "m": it has 2 attachments, the most is 1.');
    expect(codeOf([...text("ééé"), file])().state).toBe("pending");
    expect(() => mailbox.edit("m", text("1234567"))).toThrow("it has 7 bytes of text, the most is 6");
    mailbox.accept(message("n"));
    expect(() => mailbox.accept(message("o"))).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
    mailbox.withdraw("m");
    expect(mailbox.accept(message("o")).state).toBe("pending");
  });

  test("edits and withdraws what is pending, and says the state of what is not", () => {
    const mailbox = new Mailbox();
    for (const id of ["a", "b", "c"]) mailbox.accept(message(id));
    expect(mailbox.edit("a", text("A"))).toEqual([{ type: "message_changed", message_id: "a", content: text("A") }]);
    expect(mailbox.withdraw("b")).toEqual([{ type: "message_dropped", message_id: "b", reason: "withdrawn" }]);
    expect(mailbox.next).toEqual(message("a", { content: text("A") }));
    mailbox.beginTurn(1, "a");
    expect(() => mailbox.withdraw("a")).toThrow('Cannot withdraw message "a": it is delivered.');
    expect(() => mailbox.edit("b", text("B"))).toThrow('Cannot change message "b": it is dropped.');
    expect(() => mailbox.edit("z", text("Z"))).toThrow(expect.objectContaining({ code: "not_found" }));
  });

  test("an interrupt stops the turn and is the next prompt; it clears nothing, but a stop may", () => {
    const mailbox = new Mailbox();
    mailbox.beginTurn(1);
    mailbox.accept(message("q"));
    mailbox.accept(message("s", { delivery: "steer" }));
    mailbox.accept(message("i", { delivery: "interrupt" }));
    expect(mailbox.isStopping).toBe(true);
    expect(mailbox.pullSteer()).toBeNull();
    mailbox.turnBegan(2, []);
    expect(mailbox.isStopping).toBe(true);
    expect(mailbox.endTurn({ failed: true })).toEqual([]);
    expect(ids(mailbox)).toEqual(["i", "s", "q"]);
    mailbox.beginTurn(3, "i");
    expect(mailbox.isStopping).toBe(false);
    expect(mailbox.stopTurn({ dropPending: true }).map((event) => event.message_id)).toEqual(["q", "s"]);
  });

  test("a returned steer is a prompt, before the queue; later steers wait behind it", () => {
    const mailbox = new Mailbox();
    mailbox.beginTurn(1);
    mailbox.accept(message("q"));
    for (const id of ["s", "t"]) mailbox.accept(message(id, { delivery: "steer" }));
    expect(mailbox.pullSteer()).toEqual({
      message: message("s", { delivery: "steer" }),
      events: [{ type: "message_sent", message_id: "s", turn: 1 }],
    });
    expect(mailbox.heard({ message_id: "s", state: "returned" })).toEqual([]);
    expect(mailbox.heard({ message_id: "s", state: "taken" })).toEqual([]);
    expect(mailbox.pullSteer()).toBeNull();
    expect(ids(mailbox)).toEqual(["s", "t", "q"]);
    expect(mailbox.endTurn({ failed: true }).map((event) => event.message_id)).toEqual(["q", "s", "t"]);
  });

  test("a steer that comes once the adapter wants no more of its turn is a prompt, unless the turn is tried again", () => {
    const mailbox = new Mailbox();
    mailbox.beginTurn(1);
    mailbox.unseen([]);
    mailbox.accept(message("late", { delivery: "steer" }));
    expect(mailbox.pullSteer()).toBeNull();
    expect(mailbox.endTurn()).toEqual([]);
    mailbox.beginTurn(2, "late");
    mailbox.unseen([]);
    mailbox.accept(message("again", { delivery: "steer" }));
    mailbox.endAttempt();
    expect(mailbox.pullSteer()?.message.message_id).toBe("again");
  });

  test("the end of a killed host's session: what is known is told, what is sent is unsure, what is pending moves", () => {
    const mailbox = new Mailbox();
    for (const message_id of ["taken", "sent", "there", "here"]) {
      mailbox.take({ type: "message_accepted", ...message(message_id, { delivery: "steer" }) });
    }
    for (const message_id of ["taken", "sent"]) mailbox.take({ type: "message_sent", message_id, turn: 3 });
    mailbox.take({ type: "message", message_id: "taken", state: "taken" });
    const to = (id: string) => id === "there" ? "s2" : undefined;
    expect(mailbox.close({ reason: "host_restarted", to })).toEqual([
      { type: "message_delivered", message_id: "taken", turn: 3, how: "injected" },
      { type: "message_dropped", message_id: "sent", reason: "unsure" },
      { type: "message_dropped", message_id: "there", reason: "moved", to: "s2" },
      { type: "message_dropped", message_id: "here", reason: "host_restarted" },
    ]);
    expect(mailbox.close()).toEqual([]);
    expect(mailbox.accept(message("new"))).toEqual({ state: "closed", events: [] });
  });
});

test("a session takes so many messages and no more, however soon each is withdrawn", () => {
  const mailbox = new Mailbox();
  const content = [{ type: "text" as const, text: "x".repeat(1024 * 1024 - 1) }];
  const give = (message_id: string) => mailbox.accept({ message_id, delivery: "queue", content, by: { client: "c" } });
  let taken = 0;
  expect(() => {
    for (; taken < 100; taken++) {
      give(`m${taken}`);
      mailbox.withdraw(`m${taken}`);
    }
  }).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
  expect(taken).toBeGreaterThan(60);
  expect(taken).toBeLessThan(65);
});
