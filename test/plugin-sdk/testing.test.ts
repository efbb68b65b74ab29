import { describe, expect, test } from "vitest";
import { defineAdapter } from "../../plugin-sdk/adapter.ts";
import { CliAdapter } from "../../plugin-sdk/cli-adapter.ts";
import type { AdapterContext, RunningProcess } from "../../plugin-sdk/context.ts";
import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { EventChecker, MemoryContext, probeAdapter, runAdapter } from "../../plugin-sdk/testing.ts";
import { fullEvents } from "./examples.ts";

const done: AdapterEvent = { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };

function adapter(session: (ctx: AdapterContext) => AsyncGenerator<AdapterEvent | AdapterEvent[], void, void>) {
  return defineAdapter({ id: "a", name: "A", version: "1.0.0", runSession: (_request, ctx) => session(ctx) });
}

/** An adapter that yields these as they are, whatever they are. */
function yielding(...events: unknown[]) {
  return adapter(async function* () {
    for (const event of events) yield await Promise.resolve(event as AdapterEvent);
  });
}

describe("runAdapter", () => {
  test("gives what a client would see: arrays flat, each event as it was when yielded", async () => {
    const Adapter = adapter(async function* () {
      const event = { type: "output", stream: "stdout", data: "a" } as const;
      const growing: { type: "output"; stream: "stdout"; data: string } = { ...event };
      yield [growing, await Promise.resolve(event)];
      growing.data = "ab";
      yield growing;
      yield done;
    });
    const { events, last, violations, error } = await runAdapter(Adapter);
    expect(events.map((event) => event.type === "output" ? event.data : event.type)).toEqual([
      "a",
      "a",
      "ab",
      "completed",
    ]);
    expect([last, violations, error]).toEqual([done, [], null]);
  });

  test("records all that was asked, in order, and gives what the test put there", async () => {
    const Adapter = adapter(async function* (ctx) {
      await ctx.fs.writeText("out/a.txt", (await ctx.fs.readText("in.txt")).toUpperCase());
      await ctx.kv.set("count", await ctx.kv.get("seen"));
      await ctx.kv.delete("seen");
      const response = await ctx.fetch("https://example.com/x", { method: "POST" });
      yield { type: "progress", message: `${response.status} ${await response.text()} ${await ctx.env.get("KEY")}` };
      yield {
        type: "progress",
        message: JSON.stringify([await ctx.fs.list("."), await ctx.kv.list(), await ctx.env.get("NO")]),
      };
      ctx.log.info("well", { n: 1 });
      yield done;
    });
    const result = await runAdapter(Adapter, {}, {
      files: { "in.txt": "text" },
      kv: { seen: 1 },
      env: { KEY: "value" },
      responses: { "https://example.com/x": { status: 201, body: ["bo", "dy"] } },
    });
    expect(result.error).toBeNull();
    expect(result.events).toMatchObject([
      { message: "201 body value" },
      { message: '[["in.txt","out"],["count"],null]' },
      done,
    ]);
    expect(result.calls.map(({ call }) => call)).toEqual([
      "fs.readText",
      "fs.writeText",
      "kv.get",
      "kv.set",
      "kv.delete",
      "fetch",
      "env.get",
      "fs.list",
      "kv.list",
      "env.get",
    ]);
    expect(result.files).toEqual({ "/work/in.txt": "text", "/work/out/a.txt": "TEXT" });
    expect(result.kv).toEqual({ count: 1 });
    expect(result.log).toEqual([{ level: "info", message: "well", fields: { n: 1 } }]);
  });

  test("answers permission requests and questions with what the test says", async () => {
    const Adapter = adapter(async function* (ctx) {
      yield [fullEvents.permission_request, fullEvents.question];
      const got = [
        await ctx.permission("r1"),
        await ctx.answer("q1"),
        await ctx.permission("r2"),
        await ctx.answer("q2"),
      ];
      yield [{ type: "unparsed", data: got }, done];
    });
    const { events } = await runAdapter(Adapter, {}, { answers: { r1: "yes", q1: "b", r2: "yes" } });
    expect(events[2]).toEqual({ type: "unparsed", data: [fullEvents.permission_request.options[0], "b", null, null] });
  });

  test("gives a thrown error as data, and what came before it", async () => {
    const Adapter = adapter(async function* () {
      yield await Promise.resolve<AdapterEvent>({ type: "progress", message: "a" });
      throw new BulkheadError("unavailable", "Gone.", { hint: "Wait." });
    });
    const { error, events, violations } = await runAdapter(Adapter);
    expect([error, events.length, violations]).toEqual([
      { code: "unavailable", message: "Gone.", hint: "Wait." },
      1,
      [],
    ]);
  });

  test("ends a session that takes too long, also one that does not listen", async () => {
    const Adapter = adapter(async function* () {
      yield await new Promise<AdapterEvent>(() => {});
    });
    const { error } = await runAdapter(Adapter, {}, { timeoutMs: 10 });
    expect(error).toMatchObject({ code: "timeout" });
  });

  test("names every member that an adapter lacks", async () => {
    class Half extends (CliAdapter as unknown as new () => object) {
      id = "half";
      getVersion = () => null;
    }
    for (
      const [incomplete, message] of [[class {}, /id, name.*runSession/], [
        Half,
        /lacks name.*findBinary, getVersion/,
      ]] as const
    ) {
      await expect(runAdapter(incomplete as never)).rejects.toThrow(
        expect.objectContaining({ code: "adapter_incomplete", message: expect.stringMatching(message) }),
      );
    }
  });
});

