import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test } from "vitest";
import { FrameReader, headerBytes } from "../../core/ground/checks/frames.ts";
import { MessageReader } from "../../core/walls/channel/messages.ts";
import { resultLines } from "../../core/doors/cli/render/result-lines.ts";
import { createPaint } from "../../core/doors/cli/render/paint.ts";
import { defaultLimits, type Limits } from "../../core/ground/config/limits.ts";
import { Lane } from "../../core/walls/pool/lane.ts";
import type { Container } from "../../core/walls/pool/lane-transport.ts";
import { startProcessContainer } from "../../core/walls/pool/process-container.ts";
import { defaultOsWallUses } from "../../core/ground/platform/os-walls/os-wall.ts";
import { codeOf, makeBroker } from "../walls/broker/broker-fixture.ts";
import { adapterCode, completed, openHost } from "../sessions/host/test-host.ts";
import { fakeLane } from "./fake-lane.ts";

const protocolErrors = 10;
const event = { type: "output", stream: "stdout", data: "x" };

describe("Lane, against a guest that was taken over", () => {
  test("D4 own prototype keys of a message never reach an object's prototype", () => {
    const fake = fakeLane();
    const { events } = fake.open();
    fake.sayText(
      '{"type":"events","sid":1,"events":[{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}]}',
    );
    expect(Object.keys(events[0] as object)).toEqual(["constructor"]);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    for (let n = 0; n < protocolErrors; n++) fake.sayText('{"__proto__":{"type":"pong","n":1}}');
    expect(fake.killed()).toMatch(/break the protocol/);
  });

  test("D6 a message nested a hundred thousand levels deep is refused without a stack overflow", async () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const limits = { event_values: 1_000_000 };
    const fake = fakeLane({ limits });
    const { calls } = fake.open();
    fake.sayText(`{"type":"call","sid":1,"id":1,"op":"kv_set","args":${deep}}`);
    expect(calls).toEqual([]);
    expect(fake.heard.at(-1)).toMatchObject({ type: "reply", id: 1, error: { code: "invalid_request" } });
    for (let n = 0; n < protocolErrors; n++) {
      fake.sayText(`{"type":"done","sid":1,"error":{"code":"fatal","message":"x","details":{"deep":${deep}}}}`);
    }
    expect(fake.killed()).toMatch(/break the protocol/);

    const atLoad = fakeLane({ limits, loaded: false });
    atLoad.sayText(`{"type":"loaded","protocol":2,"error":{"code":"fatal","message":"x","details":{"deep":${deep}}}}`);
    expect(await codeOf(atLoad.lane.loaded)).toBe("protocol_violation");
    const withPrototypes = fakeLane();
    withPrototypes.sayText(`{"__proto__":1,"x":${deep}}`);
    expect(withPrototypes.killed()).not.toBeNull();
  });

  test("D12 an answer, an end or a call for an entry that never was is counted, and the tenth is fatal", () => {
    for (const sid of [0, 2, 7, Number.MAX_SAFE_INTEGER]) {
      const fake = fakeLane();
      const { ended, calls } = fake.open();
      const forged = [
        { type: "done", sid, value: "forged" },
        { type: "call", sid, id: 1, op: "fs_read_text", args: { path: "/etc/passwd" } },
        { type: "events", sid, events: [event] },
      ];
      for (let n = 0; n < protocolErrors - 1; n++) fake.say(forged[n % 3]);
      expect(fake.killed()).toBeNull();
      fake.say(forged[0]);
      expect(fake.killed()).not.toBeNull();
      expect(calls).toEqual([]);
      expect(ended).toEqual([]);
    }
  });

  test("D13 what is no message of ours is never taken for one", () => {
    const forged: unknown[] = [
      { type: { toString: 1 } },
      { type: ["pong"], n: 1 },
      { type: "open", sid: 1 },
      { type: "load", protocol: 2 },
      { type: "part", text: 1, last: true },
      { ready: true, source: "tinypool", taskId: 1, result: "x" },
      "pong",
      7,
      null,
      [],
    ];
    expect(forged).toHaveLength(protocolErrors);
    const fake = fakeLane();
    for (const message of forged.slice(1)) fake.say(message);
    expect(fake.killed()).toBeNull();
    fake.say(forged[0]);
    expect(fake.killed()).toMatch(/break the protocol/);
  });

  test("D13 parts that never end are held to the size of a message", () => {
    const fake = fakeLane({ limits: { message_bytes: 10_000 } });
    for (let n = 0; n < 300; n++) fake.say({ type: "part", text: "", last: false });
    expect(fake.killed()).toMatch(/over the limit/);
  });

  test("D14 operations and types are looked up by name only", async () => {
    const { broker } = await makeBroker({ permissions: { kv: true } });
    for (const name of ["constructor", "__proto__", "toString", "__defineGetter__", "hasOwnProperty", "valueOf", ""]) {
      expect(await codeOf(broker.call(name, {}))).toBe("invalid_request");
      const fake = fakeLane();
      for (let n = 0; n < protocolErrors; n++) fake.say({ type: name, sid: 1 });
      expect(fake.killed()).not.toBeNull();
    }
  });

  test("D15 an entry settles once, and nothing of it is heard afterwards", async () => {
    const fake = fakeLane();
    const { events, calls, ended, entry } = fake.open();
    fake.say({ type: "done", sid: 1, value: 1 });
    fake.say({ type: "done", sid: 1, error: { code: "fatal", message: "again" } });
    fake.say({ type: "events", sid: 1, events: [event] });
    fake.say({ type: "call", sid: 1, id: 1, op: "log", args: {} });
    expect(await entry.ended).toEqual({ value: 1 });
    expect({ events, calls, ended }).toEqual({ events: [], calls: [], ended: [{ value: 1 }] });
    for (let n = 0; n < protocolErrors - 3; n++) fake.say({ type: "done", sid: 1 });
    expect(fake.killed()).toMatch(/break the protocol/);
  });

  test("D15 a second load, and a sign of life nobody asked for, are offences", () => {
    const twice = fakeLane();
    for (let n = 0; n < protocolErrors; n++) twice.say({ type: "loaded", protocol: 2 });
    expect(twice.killed()).not.toBeNull();
    const eager = fakeLane();
    for (let n = 0; n < protocolErrors; n++) eager.say({ type: "pong", n });
    expect(eager.killed()).not.toBeNull();
  });

  test("D15 an answer that comes after a cancel is dropped with its entry", async () => {
    const fake = fakeLane();
    let answer!: (value: unknown) => void;
    const { entry } = fake.open({ onCall: () => new Promise((resolve) => (answer = resolve)) });
    fake.say({ type: "call", sid: 1, id: 1, op: "log", args: {} });
    entry.cancel({ code: "interrupted", message: "Stop." });
    fake.say({ type: "done", sid: 1, error: { code: "interrupted", message: "Stop." } });
    answer("late");
    await entry.ended;
    await Promise.resolve();
    expect(fake.heard.map(({ type }) => type)).toEqual(["load", "open", "cancel"]);
    expect(fake.killed()).toBeNull();
  });

  test("D16 a number gives no authority: each entry's calls reach its own broker", () => {
    const one = fakeLane();
    const first = one.open();
    const second = one.open();
    const other = fakeLane().open();
    one.say({ type: "call", sid: 2, id: 1, op: "env_get", args: { name: "A", session_id: "1" } });
    expect(first.calls).toEqual([]);
    expect(second.calls).toHaveLength(1);
    expect(other.calls).toEqual([]);
  });

  test("D16 streams and programs of one session are unknown to another", async () => {
    const { broker } = await makeBroker({ permissions: { run: [{ binary: "sleep", args: ["{}"] }] } });
    const other = await makeBroker({ permissions: { run: [{ binary: "sleep", args: ["{}"] }] } });
    const started = await broker.call("run", { binary: "sleep", args: ["30"], options: {} }) as Record<string, number>;
    for (
      const [op, args] of [
        ["process_kill", { process_id: started["process_id"] }],
        ["process_write", { process_id: started["process_id"], text: "x" }],
        ["process_wait", { process_id: started["process_id"] }],
        ["stream_read", { stream_id: started["stdout"] }],
      ] as const
    ) expect(await codeOf(other.broker.call(op, args)), op).toBe("not_found");
  });

  test("D20 events without credit are fatal", () => {
    const fake = fakeLane({ limits: { event_credit: 100, event_values: 1_000_000 } });
    const { events } = fake.open();
    const batch = Array.from({ length: 10_000 }, () => event);
    for (let n = 0; n < 12 && fake.killed() === null; n++) fake.say({ type: "events", sid: 1, events: batch });
    expect(fake.killed()).toMatch(/without credit/);
    expect(events.length).toBeLessThanOrEqual(100_100);
  });

  test("D20 more messages than a worker may send in a second are fatal", () => {
    const fake = fakeLane({ limits: { messages_per_second: 1000 } });
    fake.open({ onCall: () => Promise.resolve(null) });
    for (let n = 0; n < 2000 && fake.killed() === null; n++) fake.say({ type: "events", sid: 1, events: [] });
    expect(fake.killed()).toMatch(/messages in a second/);
  });

  test("D22 calls beyond those allowed at once are refused, and a guest that goes on is ended", () => {
    const fake = fakeLane({ limits: { calls_in_flight: 64 } });
    const { calls } = fake.open();
    for (let id = 0; id < 64 + protocolErrors - 1; id++) fake.say({ type: "call", sid: 1, id, op: "kv_get", args: {} });
    expect(calls).toHaveLength(64);
    const refusals = fake.heard.filter((message) =>
      message.type === "reply" && message.error?.code === "limit_exceeded"
    );
    expect(refusals).toHaveLength(protocolErrors - 1);
    expect(fake.killed()).toBeNull();
    fake.say({ type: "call", sid: 1, id: 999, op: "kv_get", args: {} });
    expect(fake.killed()).not.toBeNull();
  });

  test("D24 a worker that speaks another version is refused", async () => {
    for (const protocol of [0, 1, 3, 999]) {
      const fake = fakeLane({ loaded: false });
      fake.say({ type: "loaded", protocol });
      expect(await codeOf(fake.lane.loaded)).toBe("protocol_violation");
      expect(fake.killed()).toMatch(/speaks protocol/);
    }
  });
});

