import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import type { NetworkResponse } from "../../../core/ground/platform/net/network.ts";
import { createMeter, type MeteredCall } from "../../../core/walls/agent/meter/meter.ts";
import { refuseUnreadable, sendFollowed } from "../../../core/walls/agent/followed-fetch.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";

const usage = { input_tokens: 7, output_tokens: 3 };
const words = JSON.stringify({ model: "m", usage });

/** A model, and a meter that lets so many calls begin. */
function model({ most = Infinity, answer = words, fault }: { most?: number; answer?: string; fault?: Error } = {}) {
  const calls: MeteredCall[] = [];
  let sent = 0;
  let requests = 0;
  const wire = createMeter({
    onRequest: () => void requests++,
    onCall: (call) => void calls.push(call),
    spent: (isRead) => !isRead ? "unread" : calls.length < most ? null : "spent",
  });
  const send = (): Promise<NetworkResponse> => {
    sent++;
    if (fault !== undefined) return Promise.reject(fault);
    const pieces = [Buffer.from(answer.slice(0, 9)), Buffer.from(answer.slice(9))];
    return Promise.resolve({
      status: 200,
      headers: { "content-type": "application/json" },
      body: {
        get ended() {
          return pieces.length === 0;
        },
        cancel: () => {},
        read: () => Promise.resolve(pieces.shift() ?? null),
      },
    });
  };
  const ask = (
    options: Partial<Parameters<typeof sendFollowed>[0]> = {},
    { method = "POST", path = "/v1/messages" } = {},
  ) =>
    sendFollowed(
      { wires: [wire], modelPlaces: "all", ...options },
      { url: new URL(`https://api.example.com${path}`), method, headers: {}, body: method === "GET" ? null : "{}" },
      send,
    );
  return { calls, ask, counts: () => ({ sent, requests }) };
}

async function textOf({ body }: NetworkResponse): Promise<string> {
  let text = "";
  for (let piece; (piece = await body.read()) !== null;) text += Buffer.from(piece).toString();
  return text;
}

test("a call of a model is counted as the adapter reads its answer, and the one after the budget is answered by the host", async () => {
  const { ask, calls, counts } = model({ most: 1 });
  expect(await textOf(await ask())).toBe(words);
  expect(calls).toMatchObject([{ tokens_in: 7, tokens_out: 3, is_known: true, model: "m" }]);
  const refused = await ask();
  expect(refused.status).toBe(400);
  expect(await textOf(refused)).toContain("spent");
  expect(counts()).toEqual({ sent: 1, requests: 1 });
  expect((await ask({}, { method: "GET" })).status, "reading is free").toBe(200);
});

test("what stands behind the last figures is read before the adapter sees them", async () => {
  const { ask, calls } = model();
  const { body } = await ask();
  await body.read();
  const last = await body.read();
  expect(Buffer.from(last!).toString()).toBe(words.slice(9));
  expect(calls, "an adapter may look at nothing more").toMatchObject([{ is_known: true }]);
  expect([await body.read(), body.ended]).toEqual([null, true]);
});

test("an answer that the adapter leaves counts by its size", async () => {
  const { ask, calls } = model();
  const { body } = await ask();
  await body.read();
  body.cancel();
  body.cancel();
  expect(calls).toMatchObject([{ is_known: false, by_size: { tokens_in: 1 } }]);
});

test("a request whose figures cannot be read is refused, one that was never sent is no call, one that failed is", async () => {
  const { ask, counts } = model();
  expect(await textOf(await ask({}, { path: "/v1/batches" }))).toContain("unread");
  expect(counts()).toEqual({ sent: 0, requests: 0 });
  const refusedCause = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
  const away = model({ fault: new BulkheadError("network_error", "Away.", { cause: refusedCause }) });
  await expect(away.ask()).rejects.toThrow("Away.");
  expect(away.calls).toEqual([]);
  const broken = model({ fault: new BulkheadError("network_error", "Broken.") });
  await expect(broken.ask()).rejects.toThrow("Broken.");
  expect(broken.calls).toMatchObject([{ status: null, is_known: false }]);
});

test("of an adapter with programs only what goes to their models is followed", async () => {
  const { ask, calls } = model();
  const endpoint = { program: "agent", key: "K", base_url: "U", url: "https://api.example.com/v1" };
  await textOf(await ask({ modelPlaces: undefined }));
  await textOf(await ask({ modelPlaces: undefined, endpoints: [{ ...endpoint, url: "https://other.example.com" }] }));
  expect(calls).toEqual([]);
  await textOf(await ask({ modelPlaces: undefined, endpoints: [endpoint] }));
  expect(calls).toHaveLength(1);
  // Where the calls of its programs are seen, it has no other way to a model either; its own servers are on this machine.
  await textOf(await ask({ modelPlaces: "elsewhere" as const }));
  expect(calls).toHaveLength(2);
  await textOf(await ask({ modelPlaces: "elsewhere" as const, wires: [] }));
  for (const here of ["127.0.0.1:4096", "localhost:4096", "[::1]:4096"]) {
    refuseUnreadable({ isCounted: true, modelPlaces: "elsewhere" }, new URL(`ws://${here}/events`));
  }
  expect(() => refuseUnreadable({ isCounted: true, modelPlaces: "elsewhere" }, new URL("wss://other.example.com/")))
    .toThrow();
  expect(() => refuseUnreadable({ isCounted: true, modelPlaces: "elsewhere" }, new URL("wss://127.0.0.1.example.com/")))
    .toThrow();
});

test("no socket leads to a model where its calls count", () => {
  const url = new URL("wss://api.example.com/v1/realtime");
  expect(() => refuseUnreadable({ isCounted: true, modelPlaces: "all" }, url)).toThrow("the session has a budget");
  refuseUnreadable({ isCounted: false, modelPlaces: "all" }, url);
  refuseUnreadable({ isCounted: true }, url);
});
