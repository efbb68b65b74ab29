import {
  agent,
  type AgentApp,
  type AgentContext,
  type AuthMethod,
  type ClientCapabilities,
  type ContentBlock,
  type InitializeResponse,
  type McpServer as EditorServer,
  type PromptRequest,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import { BulkheadError, errorDataOf } from "../../../plugin-sdk/errors.ts";
import { fieldsOrNone } from "../../../plugin-sdk/json-fields.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { readTraceparent } from "../../ground/checks/trace-context.ts";
import { hostVersion } from "../../ground/config/version.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { isAbsolute } from "../../ground/platform/files/paths.ts";
import type { McpServer } from "../../ground/config/mcp-server.ts";
import { AcpConversation, type AcpPrompt, type ConversationDeps } from "./conversation.ts";
import { grantedServers } from "./editor-servers.ts";
import { type ForkParams, readFork } from "./fork-params.ts";
import { autoMode, changeOption, configOptions, modeState } from "./options.ts";
import { promptWords } from "./prompt-text.ts";

/** Options of {@link createAcpAgent}. */
export interface AcpAgentOptions {
  sessions: SessionHost;
  /** The mode of a new conversation; default: `auto`. */
  mode?: string | undefined;
  /** Fields of every session's request. */
  defaults?: Partial<SessionRequest> | undefined;
  /** Returns the MCP servers that the host manifest registers; absent: there are none. */
  mcpServers?: (() => Promise<Readonly<Record<string, McpServer>>>) | undefined;
  /**
   * Arguments that make the program which serves this set the host up in a terminal, behind those that it was started
   * with; absent: it cannot.
   */
  setupArgs?: readonly string[] | undefined;
}

/** Conversations that one connection may have open; a new one closes the least recently used. */
const openConversations = 256;
const pageSize = 50;

/** Creates the agent for one connection, and the function that ends what it started. */
export function createAcpAgent(options: AcpAgentOptions): { app: AgentApp; close(): Promise<void> } {
  const connection = new Connection(options);
  // A client that has logged out gets nothing but this error, whatever it asks for.
  const answer = <T>(act: () => Promise<T> | T) =>
    answered(() => {
      connection.checkLogin();
      return act();
    });
  const app = agent({ name: "bulkhead" })
    .onRequest("initialize", ({ params, client }) => connection.initialize(client, params.clientCapabilities))
    .onRequest("authenticate", ({ params }) => {
      throw RequestError.invalidParams({ methodId: params.methodId }, "no method of this agent is asked for this way");
    })
    .onRequest("logout", () => answered(() => connection.logOut()))
    .onRequest("session/new", ({ params }) => answer(() => connection.create(params)))
    .onRequest("session/load", ({ params }) => answer(() => connection.load(params)))
    .onRequest("session/resume", ({ params }) => answer(() => connection.load(params, { isShown: false })))
    .onRequest("session/fork", readFork, ({ params }) => answer(() => connection.fork(params)))
    .onRequest("session/list", ({ params }) => answer(() => connection.list(params)))
    .onRequest("session/close", ({ params }) => answer(() => connection.close(params.sessionId)))
    .onRequest("session/delete", ({ params }) => answer(() => connection.delete(params.sessionId)))
    .onRequest("session/set_mode", ({ params }) => answer(() => connection.setMode(params)))
    .onRequest("session/set_config_option", ({ params }) => answer(() => connection.setOption(params)))
    .onRequest(
      "session/prompt",
      ({ params, signal }) => answer(() => connection.open(params.sessionId).prompt(readPrompt(params), signal)),
    )
    .onRequest(
      "_session/steering",
      readSteering,
      ({ params }) => answer(() => connection.steer(params)),
    )
    .onNotification("session/cancel", ({ params }) => connection.find(params.sessionId)?.cancel());
  return { app, close: () => connection.closeAll() };
}

/** Turns an error into the protocol's form: its code from the one table, its sentence, and the next step. */
async function answered<T>(act: () => Promise<T> | T): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof RequestError) throw error;
    const { code, message, hint, details } = toErrorData(error);
    throw new RequestError(errorTable[code].json_rpc_code, message, {
      error_type: code,
      ...omitUndefined({ recovery_guidance: hint, details }),
    });
  }
}