describe("FrameReader and MessageReader", () => {
  test("D18 a length of a gigabyte is refused before anything is kept for it", () => {
    const header = new Uint8Array(headerBytes);
    new DataView(header.buffer).setUint32(0, 2 ** 30, true);
    expect(() => new FrameReader(1024 * 1024).push(header, () => {})).toThrow(/over the limit/);
  });

  test("D19 garbage, half characters, marks and glued messages are no messages", () => {
    const reader = () => new MessageReader(1024);
    const encoder = new TextEncoder();
    for (
      const bytes of [
        Uint8Array.of(0xff, 0xfe),
        Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22),
        Uint8Array.of(0x22, 0xc0, 0x80, 0x22),
        Uint8Array.of(),
        encoder.encode("\ufeff{}"),
        encoder.encode("{}{}"),
        encoder.encode('{"type":"pong","n":NaN}'),
      ]
    ) expect(() => reader().read(bytes)).toThrow(/not (UTF-8|JSON)/);
  });
});

const small: Partial<Limits> = {
  message_bytes: 4 * 1024 * 1024,
  load_timeout_ms: 3000,
  heartbeat_interval_ms: 50,
  heartbeat_timeout_ms: 500,
  warden_grace_ms: 300,
};
const made: { container: Container; folder: string }[] = [];

