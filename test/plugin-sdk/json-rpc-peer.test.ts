import { describe, expect, test } from "vitest";
import type { JsonFields } from "../../plugin-sdk/json-fields.ts";
import { JsonRpcPeer, rpcCodes, RpcError } from "../../plugin-sdk/json-rpc-peer.ts";

function pathIn({ path }: JsonFields): string {
  if (typeof path === "string") return path;
  throw new RpcError(rpcCodes.invalidParams, "It has no path.");
}

describe("a JSON-RPC peer", () => {
  const open = () => {
    const sent: Record<string, unknown>[] = [];
    const connection = new JsonRpcPeer((message) => Promise.resolve(void sent.push({ ...message })));
    return { sent, connection, flushed: () => new Promise((resolve) => setTimeout(resolve)) };
  };

  test("brings each answer to its request, an error as what it says", async () => {
    const { sent, connection, flushed } = open();
    const asked = [connection.request("a", {}), connection.request("b", { x: 1 })];
    await flushed();
    expect(sent).toEqual([
      { jsonrpc: "2.0", id: 0, method: "a", params: {} },
      { jsonrpc: "2.0", id: 1, method: "b", params: { x: 1 } },
    ]);
    connection.receive({ jsonrpc: "2.0", id: 1, error: { code: 429, message: "Slow down", data: { of: 1 } } });
    connection.receive({ jsonrpc: "2.0", id: 7, result: "of nothing that was asked" });
    connection.receive({ jsonrpc: "2.0", id: 0, result: { y: 2 } });
    expect(await asked[0]).toEqual({ y: 2 });
    await expect(asked[1]).rejects.toMatchObject({ code: 429, message: "Slow down", data: { of: 1 } });
  });

  test("takes the number of a request that comes back as a text, and no other text", async () => {
    const { connection } = open();
    const asked = connection.request("a", {});
    for (const id of ["", "0x0", "-0", "a", "00000000000000000000"]) connection.receive({ id, result: id });
    connection.receive({ id: "0", result: "right" });
    expect(await asked).toBe("right");
  });

  test("fails what waits when the agent is gone, and what comes later", async () => {
    const { sent, connection, flushed } = open();
    const asked = connection.request("a", {});
    connection.end();
    await expect(asked).rejects.toThrow("closed");
    await expect(connection.request("b", {})).rejects.toThrow("closed");
    await expect(connection.notify("c", {})).rejects.toThrow("closed");
    connection.receive({ jsonrpc: "2.0", id: 5, method: "d" });
    await flushed();
    expect(sent.map(({ method }) => method)).toEqual(["a"]);
  });

  test("answers what the agent asks, in the protocol's codes", async () => {
    const { sent, connection, flushed } = open();
    connection.onRequest("known", ({ id, params }) => ({ id, at: pathIn(params) }));
    connection.onRequest("broken", () => Promise.reject(new Error("of ours, with a path of this machine")));
    connection.receive({ jsonrpc: "2.0", id: "x", method: "known", params: { path: "/a" } });
    connection.receive({ jsonrpc: "2.0", id: 2, method: "known", params: [] });
    connection.receive({ jsonrpc: "2.0", id: 3, method: "other" });
    connection.receive({ jsonrpc: "2.0", id: 4, method: "broken" });
    connection.receive({ jsonrpc: "2.0", id: {}, method: "known" });
    await flushed();
    expect(sent.sort((a, b) => String(a["id"]) < String(b["id"]) ? -1 : 1)).toMatchObject([
      { id: 2, error: { code: -32602 } },
      { id: 3, error: { code: -32601 } },
      { id: 4, error: { code: -32603, message: "Internal error" } },
      { id: "x", result: { id: "x", at: "/a" } },
    ]);
  });

  test("sends one message after the other", async () => {
    const order: string[] = [];
    const connection = new JsonRpcPeer(async (message) => {
      const { method } = message as { method: string };
      order.push(`${method} begins`);
      if (method === "slow") await new Promise((resolve) => setTimeout(resolve, 5));
      order.push(`${method} ends`);
    });
    await Promise.all([connection.notify("slow", {}), connection.notify("quick", {})]);
    expect(order).toEqual(["slow begins", "slow ends", "quick begins", "quick ends"]);
  });
});
