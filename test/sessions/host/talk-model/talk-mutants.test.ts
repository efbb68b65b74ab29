import { afterEach, describe, expect, test, vi } from "vitest";
import { Mailbox } from "../../../../core/sessions/session/mailbox.ts";
import { SessionStream } from "../../../../core/sessions/session/session-stream.ts";
import { SessionTurns } from "../../../../core/sessions/session/session-turns.ts";
import { firstFault, useTestClock } from "./first-fault.ts";
import type { AgentKind } from "./model-agent.ts";

useTestClock();
afterEach(() => void vi.restoreAllMocks());

/** Puts another verb in a class's place, which has the real one to call. */
function replace<C extends object, V extends keyof C>(
  of: C,
  verb: V,
  make: (real: Extract<C[V], (...given: never[]) => unknown>) => unknown,
): void {
  const real = of[verb] as Extract<C[V], (...given: never[]) => unknown>;
  // deno-lint-ignore no-explicit-any -- a spy's type cannot name a verb of any class
  vi.spyOn(of as any, verb as never).mockImplementation(make(real) as never);
}

type Events = ReturnType<Mailbox["heard"]>;

/** Events of a mailbox that are written later than they should. */
const late = new WeakMap<Mailbox, Events>();
const takeLate = (mailbox: Mailbox): Events => {
  const events = late.get(mailbox) ?? [];
  late.delete(mailbox);
  return events;
};

function sendsFirst(): void {
  replace(Mailbox.prototype, "pullSteer", (real) =>
    function (this: Mailbox) {
      const pulled = real.call(this);
      if (pulled === null) return null;
      late.set(this, [...takeLate(this), ...pulled.events]);
      return { ...pulled, events: [] };
    });
  replace(Mailbox.prototype, "heard", (real) =>
    function (this: Mailbox, event: Parameters<Mailbox["heard"]>[0]) {
      return [...takeLate(this), ...real.call(this, event)];
    });
  replace(Mailbox.prototype, "endAttempt", (real) =>
    function (this: Mailbox) {
      return [...takeLate(this), ...real.call(this)];
    });
}

function putsBack(): void {
  replace(Mailbox.prototype, "endAttempt", (real) =>
    function (this: Mailbox) {
      this.unseen([]);
      return real.call(this);
    });
}

function closesLate(): void {
  replace(SessionTurns.prototype, "end", (real) =>
    function (this: SessionTurns, to?: string) {
      void Promise.resolve().then(() => real.call(this, to));
    });
}

function waitsForNoDisk(): void {
  replace(
    SessionStream.prototype,
    "add",
    (real) =>
      function (this: SessionStream, ...given: Parameters<SessionStream["add"]>) {
        real.apply(this, given).catch(() => {});
        return Promise.resolve();
      },
  );
}

function queuesFirst(): void {
  const pending = Object.getOwnPropertyDescriptor(Mailbox.prototype, "pending")!.get!;
  vi.spyOn(Mailbox.prototype, "next", "get").mockImplementation(function (this: Mailbox) {
    const all = pending.call(this) as Mailbox["pending"];
    return all.at(-1) ?? null;
  });
}

function forgets(): void {
  replace(
    Mailbox.prototype,
    "turnBegan",
    (real) =>
      function (this: Mailbox, ...given: Parameters<Mailbox["turnBegan"]>) {
        return [...real.apply(this, given), ...this.endAttempt()];
      },
  );
}

function keepsAsked(): void {
  replace(Mailbox.prototype, "unseen", () => () => {});
}

function hearsNothing(): void {
  replace(Mailbox.prototype, "heard", () => () => []);
}

describe("the schedules find what is wrong with a host", () => {
  test.each<[string, AgentKind, () => void, RegExp]>([
    ["message_sent is written after the steer is handed over", "injects", sendsFirst, /seen twice|was seen and is/],
    ["a sent steer waits again after its turn", "injects", putsBack, /seen twice|was seen and is/],
    ["the mailbox closes after the decision to end", "injects", closesLate, /outcomes|rest|refused/],
    ["a message is told, and handed over, before it is durable", "injects", waitsForNoDisk, /0 outcomes|seen twice/],
    ["the newest message is the next prompt", "cannot_steer", queuesFirst, /was seen after/],
    ["a turn that the agent begins makes its other steers unsure", "queues", forgets, /without a crash/],
    ["a steer on its way to an adapter that asks for its next turn is lost", "injects", keepsAsked, /without a crash/],
    ["the word of an adapter on a steer does not count", "injects", hearsNothing, /without a crash/],
  ])("%s", async (_, kind, mutate, like) => {
    mutate();
    const { fault } = await firstFault(kind, { from: 1, most: 1500, like });
    console.log(fault?.split("\n")[0]);
    expect(fault).toMatch(like);
  }, 120_000);
});
