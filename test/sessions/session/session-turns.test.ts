import { describe, expect, test } from "vitest";
import { stateOf } from "../../../core/sessions/session/session-turns.ts";
import { MergedLog } from "../../../core/sessions/session/merged-log.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { createMemoryJournal } from "../../records/journal/memory-journal.ts";
import { done, hangs, type Script, ScriptedSession, type ScriptedSessionOptions } from "./scripted-session.ts";

const talks = ["turns", "steer", "stop_turn", "continue_from"] as const;

function session(
  scripts: Script[],
  { request, accepts = talks, ...options }: ScriptedSessionOptions & {
    request?: Partial<SessionRequest>;
    accepts?: readonly (typeof talks)[number][];
  } = {},
): ScriptedSession {
  const manifest = { accepts: [...accepts] };
  return new ScriptedSession([{ id: "a", scripts, manifest }], {
    request: { keep_ms: 60_000, ...request },
    ...options,
  });
}

function say(
  session: ScriptedSession,
  text: string,
  more: { delivery?: "queue" | "steer" | "interrupt"; id?: string } = {},
) {
  const { id: message_id = text, delivery = "queue" } = more;
  const content = [{ type: "text" as const, text }];
  return session.session.talk.say({ message_id, content, delivery, by: { client: "c" } });
}

const output = (data: string): AdapterEvent => ({ type: "output", stream: "stdout", data });

/** Answers each turn in one entry until there is no more. */
const echoes: Script = async ({ say, next }) => {
  for (let turn = await next(); turn !== null; turn = await next()) say(output(`to ${turn.prompt}`), done);
};

/** Resolves when the session has an event for which this is true. */
async function seen(session: ScriptedSession, isIt: (event: Envelope["event"]) => boolean): Promise<void> {
  while (!session.events.some(({ event }) => isIt(event))) await new Promise((resolve) => setTimeout(resolve, 2));
}

const turnEnded = (turn: number) => (event: Envelope["event"]) => event.type === "turn_ended" && event.turn === turn;
/** Ends a session that rests after this turn. */
async function endAfter(talk: ScriptedSession, turn: number) {
  await seen(talk, turnEnded(turn));
  talk.session.stop("interrupted", "enough");
  return await talk.ended();
}

const outcomes = ({ events }: ScriptedSession) =>
  events.flatMap(({ event }) =>
    event.type === "message_delivered"
      ? [`${event.message_id} ${event.how} ${event.turn}`]
      : event.type === "message_dropped"
      ? [`${event.message_id} ${event.reason}`]
      : []
  );