describe("runAdapter reports as a violation", () => {
  const [call, result] = [fullEvents.tool_call, fullEvents.tool_result];
  const loop: Record<string, unknown> = { type: "unparsed" };
  loop["data"] = loop;

  test.each<[string, unknown[], string]>([
    ["an unknown type", [{ type: "session_ended" }, done], 'Event 1 has the unknown type "session_ended".'],
    ["no event at all", ["text", done], "Event 1 has the unknown type undefined."],
    [
      "a missing field",
      [{ type: "output", stream: "stdout" }, done],
      'Event 1 of type "output" does not fit its schema at "/data"',
    ],
    ["an unknown field", [{ ...done, extra: 1 }, done], 'does not fit its schema at "/extra"'],
    ["what is not JSON", [loop, done], "Event 1 is not JSON"],
    ["no last word", [], "The session has no last word"],
    ["an event after the last word", [done, call, result], 'Event 2 of type "tool_call" follows the last word.'],
    [
      "a withdrawal of nothing",
      [{ type: "request_withdrawn", request_id: "r" }, done],
      'Event 1 takes back no request: "r".',
    ],
    ["a repeated call", [call, result, call, result, done], 'Event 3 repeats the call_id "c1".'],
    ["a result of no call", [result, done], 'Event 1 answers no open tool call: "c1".'],
    ["a call without a result", [call, done], 'Tool call "c1" has no result.'],
  ])("%s", async (_what, events, violation) => {
    const { violations } = await runAdapter(yielding(...events));
    expect(violations.join("\n")).toContain(violation);
  });
});

describe("EventChecker", () => {
  test("finds nothing wrong with a sound stream of every event", () => {
    const checker = new EventChecker();
    const { completed, error: _other, ...others } = fullEvents;
    for (const event of [...Object.values(others), completed]) expect(checker.check(event)).toEqual(event);
    checker.end();
    expect(checker.violations).toEqual([]);
  });
});

