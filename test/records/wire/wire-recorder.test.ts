import { Buffer } from "node:buffer";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createRedactor, type Secret } from "../../../core/ground/log/redact.ts";
import { bytesOf, readCall, WireRecords } from "../../../core/records/wire/record-files.ts";
import { WireRecorder } from "../../../core/records/wire/wire-recorder.ts";
import type { WireFollower, WireRequest } from "../../../core/walls/agent/wire.ts";
import { afterEveryTest } from "../../clean-up.ts";

const roots: string[] = [];
afterEveryTest(async () => {
  for (const root of roots.splice(0)) await rm(root, { recursive: true, force: true });
});

const ends = { turns: 1, tree: null };
const post = { method: "POST", path: "/v1/messages", headers: [], base: "https://api.example.com" };

async function recorder({ calls = 100, secrets = [] }: { calls?: number; secrets?: Secret[] } = {}) {
  const root = await mkdtemp(join(tmpdir(), "bulkhead-record-"));
  roots.push(root);
  const wire = new WireRecorder(new WireRecords(join(root, "wire")), {
    head: {
      wire_record: 1,
      session_id: "one",
      conversation_id: "one",
      turn: 1,
      begun_at: new Date().toISOString(),
      places: {},
    },
    bounds: { call_bytes: 16e6, record_bytes: 64e6, calls },
    redactor: createRedactor(secrets),
  });
  const call = (changes: Partial<WireRequest> = {}) => wire.begin({ ...post, ...changes }) as WireFollower | null;
  const read = async (number: number) => {
    const found = await readCall(join(root, "wire", "one"), number);
    const text = (body: Parameters<typeof bytesOf>[0]) => Buffer.from(bytesOf(body)).toString();
    return found === null ? null : { ...found, request: text(found.request), answer: text(found.answer) };
  };
  return { wire, call, read };
}

test("WireRecorder holds bytes, and no memory for each piece of them", { timeout: 60_000 }, async () => {
  const { wire, call, read } = await recorder();
  const one = call()!;
  const letter = Buffer.from("a");
  const held = () => process.memoryUsage().heapUsed + process.memoryUsage().external;
  const before = held();
  for (let times = 0; times < 1_000_000; times++) one.sent?.(letter);
  expect(held() - before).toBeLessThan(48_000_000);
  one.answered?.({ status: 200, headers: [] });
  one.ended?.(true);
  expect(await wire.end(ends)).toMatchObject({ calls: 1 });
  expect((await read(1))?.request).toBe("a".repeat(1_000_000));
});

test("WireRecorder: a record is bounded in its calls, and heads of answers count", async () => {
  const many = await recorder({ calls: 3 });
  for (let times = 0; times < 3; times++) many.call({ method: "GET" })?.ended?.(true);
  expect(many.call()).toBeNull();
  expect((await many.wire.end(ends)).incomplete).toBe("it has more than 3 calls");
  const long = await recorder();
  for (let times = 0; times < 3; times++) {
    long.call()?.answered?.({ status: 200, headers: [["x", "y".repeat(12e6)]] });
  }
  expect((await long.wire.end(ends)).incomplete).toBe("calls came faster than they could be written");
});

const secrets = [{ name: "TOKEN", value: "hunter2-hunter2-hunter2" }];

test.each(["\n", "\r\n", "\r"])("WireRecorder keeps no secret that is spread over events: %j", async (end) => {
  const { wire, call, read } = await recorder({ secrets });
  const delta = (index: number, said: object) =>
    `event: x${end}data: ${JSON.stringify({ type: "delta", index, delta: said })}${end}${end}`;
  const before = delta(2, { text: "as it is: 1.0" });
  const answer = [
    before,
    delta(0, { text: "It is hunter2-hun" }),
    delta(1, { partial_json: '{"command":"echo hunter2-' }),
    delta(0, { text: "ter2-" }),
    delta(0, { text: "hunter2." }),
    delta(1, { partial_json: 'hunter2-hunter2"}' }),
  ].join("");
  const one = call()!;
  one.answered?.({ status: 200, headers: [] });
  one.received?.(Buffer.from(answer));
  one.ended?.(true);
  expect(await wire.end(ends)).toMatchObject({ calls: 1 });
  const kept = (await read(1))!.answer;
  expect(kept.startsWith(before)).toBe(true);
  const events = kept.split(/[\r\n]+/).filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice(6)) as { delta: Record<string, string> });
  expect(events.map(({ delta: { text = "" } }) => text).join("|")).toBe(
    "as it is: 1.0|It is [redacted TOKEN].||||",
  );
  expect(events.map(({ delta: { partial_json = "" } }) => partial_json).join("")).toBe(
    '{"command":"echo [redacted TOKEN]"}',
  );
});

test.each<[string, Uint8Array, boolean]>([
  [
    "an event that is no text",
    Buffer.concat([Buffer.from('data: {"a":"'), Buffer.from([255]), Buffer.from('"}\n')]),
    false,
  ],
  ["bytes that are no events", Buffer.from([255, 1, 2]), true],
  ["an event over several lines", Buffer.from('data: {"a":\ndata: "hunter2-"}\n\n'), false],
  ["an event that broke off", Buffer.from('data: {"a":"b"}\n\ndata: {"a":"hun'), true],
  ["more events than are read", Buffer.from("data: {}\n".repeat(200_001)), false],
  ["a long event", Buffer.from(`data: {"a":"${"x".repeat(100_000)}"}\n\n`), true],
  ["JSON", Buffer.from('{"a":\n1}'), true],
])("WireRecorder keeps no answer in which a secret could be spread unseen: %s", async (_, answer, isKept) => {
  for (const known of [secrets, []]) {
    const { wire, call } = await recorder({ secrets: known });
    const one = call()!;
    one.answered?.({ status: 200, headers: [] });
    one.received?.(Buffer.from(answer));
    one.ended?.(true);
    expect((await wire.end(ends)).incomplete).toBe(
      isKept || known.length === 0 ? undefined : "an answer cannot be read, so that no secret is seen in it",
    );
  }
});

test("WireRecorder keeps no encoded request, and says so", async () => {
  for (const encoding of ["gzip", "br", "zstd", "identity"]) {
    const { wire, call, read } = await recorder({ secrets });
    const one = call({ headers: [["content-Encoding", encoding]] });
    one?.sent?.(gzipSync(secrets[0]!.value));
    one?.ended?.(true);
    const incomplete = "a request is encoded, so that no secret is seen in it";
    expect(await wire.end(ends)).toMatchObject({ calls: 0, incomplete });
    expect(await read(1)).toBeNull();
  }
});
