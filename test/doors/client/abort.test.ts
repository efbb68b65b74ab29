import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { connectHost } from "../../../core/doors/client/mod.ts";
import { collectGarbage } from "../../../core/ground/platform/engine/collect-garbage.ts";
import { envelopesOf } from "../cli/fake-host.ts";

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
});

/** A host that answers with that much of a body and then says nothing; resolves when its client has gone. */
async function silentHost(begin: string | null): Promise<{ url: string; gone: Promise<void> }> {
  let left!: () => void;
  const gone = new Promise<void>((resolve) => (left = resolve));
  server = createServer((_, response) => {
    response.once("close", left);
    if (begin === null) return;
    response.writeHead(200, { "content-type": "application/json" });
    response.write(begin);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, gone };
}

/** Lets the engine collect what nobody holds any more, as it does by itself in a program that runs for long. */
async function collectAll(): Promise<void> {
  for (let time = 0; time < 3; time++) {
    await sleep(20);
    collectGarbage();
  }
}

const token = `bh_${"0".repeat(32)}_${"a".repeat(43)}`;
const line = `${JSON.stringify(envelopesOf([{ type: "progress", message: "begun" }])[0])}\n`;

test("a stream of events ends when its signal aborts, long after it began", async () => {
  const { url, gone } = await silentHost(line);
  const leave = new AbortController();
  const seen: string[] = [];
  const reading = (async () => {
    for await (const { event } of connectHost({ url }).events({ signal: leave.signal })) seen.push(event.type);
  })();
  while (seen.length === 0) await sleep(5);
  await collectAll();
  leave.abort();
  await reading;
  await gone;
  expect(seen).toEqual(["progress"]);
});

test.each([
  ["that is not answered", null, undefined],
  ["whose answer does not end", "{", undefined],
  ["for the server's proof, whose answer does not end", "{", token],
])(
  "a stream of events ends with its signal in a request %s",
  async (_, begin, token) => {
    const { url, gone } = await silentHost(begin);
    const leave = new AbortController();
    const reading = (async () => {
      for await (
        const _ of connectHost({ url, ...(token === undefined ? {} : { token }) }).events({ signal: leave.signal })
      ) {
        throw new Error("It said something.");
      }
    })();
    await collectAll();
    leave.abort();
    await reading;
    // A body that is read as JSON cannot be left before its end.
    if (token === undefined) await gone;
  },
);
