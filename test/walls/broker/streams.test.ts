import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StreamTable } from "../../../core/walls/broker/stream-table.ts";
import type { ByteReader } from "../../../core/ground/platform/files/byte-reader.ts";
import { anyShell, codeOf, makeBroker, readAll, runShell } from "./broker-fixture.ts";

function source(chunks: Uint8Array[]): ByteReader & { cancelled: boolean } {
  const left = [...chunks];
  return {
    cancelled: false,
    get ended() {
      return left.length === 0;
    },
    read: () => Promise.resolve(left.shift() ?? null),
    cancel() {
      this.cancelled = true;
    },
  };
}

async function pieces(table: StreamTable, id: number): Promise<string[]> {
  const all: string[] = [];
  for (let piece = await table.read(id); piece !== null; piece = await table.read(id)) all.push(piece);
  return all;
}

describe("StreamTable", () => {
  test("gives the same text however the bytes were cut, never half a character", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme", maxLength: 60 }), fc.array(fc.nat(9)), async (text, sizes) => {
        const bytes = new TextEncoder().encode(text);
        const chunks: Uint8Array[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = (sizes[turn] ?? 3) + 1;
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        const table = new StreamTable({ most: 64 });
        const got = await pieces(table, table.add(source(chunks)));
        expect(got.join("")).toBe(text);
        for (const piece of got) expect(piece).not.toMatch(/\p{Cs}|^$/u);
      }),
    );
  });

  test("cuts long text into pieces of 64 Ki without cutting a pair", async () => {
    const text = `x${"🙂".repeat(100_000)}`;
    const table = new StreamTable({ most: 64 });
    const got = await pieces(table, table.add(source([new TextEncoder().encode(text)])));
    expect(got.join("")).toBe(text);
    expect(Math.max(...got.map((piece) => piece.length))).toBeLessThanOrEqual(65536);
    for (const piece of got) expect(piece).not.toMatch(/\p{Cs}/u);
  });

  test("replaces broken bytes", async () => {
    const table = new StreamTable({ most: 64 });
    expect(await pieces(table, table.add(source([new Uint8Array([0x61, 0xff, 0xe2, 0x82])])))).toEqual([
      "a\ufffd",
      "\ufffd",
    ]);
  });

  test("stays at its end and refuses ids that were never given", async () => {
    const table = new StreamTable({ most: 64 });
    const id = table.add(source([]));
    expect([await table.read(id), await table.read(id)]).toEqual([null, null]);
    await expect(table.read(id + 1)).rejects.toMatchObject({ code: "not_found" });
  });

  test("drops output that nobody began to read before it refuses new streams", () => {
    const table = new StreamTable({ most: 64 });
    const forgotten = source([]);
    table.add(forgotten);
    for (let i = 0; i < 63; i++) table.add(source([new Uint8Array(1)]));
    table.add(source([new Uint8Array(1)]));
    expect(forgotten.cancelled).toBe(true);
    expect(() => table.add(source([]))).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
  });
});

describe("stream_read", () => {
  test("waits for output and refuses a second read meanwhile", async () => {
    const { broker } = await makeBroker({ permissions: { run: [anyShell] } });
    const { process_id, stdout } = await runShell(broker, "read line; echo got $line", { stdin: "open" });
    const first = broker.call("stream_read", { stream_id: stdout });
    expect(await codeOf(broker.call("stream_read", { stream_id: stdout }))).toBe("invalid_request");
    await broker.call("process_write", { process_id, text: "it\n" });
    expect(await first).toBe("got it\n");
    expect(await readAll(broker, stdout)).toBe("");
  });
});

describe("stream_close", () => {
  test("lets the program go on without a reader", async () => {
    const { broker } = await makeBroker({ permissions: { run: [anyShell] } });
    const { process_id, stdout } = await runShell(broker, "head -c 3000000 /dev/zero; exit 5");
    await broker.call("stream_close", { stream_id: stdout });
    expect(await broker.call("process_wait", { process_id })).toEqual({ exit_code: 5, signal: null });
    expect(await broker.call("stream_read", { stream_id: stdout })).toBe(null);
  });

  test("ends a read that waits", async () => {
    const { broker } = await makeBroker({ permissions: { run: [anyShell] } });
    const { stdout } = await runShell(broker, "exec sleep 60");
    const reading = broker.call("stream_read", { stream_id: stdout });
    await broker.call("stream_close", { stream_id: stdout });
    expect(await reading).toBe(null);
  });
});