describe("MemoryContext", () => {
  test("takes the first script left that fits, each once", async () => {
    const ctx = new MemoryContext({
      processes: [{ binary: "a", args: "x {}", exit_code: 1 }, { exit_code: 2 }, { binary: "a", exit_code: 3 }],
    });
    const exits: unknown[] = [];
    for (const args of [["y"], ["x", "1"], ["x", "1"]]) {
      const child = await ctx.run("a", args);
      for await (const _piece of child.stdout);
      for await (const _piece of child.stderr);
      exits.push((await child.exit).exit_code);
    }
    expect(exits).toEqual([2, 1, 3]);
    await expect(ctx.run("a", [])).rejects.toThrow(expect.objectContaining({ code: "binary_missing" }));
  });

  test("asks a function for each program, and fails a start as it says", async () => {
    const denied = new BulkheadError("permission_denied", "No.");
    const ctx = new MemoryContext({ processes: (binary) => binary === "no" ? { error: denied } : { stdout: binary } });
    await expect(ctx.run("no", [])).rejects.toBe(denied);
    const child = await ctx.run("yes", []);
    let text = "";
    for await (const piece of child.stdout) text += piece;
    expect(text).toBe("yes");
    expect(() => child.stdout[Symbol.asyncIterator]()).toThrow("read already");
    await expect(child.stdin.write("x")).rejects.toThrow(expect.objectContaining({ code: "io_error" }));
  });

  test("knows files and folders by any spelling of their path", async () => {
    const ctx = new MemoryContext({ files: { "a/b.txt": "é" }, workdir: "/w" });
    expect(await ctx.fs.stat("./a/../a/b.txt")).toMatchObject({ kind: "file", bytes: 2 });
    expect(await ctx.fs.stat("/w/a")).toMatchObject({ kind: "folder" });
    await ctx.fs.remove("/w/a/b.txt");
    for (const gone of [ctx.fs.readText("a/b.txt"), ctx.fs.stat("a"), ctx.fs.list("a"), ctx.fs.remove("a/b.txt")]) {
      await expect(gone).rejects.toThrow(expect.objectContaining({ code: "not_found" }));
    }
  });

  test("wakes a sleeper with the reason when the session ends", async () => {
    const stop = new AbortController();
    const ctx = new MemoryContext({ signal: stop.signal });
    const sleeping = ctx.sleep(60_000);
    stop.abort(new Error("enough"));
    await expect(sleeping).rejects.toThrow("enough");
    await expect(ctx.sleep(1)).rejects.toThrow("enough");
    ctx.close();
  });

  test("fails to reach what the test does not give", async () => {
    await expect(new MemoryContext().fetch("https://x.example")).rejects.toThrow(
      expect.objectContaining({ code: "network_error" }),
    );
    await expect(new MemoryContext().connect("wss://x.example")).rejects.toThrow(
      expect.objectContaining({ code: "network_error" }),
    );
  });

  test("plays a program that answers its input, and ends with it or by itself", async () => {
    const answer = (line: string) => line === "bye" ? ["left", null] : [`${line}!`];
    const ctx = new MemoryContext({ processes: [{ stdout: "hello ", answer }, { answer }] });
    const [one, other] = [await ctx.run("a", [], { stdin: "open" }), await ctx.run("a", [], { stdin: "open" })];
    await one.stdin.write("on");
    await one.stdin.write("e\ntwo\n");
    await one.stdin.close();
    await other.stdin.write("bye\nignored\n");
    const read = async ({ stdout, stderr, exit }: RunningProcess) => {
      const pieces: string[] = [];
      for await (const piece of stdout) pieces.push(piece);
      await stderr[Symbol.asyncIterator]().return?.();
      return [...pieces, (await exit).exit_code];
    };
    expect([await read(one), await read(other)]).toEqual([["hello ", "one!", "two!", 0], ["left", 0]]);
  });

  test("plays the far end of a WebSocket: what it says, answers and closes", async () => {
    const ctx = new MemoryContext({
      sockets: {
        "wss://talks.example": {
          messages: ["welcome"],
          answer: (text) => text === "bye" ? null : [`${text}!`, `${text}?`],
        },
        "wss://tells.example": { messages: ["one", "two"] },
        "wss://fails.example": { error: new BulkheadError("permission_denied", "No.") },
      },
    });
    const talking = await ctx.connect("wss://talks.example", { headers: { a: "b" } });
    const heard: string[] = [];
    for await (const text of talking.messages) {
      heard.push(text);
      if (text === "welcome") await talking.send("you");
      if (text === "you?") await talking.send("bye");
    }
    expect(heard).toEqual(["welcome", "you!", "you?"]);
    await expect(talking.send("more")).rejects.toThrow("the connection is closed");
    expect(() => talking.messages[Symbol.asyncIterator]()).toThrow("have been read already");

    const telling = await ctx.connect("wss://tells.example");
    await telling.send("unheard");
    for await (const text of telling.messages) if (text === "one") break;
    await expect(telling.send("more")).rejects.toThrow("the connection is closed");
    await expect(ctx.connect("wss://fails.example")).rejects.toThrow("No.");
    expect(ctx.calls).toEqual([
      {
        call: "connect",
        url: "wss://talks.example",
        options: { headers: { a: "b" } },
        sent: ["you", "bye"],
        closed: false,
      },
      { call: "connect", url: "wss://tells.example", options: {}, sent: ["unheard"], closed: true },
      { call: "connect", url: "wss://fails.example", options: {}, sent: [], closed: false },
    ]);
  });

  test("wakes whoever waits for a message when the adapter closes", async () => {
    const ctx = new MemoryContext({ sockets: { "wss://x.example": { answer: () => [] } } });
    const connection = await ctx.connect("wss://x.example");
    const waiting = connection.messages[Symbol.asyncIterator]().next();
    await connection.close();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });
});