describe("RunningSession with turns", () => {
  test("gives each message to the kept entry as a turn, and ends with its last", async () => {
    const talk = session([echoes]);
    await seen(talk, turnEnded(1));
    say(talk, "more");
    const result = await endAfter(talk, 2);
    expect(talk.types).toEqual([
      "session_started",
      "turn_started",
      "attempt_started",
      "output",
      "completed",
      "turn_ended",
      "message_accepted",
      "message_delivered",
      "turn_started",
      "output",
      "completed",
      "turn_ended",
      "session_ended",
    ]);
    expect(result).toMatchObject({ outcome: "completed", output: "to more", turns: [{ turn: 1 }, { turn: 2 }] });
    expect(result.attempts).toHaveLength(1);
  });

  test("ends when no message comes in time", async () => {
    const talk = session([echoes], { request: { keep_ms: 20 } });
    expect(await talk.ended()).toMatchObject({ outcome: "completed", output: "to go" });
  });

  test("a message that comes while a session of one prompt works is its next turn", async () => {
    const waits: Script = async ({ say: tell, next, cancelled }) => {
      await next();
      await Promise.race([seen(talk, ({ type }) => type === "message_accepted"), cancelled]);
      tell(output("first"), done);
      for (let turn = await next(); turn !== null; turn = await next()) tell(output(`to ${turn.prompt}`), done);
    };
    const talk = session([waits], { request: { keep_ms: 0 } });
    await seen(talk, ({ type }) => type === "attempt_started");
    say(talk, "more");
    expect((await talk.ended()).output).toBe("to more");
    expect(talk.types.filter((type) => type.startsWith("turn_"))).toEqual([
      "turn_started",
      "turn_ended",
      "turn_started",
      "turn_ended",
    ]);
    expect(outcomes(talk)).toEqual(["more new_turn 2"]);
  });

  test("a session of one turn writes none of it", async () => {
    const talk = session([echoes], { request: { keep_ms: 0 } });
    const result = await talk.ended();
    expect(talk.types).toEqual(["session_started", "attempt_started", "output", "completed", "session_ended"]);
    expect(result).not.toHaveProperty("turns");
  });

  test.each([
    ["its agent's own session", talks, "more", "agent"],
    ["a briefing", ["turns"] as const, "go -> one; more", "briefing"],
  ])("enters an adapter again that has ended, by %s", async (_how, accepts, prompt, memory) => {
    const once: Script = async ({ say: tell, next, opened }) => {
      await next();
      tell(
        { type: "agent_info", agent_session_id: "own" },
        output(opened.request!.prompt === "go" ? "one" : "two"),
        done,
      );
    };
    const asked: (SessionRequest | null)[] = [];
    const talk = session([once, (stage) => (asked.push(stage.opened.request), once(stage))], { accepts });
    await seen(talk, turnEnded(1));
    say(talk, "more");
    expect(await endAfter(talk, 2)).toMatchObject({ output: "two", attempts: [{ attempt: 1 }, { attempt: 2 }] });
    expect(asked[0]).toMatchObject({ prompt, ...(memory === "agent" ? { continue_from: "own" } : {}) });
    expect(talk.events.map(({ event }) => event)).toContainEqual(
      expect.objectContaining({ type: "turn_started", turn: 2, memory }),
    );
  });

  test("a steer goes into the turn, or becomes the next one before the queue", async () => {
    const steered: Script = async ({ say: tell, next, wait }) => {
      await next();
      const given = await wait(1, "message") as { message_id: string; text: string };
      tell(output(given.text), { type: "message", message_id: given.message_id, state: "taken" });
      const late = await wait(1, "message") as { message_id: string };
      tell({ type: "message", message_id: late.message_id, state: "returned" }, done);
      for (let turn = await next(); turn !== null; turn = await next()) tell(output(`to ${turn.prompt}`), done);
    };
    const talk = session([steered]);
    say(talk, "queued");
    say(talk, "s1", { delivery: "steer" });
    say(talk, "s2", { delivery: "steer" });
    await endAfter(talk, 3);
    expect(outcomes(talk)).toEqual(["s1 injected 1", "s2 new_turn 2", "queued new_turn 3"]);
  });

  test("a steer on its way when the adapter asks for the next turn is not lost and not unsure", async () => {
    const deaf: Script = async ({ say: tell, next, wait }) => {
      await next();
      await wait(1, "message");
      tell(done);
      for (let turn = await next(); turn !== null; turn = await next()) tell(output(`to ${turn.prompt}`), done);
    };
    const talk = session([deaf]);
    say(talk, "s1", { delivery: "steer" });
    expect((await endAfter(talk, 2)).output).toBe("to s1");
    expect(outcomes(talk)).toEqual(["s1 new_turn 2"]);
  });

  test("an adapter that dies with a steer leaves it unsure", async () => {
    const dies: Script = async ({ next, wait }) => {
      await next();
      await wait(1, "message");
      return { code: "crash", message: "It died." };
    };
    const talk = session([dies, echoes], { request: { retry: "always" } });
    say(talk, "s1", { delivery: "steer" });
    await endAfter(talk, 1);
    expect(outcomes(talk)).toEqual(["s1 unsure"]);
  });

  test("stopping the turn lets the agent go on with what waits", async () => {
    const stops: Script = async ({ say: tell, next, wait }) => {
      await next();
      tell(output("half"));
      expect(await wait(1, "stop")).toEqual({ stop: true });
      tell({ type: "error", code: "interrupted", message: "stopped", recoverable: true });
      for (let turn = await next(); turn !== null; turn = await next()) tell(output(`to ${turn.prompt}`), done);
    };
    const talk = session([stops]);
    await seen(talk, ({ type }) => type === "output");
    say(talk, "queued");
    say(talk, "now", { delivery: "interrupt" });
    const result = await endAfter(talk, 3);
    expect(result).toMatchObject({
      outcome: "completed",
      turns: [{ stop_reason: "interrupted", output: "half" }, { output: "to now" }, { output: "to queued" }],
      attempts: [{ attempt: 1 }],
    });
  });

  test("an adapter that cannot stop a turn is cut off and entered again", async () => {
    const info: AdapterEvent = { type: "agent_info", agent_session_id: "own" };
    const stuck: Script = async (stage) => (await stage.next(), stage.say(info), await hangs(stage));
    const talk = session([stuck, echoes], { accepts: ["turns", "continue_from"] });
    await seen(talk, ({ type }) => type === "agent_info");
    say(talk, "now", { delivery: "interrupt" });
    expect(await endAfter(talk, 2)).toMatchObject({
      output: "to now",
      turns: [{ stop_reason: "interrupted" }, { stop_reason: "end_turn" }],
    });
  });

  test("a failed turn drops what waits behind it, and takes what comes after", async () => {
    const fails: Script = async ({ say: tell, next }) => {
      await next();
      tell({ type: "error", code: "fatal", message: "no", recoverable: false });
    };
    const talk = session([fails, echoes], { request: { retry: "never" } });
    say(talk, "behind");
    await seen(talk, turnEnded(1));
    say(talk, "after");
    expect((await endAfter(talk, 2)).output).toBe("to go -> ; after");
    expect(outcomes(talk)).toEqual(["behind turn_failed", "after new_turn 2"]);
  });

  test("a process that dies between turns costs nothing", async () => {
    const dies: Script = async ({ say: tell, next }) => {
      await next();
      tell({ type: "agent_info", agent_session_id: "own" }, output("one"), done);
      void next();
      await seen(talk, turnEnded(1));
      return { code: "crash", message: "It died." };
    };
    const talk = session([dies, echoes]);
    await seen(talk, turnEnded(1));
    await new Promise((resolve) => setTimeout(resolve, 20));
    say(talk, "more");
    expect(await endAfter(talk, 2)).toMatchObject({ outcome: "completed", output: "to more" });
  });

  test("an interrupt of a session that rests ends it with its last turn", async () => {
    const talk = session([echoes]);
    await seen(talk, turnEnded(1));
    talk.session.stop("interrupted", "enough");
    expect(await talk.ended()).toMatchObject({ outcome: "completed", output: "to go" });
    expect(say(talk, "late")).toBe("closed");
  });

  test("the agent's own turn is told, with the steers it had kept", async () => {
    const goesOn: Script = async ({ say: tell, next, wait }) => {
      await next();
      const { message_id } = await wait(1, "message") as { message_id: string };
      tell(output("one"), done, { type: "turn_began", message_ids: [message_id] }, output("two"), done);
      for (let turn = await next(message_id); turn !== null; turn = await next()) tell(output(turn.prompt), done);
    };
    const talk = session([goesOn]);
    say(talk, "s1", { delivery: "steer" });
    expect(await endAfter(talk, 2)).toMatchObject({ turns: [{ output: "one" }, { output: "two" }] });
    expect(outcomes(talk)).toEqual(["s1 new_turn 2"]);
  });

  test("an agent that begins a turn between two others ends it with its last word", async () => {
    const wakes: Script = async ({ say: tell, next }) => {
      await next();
      tell(output("one"), done);
      const more = next();
      await seen(talk, turnEnded(1));
      tell({ type: "turn_began", message_ids: [] }, output("two"), done);
      for (let turn = await more; turn !== null; turn = await next()) tell(output(turn.prompt), done);
    };
    const talk = session([wakes]);
    await seen(talk, turnEnded(2));
    say(talk, "three");
    expect(await endAfter(talk, 3)).toMatchObject({
      turns: [{ output: "one" }, { turn: 2, output: "two" }, { output: "three" }],
    });
  });

  test("an entry that cannot serve a turn returns without a word and is entered again", async () => {
    const other: Script = async ({ say: tell, next }) => {
      await next();
      tell({ type: "agent_info", agent_session_id: "own" }, output("one"), done);
      await next();
    };
    const talk = session([other, echoes]);
    await seen(talk, turnEnded(1));
    say(talk, "more");
    expect(await endAfter(talk, 2)).toMatchObject({ output: "to more", attempts: [{ attempt: 1 }, { attempt: 2 }] });
    expect(talk.types).not.toContain("attempt_failed");
  });

  test("changed terms end it, and another session takes what waits", async () => {
    const talk = session([echoes], { termsChanged: () => Promise.resolve(true) });
    await seen(talk, turnEnded(1));
    say(talk, "more");
    expect(await talk.ended()).toMatchObject({ output: "to go" });
    expect(talk.events.map(({ event }) => event)).toContainEqual({
      type: "message_dropped",
      message_id: "more",
      reason: "moved",
      to: "s2",
    });
  });

  test("a session without a prompt waits for its first message", async () => {
    const talk = session([echoes], { request: { prompt: "" } });
    say(talk, "first");
    expect(await endAfter(talk, 1)).toMatchObject({ output: "to first" });
    expect(outcomes(talk)).toEqual(["first new_turn 1"]);
  });

  test("a client's stop that comes after its end tells nothing any more", async () => {
    const log = new MergedLog(createMemoryJournal());
    const add = log.add.bind(log);
    const added: string[] = [];
    log.add = (stream, entries, received) => {
      added.push(...entries.map(({ event }) => event.type));
      return add(stream, entries, received);
    };
    const talk = session([echoes], { log, request: { keep_ms: 0 } });
    await talk.session.result;
    talk.session.talk.stopTurn({ dropPending: false });
    await talk.ended();
    expect(added.at(-1)).toBe("session_ended");
  });

  test("no steer goes into a turn whose adapter has asked for the next one", async () => {
    const asks: Script = async ({ say: tell, next, wait }) => {
      await next();
      const steered = wait(1, "message");
      tell(done);
      const asked = next();
      say(talk, "s1", { delivery: "steer" });
      expect(await steered).toBeNull();
      for (let turn = await asked; turn !== null; turn = await next()) tell(output(`to ${turn.prompt}`), done);
    };
    const talk = session([asks]);
    expect((await endAfter(talk, 2)).output).toBe("to s1");
    expect(outcomes(talk)).toEqual(["s1 new_turn 2"]);
  });

  test("a turn is listed and at work until its end is told", async () => {
    const states: unknown[] = [];
    const ends: Script = async ({ say: tell, next }) => {
      await next();
      tell(output("one"), done);
      const more = next();
      while (talk.session.talk.current !== null) await Promise.resolve();
      states.push(stateOf(talk.session.talk), talk.session.talk.all.map(({ turn, outcome }) => [turn, outcome]));
      await more;
    };
    const talk = session([ends]);
    await seen(talk, turnEnded(1));
    states.push(stateOf(talk.session.talk), talk.session.talk.all.map(({ turn, outcome }) => [turn, outcome]));
    expect(states).toEqual(["working", [[1, null]], "kept", [[1, "completed"]]]);
    await endAfter(talk, 1);
  });

  test("a turn that the agent begins and ends while the one before is looked at is over as well", async () => {
    const wakes: Script = async ({ say: tell, next }) => {
      await next();
      tell(output("one"), done);
      const more = next();
      // It has ended for the host, and is not told yet.
      while (talk.session.talk.current !== null) await Promise.resolve();
      tell({ type: "turn_began", message_ids: [] }, output("two"), done);
      for (let turn = await more; turn !== null; turn = await next()) tell(output(turn.prompt), done);
    };
    const talk = session([wakes]);
    await seen(talk, turnEnded(2));
    say(talk, "three");
    expect(await endAfter(talk, 3)).toMatchObject({
      turns: [{ output: "one" }, { output: "two" }, { output: "three" }],
    });
  });

  test("an agent that goes on while a prompt is on its way begins no turn", async () => {
    const wakes: Script = async ({ say: tell, next }) => {
      await next();
      tell(done);
      const more = next();
      await seen(talk, turnEnded(1));
      say(talk, "two");
      while (talk.session.talk.current === null) await Promise.resolve();
      for (const data of ["own", "own"]) tell({ type: "turn_began", message_ids: [] }, output(data), done);
      for (let turn = await more; turn !== null; turn = await next()) tell(output(`to ${turn.prompt}`), done);
    };
    const talk = session([wakes]);
    expect(await endAfter(talk, 2)).toMatchObject({ turns: [{ turn: 1 }, { turn: 2, output: "to two" }] });
  });

  /** Has its turns in entries of their own: it takes no second one. */
  const single: Script = ({ say: tell, opened }) => tell(output(`to ${opened.request!.prompt}`), done);

  test.each([["kept", echoes], ["entered again", single]])(
    "a message that is taken back as its turn is about to begin leaves the session at rest: %s",
    async (kind, script) => {
      for (let moment = kind === "kept" ? 0 : 1; moment < 40; moment++) {
        let takesBack = moment === 0;
        const talk: ScriptedSession = session([script], {
          accepts: kind === "kept" ? talks : ["continue_from"],
          // The longest of the waits between a message and its turn.
          termsChanged: async () => {
            if (takesBack) talk.session.talk.withdraw("back");
            takesBack = false;
            return false;
          },
        });
        await seen(talk, turnEnded(1));
        say(talk, "back");
        for (let step = 1; step < moment; step++) await Promise.resolve();
        let outcome = "back withdrawn";
        try {
          if (moment > 0) talk.session.talk.withdraw("back");
        } catch {
          outcome = "back new_turn 2";
        }
        const number = outcome === "back withdrawn" ? 2 : 3;
        await new Promise((resolve) => setTimeout(resolve, 5));
        say(talk, "more");
        expect((await endAfter(talk, number)).turns).toHaveLength(number);
        expect(outcomes(talk), `moment ${moment}`).toEqual([outcome, `more new_turn ${number}`]);
      }
    },
  );

  test("a turn that is about to begin as its entry is lost goes to the next entry", async () => {
    let breaks = (_: ErrorData) => {};
    const broken = new Promise<ErrorData>((resolve) => (breaks = resolve));
    const dies: Script = async ({ say: tell, next }) => {
      await next();
      tell(output("one"), done);
      void next().catch(() => {});
      return await broken;
    };
    const talk = session([dies, echoes], { request: { retry: "never" } });
    const { changes } = talk.session;
    const begin = changes.beginTurn.bind(changes);
    changes.beginTurn = async (...given) => {
      breaks({ code: "crash", message: "It was killed." });
      await new Promise((resolve) => setTimeout(resolve, 20));
      await begin(...given);
    };
    await seen(talk, turnEnded(1));
    say(talk, "two");
    const { turns } = await endAfter(talk, 2);
    expect(turns?.[1]).toMatchObject({ outcome: "completed", output: expect.stringMatching(/two$/) });
  });

  test("a message that begins a session reaches no agent before the log has it", async () => {
    const began: boolean[] = [];
    const works: Script = async ({ say: tell, answer }) => {
      await answer("its program");
      began.push(true);
      tell(done);
    };
    const log = new MergedLog(createMemoryJournal());
    const add = log.add.bind(log);
    let isDurable = () => {};
    const durable = new Promise<void>((resolve) => (isDurable = resolve));
    log.add = (stream, entries, received) =>
      entries[0]?.event.type === "session_started"
        ? add(stream, entries).then(() => durable)
        : add(stream, entries, received);
    const message = { message_id: "m", by: { client: "c" } };
    const at = { conversation_id: "s0", session_id: "s0", turn: 1, why: "message", memory: "none" } as const;
    const talk = session([works], { log, follows: { ...at, message }, request: { keep_ms: 0 } });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(began).toEqual([]);
    isDurable();
    await talk.session.result;
    expect(began).toEqual([true]);
    await talk.ended();
  });
});