afterEach(async () => {
  for (const { container, folder } of made.splice(0)) {
    await container.close();
    await rm(folder, { recursive: true, force: true });
  }
});

/** Numbers of the pipes to the host in a warden: its own, and the first worker's. */
const wardenPipe = 3;
const workerPipe = 4;

/** What a warden of the test's own starts with: a pipe, and frames on it. */
const pipeScript = (descriptor: number) => `
import { Socket } from "node:net";
import { Buffer } from "node:buffer";
import process from "node:process";
const pipe = new Socket({ fd: ${descriptor}, readable: true, writable: true });
const frame = (lane, text) => {
  const payload = Buffer.from(text);
  const head = Buffer.alloc(8);
  head.writeUInt32LE(payload.length, 0);
  head.writeUInt32LE(lane, 4);
  return Buffer.concat([head, payload]);
};
const say = (lane, message) => pipe.write(frame(lane, JSON.stringify(message)));
if (${descriptor} === ${wardenPipe}) say(0, { type: "ready", protocol: 2 });
const stay = setInterval(() => {}, 1000);
`;

/** A lane to a process of the test's own in a warden's place. */
async function hostileWarden(
  script: string,
  { descriptor = workerPipe, ...changes }: Partial<Limits> & { descriptor?: number } = {},
): Promise<{ lane: Lane; container: Container }> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-hostile-"));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(join(folder, "warden.js"), `${pipeScript(descriptor)}${script}`);
  const limits = { ...defaultLimits, ...small, ...changes };
  const container = await startProcessContainer(join(folder, "warden.js"), { limits, osWalls: defaultOsWallUses });
  made.push({ container, folder });
  return { container, lane: new Lane(container.openLane(), { pluginId: "acme", script: "1", limits }) };
}

