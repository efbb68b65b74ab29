// Usage: tasks-client.mjs MODULES URL TOKEN ACTION
// Works with tasks over MCP by the client of the extension's own project, which is installed in MODULES, and prints what
// it got as one line of JSON. An action is {call, detach} with the arguments of run_session, or {resume} with a reference.
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

const [modules, url, token, action] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(modules, "@modelcontextprotocol", file)).href);
const { Client, StreamableHTTPClientTransport } = await load("client/dist/index.mjs");
const { createTaskSessionFromClient } = await load("ext-tasks/dist/client/index.js");
const { call, detach = false, resume } = JSON.parse(action);

const clientInfo = { name: "tasks-client", version: "1.0.0" };
const clientCapabilities = { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } };
const client = new Client(clientInfo, {
  capabilities: clientCapabilities,
  versionNegotiation: { mode: { pin: "2026-07-28" } },
});
const headers = { authorization: `Bearer ${token}` };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
await client.connect(transport);

// The library's client refuses what it does not know, so what belongs to tasks goes around it.
const waiting = new Map();
const taken = transport.onmessage;
transport.onmessage = (message, extra) => {
  const settle = waiting.get(message.id);
  if (settle === undefined) return taken?.(message, extra);
  waiting.delete(message.id);
  settle("error" in message ? { kind: "error", error: message.error } : { kind: "result", result: message.result });
};
let count = 0;
function rawDispatch(request) {
  return new Promise((resolve, reject) => {
    const id = `tasks-${++count}`;
    waiting.set(id, resolve);
    transport.send({ jsonrpc: "2.0", id, ...request }).catch(reject);
  });
}

const asked = [];
const session = createTaskSessionFromClient(client, {
  endpointId: "bulkhead",
  rawDispatch,
  v2RequestFraming: { protocolVersion: "2026-07-28", clientInfo, clientCapabilities },
  onInputRequest: ({ params }) => {
    asked.push(params.message);
    return { action: "accept", content: { answer: "yes" } };
  },
});
const execution = resume === undefined ? await session.callTool("run_session", call) : await session.resumeTask(resume);
const { kind } = execution;
const reference = kind === "task" ? execution.serializeReference() : null;
const states = [];
if (detach) await execution.detach();
const outcome = detach
  ? null
  : (await execution.settle({ onEvent: ({ task }) => void (task && states.push(task.status)) })).outcome;
console.log(JSON.stringify({ kind, reference, asked, states, outcome }));
await session.close();
await client.close();
