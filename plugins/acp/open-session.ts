import {
  BulkheadError,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  type JsonRpcPeer,
  mcpServerList,
  rpcCodes,
  RpcError,
  type SessionRequest,
  textOf,
} from "bulkhead/plugin-sdk";
import { askingMode, namedTools, saysApproval } from "./asking.ts";
import type { Handshake } from "./handshake.ts";
import type { AgentOptions } from "./options.ts";
import { chooseMode, chooseModel, modelOf } from "./session-choices.ts";

/** The protocol's version that is spoken here. */
const protocolVersion = 1;

/** The agent's description of itself before a session. */
export interface Greeting {
  name: string | undefined;
  version: string | undefined;
  capabilities: JsonFields;
  /** Whether it takes words into a running turn. */
  isSteered: boolean;
}

/** A session that the agent has opened. */
interface OpenSession {
  greeting: Greeting;
  sessionId: string;
  /** The agent's answer to its opening. */
  session: JsonFields;
}

/** Collaborators of {@link openSession}. */
export interface OpeningDeps {
  agent: JsonRpcPeer;
  /** Waits for the agent's answers until a session is open: words may come instead. */
  handshake: Handshake;
  options: AgentOptions;
  workdir: string;
}

/**
 * Opens the session to talk in: a new one, or an earlier one, by the way to it that the agent has.
 * @throws {BulkheadError} `unsupported` where the agent speaks another version, or keeps no sessions
 */
export async function openSession(request: SessionRequest, deps: OpeningDeps): Promise<OpenSession> {
  const greeting = await greet(deps);
  const { continue_from, fork } = request;
  const { asking: { meta } } = deps.options;
  const where = {
    cwd: deps.workdir,
    mcpServers: serversOf(request, greeting.capabilities),
    ...(meta && saysApproval(request) ? { _meta: meta(namedTools(request)) } : {}),
  };
  if (continue_from === undefined) {
    const session = await ask("session/new", where, deps);
    return { greeting, session, sessionId: textOf(session["sessionId"]) ?? "" };
  }
  const method = fork === undefined ? wayBack(greeting.capabilities) : copying(greeting.capabilities);
  const session = await ask(method, { sessionId: continue_from, ...where }, deps).catch((error: unknown) => {
    throw error instanceof RpcError && error.code === rpcCodes.methodNotFound ? lacking(fork) : error;
  });
  const sessionId = textOf(session["sessionId"]);
  // Without a name of its own it is the session that another conversation uses.
  if (fork !== undefined && (sessionId === undefined || sessionId === continue_from)) throw lacking(fork);
  return { greeting, session, sessionId: sessionId ?? continue_from };
}

/** Returns the agent's greeting after checking that a session can begin; sends nothing to its model. */
export async function tryOpening(deps: OpeningDeps): Promise<Greeting> {
  const greeting = await greet(deps);
  const { sessionId } = await ask("session/new", { cwd: deps.workdir, mcpServers: [] }, deps);
  const { sessionCapabilities } = greeting.capabilities;
  const method = ["delete", "close"].find((one) => fieldsOf(fieldsOrNone(sessionCapabilities)[one]) !== null);
  if (method !== undefined) await deps.agent.request(`session/${method}`, { sessionId }).catch(() => {});
  return greeting;
}

/**
 * Asks for the session's mode and model, and returns its model, where that is known.
 * @throws {BulkheadError} `invalid_model`, `invalid_request` for what the agent does not offer; `unenforceable` where it
 * does not ask
 */
export async function choose(
  request: SessionRequest,
  { sessionId, session }: OpenSession,
  { agent, options, contained }: Pick<OpeningDeps, "agent" | "options"> & { contained: boolean },
): Promise<string | undefined> {
  const { mode: named, asking, containedMode } = options;
  const free = contained && !saysApproval(request) ? containedMode : undefined;
  const mode = askingMode({ session, request, named, known: asking.mode }) ?? free;
  await chooseMode(agent, { sessionId, session, mode });
  return await chooseModel(agent, { sessionId, session, model: request.model }) ?? modelOf(session);
}

async function greet(deps: OpeningDeps): Promise<Greeting> {
  const { files, terminals, authMethod } = deps.options;
  const answer = await ask("initialize", {
    protocolVersion,
    clientInfo: { name: "bulkhead", version: "1.0.0" },
    clientCapabilities: {
      fs: { readTextFile: files, writeTextFile: files },
      terminal: terminals,
      // Else agents put their notices into the answer.
      session: { notices: {} },
    },
  }, deps);
  if (answer["protocolVersion"] !== protocolVersion) {
    const theirs = String(answer["protocolVersion"]).slice(0, 20);
    throw new BulkheadError(
      "unsupported",
      `Cannot talk to the agent: it speaks version ${theirs} of the protocol, and ${protocolVersion} is needed.`,
    );
  }
  if (authMethod !== undefined) await deps.agent.request("authenticate", { methodId: authMethod });
  const { name, version } = fieldsOrNone(answer["agentInfo"]);
  return {
    name: textOf(name),
    version: textOf(version)?.slice(0, 256),
    capabilities: fieldsOrNone(answer["agentCapabilities"]),
    isSteered: isSteered(answer),
  };
}

async function ask(method: string, params: object, { agent, handshake }: OpeningDeps): Promise<JsonFields> {
  return fieldsOrNone(await handshake.answer(method, agent.request(method, params)));
}

/** The method that opens an earlier session; the first of them does not say again what was said. */
function wayBack({ loadSession, sessionCapabilities }: JsonFields): string {
  if (fieldsOf(fieldsOrNone(sessionCapabilities)["resume"])) return "session/resume";
  if (loadSession === true) return "session/load";
  throw lacking(undefined);
}

/** The method that opens a copy of an earlier session: always all of it. */
function copying({ sessionCapabilities }: JsonFields): string {
  if (fieldsOf(fieldsOrNone(sessionCapabilities)["fork"])) return "session/fork";
  throw lacking({});
}

/** The host gives such an agent a briefing, where it chose the session. */
function lacking(fork: SessionRequest["fork"]): BulkheadError {
  const message = fork === undefined
    ? "Cannot continue the session: the agent does not keep its sessions."
    : "Cannot fork the session: the agent does not copy its sessions.";
  const fields = [fork === undefined ? "continue_from" : "fork"];
  return new BulkheadError("unsupported", message, { details: { fields } });
}

/** Stands for the session's MCP servers: the host alone knows them, and puts them in when the agent is told. */
function serversOf({ mcp_servers = [] }: SessionRequest, { mcpCapabilities }: JsonFields): string[] {
  if (mcp_servers.length === 0) return [];
  const takesHttp = fieldsOrNone(mcpCapabilities)["http"] === true;
  return [mcpServerList, "command", ...(takesHttp ? ["http"] : [])];
}

/** Agents say so beside their capabilities. */
function isSteered({ _meta }: JsonFields): boolean {
  return fieldsOrNone(fieldsOrNone(_meta)["steering"])["supported"] === true;
}