describe("ProcessContainer, against a warden that was taken over", () => {
  describe.each([["its own pipe", wardenPipe], ["a worker's pipe", workerPipe]])("on %s", (_pipe, descriptor) => {
    test.each([
      [
        "D17 closes its channel and lives on",
        `pipe.on("data", () => {}); pipe.end(); setTimeout(() => pipe.destroy(), 50);`,
      ],
      ["D18 leaves a frame unfinished", `pipe.write(Buffer.from([16, 0, 0, 0, 1, 0, 0, 0, 123]));`],
      ["D18 announces a frame of a gigabyte", `pipe.write(Buffer.from([0, 0, 0, 64, 1, 0, 0, 0, 123]));`],
      [
        "D18 drips a frame byte by byte",
        `const all = frame(1, " ".repeat(100_000)); let at = 0; setInterval(() => pipe.write(all.subarray(at, ++at)), 5);`,
      ],
      ["D19 sends garbage", `pipe.write(Buffer.alloc(4096, 0x5a));`],
      [
        "D19 sends bytes that are not UTF-8",
        `pipe.write(Buffer.concat([Buffer.from([2, 0, 0, 0, 1, 0, 0, 0]), Buffer.from([255, 254])]));`,
      ],
      ["D19 reports what no warden reports", `say(0, { type: { toString: 1 } });`],
      ["D24 speaks another version", `say(0, { type: "ready", protocol: 3 });`],
      [
        "D26 prints frames and escapes instead of sending them",
        `process.stdout.write(frame(1, '{"type":"loaded","protocol":2}')); process.stderr.write("\\u001b[2J".repeat(100_000));`,
      ],
    ])("%s: it is ended with a typed error, and nothing of it is left", async (_name, script) => {
      const { lane, container } = await hostileWarden(script, { descriptor });
      expect(["crash", "load_failed", "protocol_violation", "unresponsive"]).toContain(await codeOf(lane.loaded));
      lane.kill("unresponsive", "The test is over.");
      await container.ended;
      expect(isAlive(container.pid!)).toBe(false);
    });
  });

  test("D17 a worker that goes silent after it loaded is ended by its heartbeat", async () => {
    const { lane, container } = await hostileWarden(
      `pipe.once("data", () => { say(1, { type: "loaded", protocol: 2 }); pipe.pause(); });`,
    );
    await lane.loaded;
    expect(await lane.ended).toBeDefined();
    await container.ended;
    expect(isAlive(container.pid!)).toBe(false);
  });

  test("D22 a process that asks and never reads what it is answered is ended, and the host does not grow", async () => {
    const { lane, container } = await hostileWarden(
      `
      pipe.once("data", () => { say(1, { type: "loaded", protocol: 2 }); });
      let ask = 0;
      pipe.on("data", (bytes) => {
        if (!bytes.includes('"type":"open"')) return;
        pipe.pause();
        // No more at once than an honest one has: that would be another attack.
        setInterval(() => say(1, { type: "call", sid: 1, id: ++ask, op: "fs_read_text", args: {} }), 100);
      });`,
      { heartbeat_timeout_ms: 60_000 },
    );
    await lane.loaded;
    const answer = "x".repeat(8 * 1024 * 1024);
    const entry = lane.open({
      call: "run_session",
      request: null,
      config: { working_directory: "/", access_modes: [] },
      facts: { session_id: "s", attempt: 1, workdir: "/", plugin_dir: "/", platform: "linux" },
      onEvents: () => {},
      onCall: () => Promise.resolve(answer),
    });
    const end = await entry.ended;
    expect(end).toMatchObject({ error: { message: expect.stringMatching(/does not read/) } });
    await container.ended;
    expect(isAlive(container.pid!)).toBe(false);
  });
});

