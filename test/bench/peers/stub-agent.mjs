// The agent of stub-agent.c for a machine without a C compiler. Both do the same; this one starts slower.
import process from "node:process";
import { createInterface } from "node:readline";

let turn = null;

/** Everything that is said to one line leaves in one write. */
function take(line) {
  const { id, method, params } = JSON.parse(line);
  const said = saidTo(method, { id, prompt: JSON.stringify(params?.prompt ?? "") });
  if (said.length > 0) process.stdout.write(said.map((message) => `${JSON.stringify(message)}\n`).join(""));
}

function saidTo(method, { id, prompt }) {
  switch (method) {
    case "initialize":
      return [answer(id, {
        protocolVersion: 1,
        agentInfo: { name: "stub", version: "1.0.0" },
        agentCapabilities: {},
        authMethods: [],
      })];
    case "session/new":
      return [answer(id, { sessionId: "stub" })];
    case "session/prompt":
      if (!prompt.includes("[wait]")) return takeTurn(id, Number(/\[chunks (\d+)/.exec(prompt)?.[1] ?? 1));
      turn = id;
      return [piece("waiting")];
    case "session/cancel":
      return turn === null ? [] : [answer(turn, { stopReason: "cancelled" })];
    default:
      return id === undefined || method === undefined ? [] : [refusal(id)];
  }
}

function takeTurn(id, count) {
  const pieces = Array.from({ length: count }, (_, n) => piece(`piece ${n} of the answer `));
  return [...pieces, answer(id, { stopReason: "end_turn" })];
}

function piece(text) {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  return { jsonrpc: "2.0", method: "session/update", params: { sessionId: "stub", update } };
}

function answer(id, result) {
  return { jsonrpc: "2.0", id, result };
}

function refusal(id) {
  return { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
}

createInterface({ input: process.stdin }).on("line", take);
