import { expect, test } from "vitest";
import { inTrace } from "../../core/doors/cli/session-request.ts";
import type { ForkRequest, NewMessage } from "../../plugin-sdk/conversation.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import { client as span } from "../records/telemetry/recorded-session.ts";
import { ScriptedHost } from "../sessions/host/scripted-session-host.ts";
import { connectClient } from "./acp/acp-client.ts";
import { openDoor } from "./http/door-fixture.ts";
import { MemoryHost } from "./http/memory-host.ts";
import { connectOverPipes } from "./mcp/mcp-client.ts";

const traceparent = `00-${span.trace}-${span.span}-01`;
const workdir = "/work/project";

test("HTTP takes the client's span from the header, for a session, a message and a fork, and ignores a malformed one", async () => {
  const sessions = new MemoryHost();
  const taken: (SessionRequest | NewMessage | ForkRequest)[] = [];
  const start = sessions.start.bind(sessions);
  sessions.start = (request, options) => {
    taken.push(request);
    return start(request, options);
  };
  const say = sessions.conversations.say.bind(sessions.conversations);
  const fork = sessions.conversations.fork.bind(sessions.conversations);
  Object.assign(sessions.conversations, {
    say: (id: string, message: NewMessage, caller?: object) => {
      taken.push(message);
      return say(id, message, caller);
    },
    fork: (id: string, wish: ForkRequest) => {
      taken.push(wish);
      return fork(id, wish);
    },
  });
  const door = await openDoor({ sessions });
  const post = async (path: string, body: object, value: string) => {
    const headers = { "content-type": "application/json", traceparent: value };
    return await door.local(`http://localhost${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  };
  const started = await post("/v1/sessions", { workdir, prompt: "go" }, traceparent);
  const { session_id } = await started.json() as { session_id: string };
  await post("/v1/sessions", { workdir, prompt: "go" }, "nonsense");
  const said = await post(`/v1/conversations/${session_id}/messages`, { text: "more" }, traceparent);
  const forked = await post(`/v1/conversations/${session_id}/fork`, { prompt: "else" }, traceparent);
  expect([started.status, said.status, forked.status]).toEqual([201, 202, 201]);
  const spans = taken.filter((one) => !("workdir" in one) || one.prompt === "go").map((one) => one.traceparent);
  expect(spans).toEqual([traceparent, undefined, traceparent, traceparent]);
});

test("MCP takes the client's span from _meta of a call", async () => {
  const host = new ScriptedHost(async () => {});
  await using mcp = await connectOverPipes({ sessions: host });
  const call = { name: "run_session", arguments: { workdir, prompt: "go" } };
  await mcp.client.callTool({ ...call, _meta: { traceparent } });
  await mcp.client.callTool({ ...call, _meta: { traceparent: "nonsense" } });
  const session_id = host.sessions[1]!.id;
  for (const [name, words] of [["send_message", { text: "more" }], ["fork_session", { prompt: "else" }]] as const) {
    await mcp.client.callTool({ name, arguments: { session_id, ...words }, _meta: { traceparent } });
  }
  const spans = host.sessions.map(({ request }) => request.traceparent);
  expect(spans).toEqual([traceparent, undefined, traceparent, traceparent]);
});

test("ACP takes the client's span from _meta of a prompt", async () => {
  const host = new ScriptedHost(async () => {});
  await using editor = connectClient({ sessions: host });
  await editor.initialize();
  const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
  const prompt = [{ type: "text" as const, text: "go" }];
  await editor.agent.request("session/prompt", { sessionId, prompt, _meta: { traceparent } });
  await editor.agent.request("session/prompt", { sessionId, prompt });
  await editor.agent.request("session/prompt", { sessionId, prompt, _meta: { traceparent } });
  expect(host.sessions.map(({ request }) => request.traceparent)).toEqual([traceparent, undefined, traceparent]);
});

test("the command line takes TRACEPARENT of its environment, and a flag before it", () => {
  const env = (name: string) => (name === "TRACEPARENT" ? traceparent : undefined);
  expect(inTrace({}, { env })).toEqual({ traceparent });
  expect(inTrace({ traceparent: "flag" }, { env })).toEqual({ traceparent: "flag" });
  expect(inTrace({}, { env: () => "nonsense" })).toEqual({});
});