/** Capabilities that the stable protocol does not have yet. */
const unstableSession = { fork: {} };

class Connection {
  readonly #options: AcpAgentOptions;
  readonly #open = new Map<string, AcpConversation>();
  #deps: ConversationDeps | null = null;
  #agents: Promise<AgentReport[]> = Promise.resolve([]);
  #contextSizes = new Map<string, number>();
  #isLoggedOut = false;

  constructor(options: AcpAgentOptions) {
    this.#options = options;
  }

  initialize(client: AgentContext, can: ClientCapabilities = {}): InitializeResponse {
    this.#deps = {
      sessions: this.#options.sessions,
      client,
      shows: { notices: has(can.session, "notices"), forms: has(can.elicitation, "form") },
      defaults: this.#options.defaults ?? {},
      contextSize: (id) => this.#contextSizes.get(id),
    };
    // Agents take a while to report whether they are available; the client asks for them next.
    this.#askAgents();
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "bulkhead", title: "Bulkhead", version: hostVersion },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: false },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, ...unstableSession },
        auth: { logout: {} },
      },
      authMethods: this.#authMethods(can),
      // An extension of the protocol: _session/steering gives words into the turn under way.
      _meta: { steering: { supported: true } },
    };
  }

  /** Answers as other agents with this extension do: an idle agent wants a prompt, or begins a turn with the words. */
  async steer({ sessionId, prompt, idleBehavior }: SteeringParams): Promise<{ outcome: string; reason?: string }> {
    const conversation = this.open(sessionId);
    const words = promptWords(prompt);
    if (await conversation.steer(words)) return { outcome: "injected" };
    if (idleBehavior === "promptRequired") return { outcome: "promptRequired", reason: "noRunningTurn" };
    conversation.prompt(words, new AbortController().signal).catch(() => {});
    return { outcome: "startedNewTurn" };
  }

  async create({ cwd, mcpServers }: NewParams) {
    const conversation = this.#keep(randomId(), cwd);
    await this.#useServers(conversation, mcpServers);
    return { sessionId: conversation.id, ...await this.#choices(conversation) };
  }

  /** Opens a conversation of the journal, and shows what was said in it unless the client has it. */
  async load({ sessionId, cwd, mcpServers = [] }: LoadParams, { isShown = true }: { isShown?: boolean } = {}) {
    const known = this.find(sessionId);
    const conversation = this.#keep(sessionId, cwd);
    await known?.handOver(conversation);
    await conversation.replay({ isShown }).catch((error: unknown) => {
      this.#open.delete(sessionId);
      throw errorDataOf(error)?.code === "not_found" ? unknownSession(sessionId) : error;
    });
    await this.#useServers(conversation, mcpServers);
    return await this.#choices(conversation);
  }

  /**
   * Begins a conversation that goes on from the newest turn of another one that is over. The client has seen what was said in
   * that one.
   */
  async fork({ sessionId, cwd, mcpServers }: ForkParams) {
    const { sessions } = this.#ready;
    const known = this.find(sessionId);
    if (known !== undefined && known.workdir !== cwd) {
      throw new BulkheadError(
        "invalid_request",
        `Cannot fork the session in "${cwd}": it works in "${known.workdir}".`,
      );
    }
    const source = known ?? new AcpConversation(this.#ready, { id: sessionId, workdir: cwd, mode: autoMode });
    const talk = await source.newestTalk();
    if (talk === null && known === undefined) throw unknownSession(sessionId);
    const id = talk === null ? randomId() : (await sessions.conversations.fork(talk, {}, { client: "acp" })).session_id;
    // It has no turn, and ends at once: the first prompt begins its next session.
    if (talk !== null) await (await sessions.open(id)).result();
    const forked = this.#keep(id, cwd);
    if (talk !== null) await forked.replay({ isShown: false });
    if (known !== undefined) forked.terms = { ...known.terms };
    await this.#useServers(forked, mcpServers);
    return { sessionId: id, ...await this.#choices(forked) };
  }

  async list({ cwd, cursor }: { cwd?: string | null; cursor?: string | null }) {
    const page = await this.#ready.sessions.list({
      labels: { door: "acp" },
      limit: pageSize,
      before: cursor ?? undefined,
    });
    // List a conversation where its newest prompt stands; its earlier prompts may be on later pages.
    const sessions = new Map<string, { sessionId: string; cwd: string; title: string; updatedAt: string }>();
    for (const { labels, workdir, title, started_at, ended_at } of page) {
      const sessionId = labels["acp_session"];
      if (sessionId === undefined || sessions.has(sessionId) || (cwd && cwd !== workdir)) continue;
      sessions.set(sessionId, { sessionId, cwd: workdir, title, updatedAt: ended_at ?? started_at });
    }
    const last = page.length === pageSize ? page.at(-1) : undefined;
    return { sessions: [...sessions.values()], ...(last ? { nextCursor: last.session_id } : {}) };
  }

  async setMode({ sessionId, modeId }: { sessionId: string; modeId: string }) {
    const conversation = this.open(sessionId);
    await this.#change(conversation, "agent", modeId);
    // A client may show the modes, the options, or both.
    const { configOptions } = await this.#choices(conversation);
    await conversation.send({ sessionUpdate: "config_option_update", configOptions });
    return {};
  }

  async setOption({ sessionId, configId, value }: { sessionId: string; configId: string; value: unknown }) {
    const conversation = this.open(sessionId);
    const { mode } = conversation.terms;
    await this.#change(conversation, configId, value);
    const { modes, configOptions } = await this.#choices(conversation);
    if (modes.currentModeId !== mode) {
      await conversation.send({ sessionUpdate: "current_mode_update", currentModeId: modes.currentModeId });
    }
    return { configOptions };
  }

  /** Forgets a conversation and its sessions. One that does not exist is forgotten already. */
  async delete(sessionId: string): Promise<Record<string, never>> {
    const { sessions } = this.#ready;
    const known = this.find(sessionId);
    this.#open.delete(sessionId);
    await known?.close();
    const conversation = known ?? new AcpConversation(this.#ready, { id: sessionId, workdir: "/", mode: autoMode });
    try {
      for (const id of (await conversation.sessionIds()).reverse()) await sessions.delete(id);
    } catch (error) {
      if (errorDataOf(error)?.code !== "not_found") {
        // Another client's session runs: the conversation stays open here.
        if (known !== undefined) await this.load({ sessionId, cwd: known.workdir }, { isShown: false });
        throw error;
      }
    }
    return {};
  }

  /** @throws {RequestError} the client has logged out: its terminal method is no request, and needs a new connection */
  checkLogin(): void {
    if (this.#isLoggedOut) throw RequestError.authRequired({}, "this connection has logged out; start the agent again");
  }

  /** Ends what this connection began, and takes nothing more. Keys and logins of agents are the operator's, and stay. */
  async logOut(): Promise<Record<string, never>> {
    this.#isLoggedOut = true;
    await this.closeAll();
    return {};
  }

  /** @throws {BulkheadError} `not_found` */
  open(sessionId: string): AcpConversation {
    const conversation = this.find(sessionId);
    if (conversation === undefined) throw unknownSession(sessionId);
    this.#open.delete(sessionId);
    this.#open.set(sessionId, conversation);
    return conversation;
  }

  find(sessionId: string): AcpConversation | undefined {
    return this.#open.get(sessionId);
  }

  async close(sessionId: string): Promise<Record<string, never>> {
    const conversation = this.open(sessionId);
    this.#open.delete(sessionId);
    await conversation.close();
    return {};
  }

  async closeAll(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(all.map((conversation) => conversation.close()));
  }

  get #ready(): ConversationDeps {
    if (this.#deps === null) throw new BulkheadError("invalid_request", "Cannot do this before initialize.");
    return this.#deps;
  }

  #keep(id: string, workdir: string): AcpConversation {
    if (!isAbsolute(workdir)) {
      throw new BulkheadError("invalid_request", `Cannot open a session in "${workdir}": the path is not absolute.`);
    }
    const conversation = new AcpConversation(this.#ready, { id, workdir, mode: this.#options.mode ?? autoMode });
    this.#open.set(id, conversation);
    for (const [oldId, old] of this.#open) {
      if (this.#open.size <= openConversations) break;
      void old.close();
      this.#open.delete(oldId);
    }
    return conversation;
  }

  #askAgents(): Promise<AgentReport[]> {
    this.#agents = this.#options.sessions.agents().catch(() => []);
    void this.#agents.then((agents) => {
      for (const { id, capabilities } of agents) {
        if (capabilities.max_context_tokens !== undefined) this.#contextSizes.set(id, capabilities.max_context_tokens);
      }
    });
    return this.#agents;
  }

  async #choices({ shownTerms }: AcpConversation) {
    const agents = await this.#askAgents();
    return { modes: modeState(agents, shownTerms.mode), configOptions: configOptions(agents, shownTerms) };
  }

  async #change(conversation: AcpConversation, id: string, value: unknown): Promise<void> {
    const options = configOptions(await this.#agents, conversation.shownTerms);
    conversation.terms = changeOption(options, { id, value, terms: conversation.terms });
  }

  /** Uses the editor's servers that the operator has granted, and names the others. */
  async #useServers(conversation: AcpConversation, servers: readonly EditorServer[]): Promise<void> {
    if (servers.length === 0) return;
    const { names, refusal } = grantedServers(servers, await this.#options.mcpServers?.() ?? {});
    conversation.mcpServers = names;
    if (refusal !== null) conversation.tell(refusal);
    const late = conversation.serversInUse === null
      ? []
      : names.filter((one) => !conversation.serversInUse!.includes(one));
    if (late.length > 0) {
      conversation.tell(`A new session gets these MCP servers, this one does not: ${late.join(", ")}.`);
    }
  }

  /** The protocol wants a terminal method only where the client can run one; the registry asks under `_meta`. */
  #authMethods({ auth, _meta }: ClientCapabilities): AuthMethod[] {
    const { setupArgs } = this.#options;
    if (setupArgs === undefined || auth?.terminal !== true && _meta?.["terminal-auth"] !== true) return [];
    return [{
      type: "terminal",
      id: "setup",
      name: "Set up Bulkhead",
      description: "Finds the agents of this machine, and asks which of them Bulkhead may run.",
      args: [...setupArgs],
    }];
  }
}