describe("Host", () => {
  test("D21 a subscriber that does not read costs a bounded number of envelopes, and loses none", async () => {
    const { host, add, run } = await openHost();
    const count = 20_000;
    await add("flood", {
      code: adapterCode(
        `for (let n = 0; n < ${count}; n++) yield { type: "progress", message: String(n) }; yield ${completed};`,
      ),
    });
    const stop = new AbortController();
    const slow = host.events({ signal: stop.signal })[Symbol.asyncIterator]();
    const before = slow.next();
    const { events } = await run("flood");
    await before;
    expect(events.filter(({ event }) => event.type === "progress")).toHaveLength(count);
    let last = (await before).value?.gseq ?? 0;
    let seen = 1;
    for (let next = await slow.next(); !next.done; next = await slow.next()) {
      expect(next.value.gseq).toBe(last + 1);
      last = next.value.gseq;
      seen++;
      if (next.value.event.type === "session_ended") break;
    }
    stop.abort();
    await slow.return?.();
    expect(seen).toBe(events.length);
  });

  test("D25 an error full of escapes is shown as text, and is cut", async () => {
    const { add, run } = await openHost();
    await add("shouting", {
      code: adapterCode(
        `throw new Error("\\u001b]0;owned\\u0007\\u001b[2J\\u202e<script>" + "x".repeat(2_000_000)); yield 1;`,
      ),
    });
    const { result } = await run("shouting");
    const shown = resultLines(result, { paint: createPaint(false), columns: 100, events: 1 }).join("\n");
    // deno-lint-ignore no-control-regex
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(shown).toContain("\\u{1b}]0;owned");
    expect(JSON.stringify(result.error).length).toBeLessThan(40_000);
  });

  test("D26 what a worker's process prints is never shown as it is", async () => {
    const { lane } = await hostileWarden(
      `process.stdout.write("\\u001b]0;owned\\u0007 last words\\n"); setTimeout(() => process.exit(7), 200);`,
    );
    const error = await lane.loaded.then(() => null, (thrown: Error) => thrown);
    expect(error?.message).toContain("\\u{1b}]0;owned\\u{7} last words");
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