test("probeAdapter gives the report and says where it breaks the contract", async () => {
  const of = (report: object) =>
    defineAdapter({
      id: "a",
      name: "A",
      version: "1.0.0",
      runSession: async function* () {},
      isAvailable: () => Promise.resolve(report as never),
    });
  const good = { availability: "available", reason: "Yes." };
  expect(await probeAdapter(of(good))).toMatchObject({ report: good, violations: [] });
  const { violations } = await probeAdapter(of({ availability: "perhaps", reason: "" }));
  expect(violations[0]).toContain('at "/availability"');
});

describe("MemoryContext.turns", () => {
  const said = (data: string): AdapterEvent => ({ type: "output", stream: "stdout", data });
  const Talker = adapter(async function* (ctx) {
    for await (const turn of ctx.turns) {
      yield said(`${turn.number} ${turn.prompt} ${turn.kept}`);
      for await (const { message_id, text } of turn.messages) {
        yield said(`${message_id} ${text}`);
        if (text === "last") break;
      }
      yield said(turn.signal.aborted ? "stopped" : "goes on");
      yield done;
    }
  });

  test("gives the turns of the script with their messages, and stops one of them", async () => {
    const turns = [{ messages: ["first", "last"] }, { prompt: "more", messages: ["last"] }];
    const stopTurnWhen = (event: AdapterEvent, turn: number) => turn === 2 && event.type === "output";
    const { events, violations, error } = await runAdapter(Talker, { prompt: "go" }, { turns, stopTurnWhen });
    expect(events.map((event) => event.type === "output" ? event.data : event.type)).toEqual([
      "1 go true",
      "turn-1-message-1 first",
      "turn-1-message-2 last",
      "goes on",
      "completed",
      "2 more true",
      "turn-2-message-1 last",
      "stopped",
      "completed",
    ]);
    expect([violations, error]).toEqual([[], null]);
  });

  test("without a script it is one turn that is not kept, and its messages end with it", async () => {
    const Waits = adapter(async function* (ctx) {
      for await (const { prompt, kept } of ctx.turns) yield [said(`${prompt} ${kept}`), done];
    });
    const { events } = await runAdapter(Waits);
    expect(events).toEqual([said("Say hello. false"), done]);
  });
});