interface NewParams {
  cwd: string;
  mcpServers: EditorServer[];
}

interface LoadParams {
  sessionId: string;
  cwd: string;
  mcpServers?: EditorServer[];
}

function readPrompt({ prompt, _meta }: PromptRequest): AcpPrompt {
  return { ...promptWords(prompt), ...omitUndefined({ traceparent: readTraceparent(_meta?.["traceparent"]) }) };
}

/** Words into a turn, and the wanted answer where none is under way. */
interface SteeringParams {
  sessionId: string;
  prompt: ContentBlock[];
  idleBehavior: unknown;
}

function readSteering(params: unknown): SteeringParams {
  const { sessionId, prompt, _meta } = fieldsOrNone(params);
  const { idleBehavior } = fieldsOrNone(fieldsOrNone(_meta)["steering"]);
  if (typeof sessionId === "string" && Array.isArray(prompt)) return { sessionId, prompt, idleBehavior };
  throw RequestError.invalidParams({}, "it takes sessionId and prompt");
}

function unknownSession(sessionId: string): BulkheadError {
  return new BulkheadError("not_found", `Cannot use session "${sessionId}": this connection has not opened it.`, {
    hint: "Open it with session/new or session/load; session/list names those that can be loaded.",
  });
}

function has(group: unknown, key: string): boolean {
  return fieldsOrNone(group)[key] != null;
}
