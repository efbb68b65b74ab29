import { Buffer } from "node:buffer";
import process from "node:process";
import { expect, test } from "vitest";
import { createMeter, type MeteredCall } from "../../../core/walls/agent/meter/meter.ts";
import { openModel, placeholder, request } from "./open-model.ts";

const bytes = 1_000_000_000;

test(
  "createMeter: a gigabyte of an answer passes with its figures, in bounded memory",
  { timeout: 300_000 },
  async () => {
    const calls: MeteredCall[] = [];
    const wires = [createMeter({ onRequest() {}, onCall: (call) => calls.push(call), spent: () => null })];
    const delta = { type: "content_block_delta", delta: { type: "text_delta", text: "words ".repeat(20) } };
    const piece = Buffer.from(`data: ${JSON.stringify(delta)}\n\n`.repeat(400));
    const start = 'data: {"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1}}}\n\n';
    const end = 'data: {"type":"message_delta","usage":{"output_tokens":9}}\n\n';
    const model = await openModel((socket) => {
      let left = bytes;
      const more = () => {
        while (left > 0) {
          left -= piece.length;
          if (!socket.write(piece)) return void socket.once("drain", more);
        }
        socket.end(end);
      };
      socket.write(`HTTP/1.1 200 OK\r\n\r\n${start}`);
      more();
    }, { wires });
    const client = await model.open(
      request("/model/v1/messages", { "x-api-key": placeholder, "Content-Length": "0" }, "POST"),
    );
    let [passed, most] = [0, 0];
    const before = process.memoryUsage();
    client.on("data", (part: Uint8Array) => {
      passed += part.length;
      const { heapUsed, external } = process.memoryUsage();
      most = Math.max(most, heapUsed + external - before.heapUsed - before.external);
    });
    await new Promise((resolve) => client.once("end", resolve));
    expect(passed).toBeGreaterThan(bytes);
    expect(most).toBeLessThan(256_000_000);
    expect(calls).toMatchObject([{ tokens_in: 7, tokens_out: 9, is_known: true }]);
  },
);
