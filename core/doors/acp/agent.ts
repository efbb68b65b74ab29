import {
  agent,
  type AgentApp,
  type AgentContext,
  type ContentBlock,
  type PromptRequest,
  PROTOCOL_VERSION,
  RequestError,
  type SessionModeState,
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
import { AcpConversation, type AcpPrompt, autoMode, type ConversationDeps } from "./conversation.ts";
import { promptWords } from "./prompt-text.ts";

/** Options of {@link createAcpAgent}. */
export interface AcpAgentOptions {
  sessions: SessionHost;
  /** The mode of a new conversation; default: `auto`. */
  mode?: string | undefined;
  /** Fields of every session's request. */
  defaults?: Partial<SessionRequest> | undefined;
}

/** Conversations that one connection may have open; a new one closes the least recently used. */
const openConversations = 256;
const pageSize = 50;

/** Creates the agent for one connection, and the function that ends what it started. */
export function createAcpAgent(options: AcpAgentOptions): { app: AgentApp; close(): Promise<void> } {
  const connection = new Connection(options);
  const app = agent({ name: "bulkhead" })
    .onRequest("initialize", ({ params, client }) => connection.initialize(client, params.clientCapabilities))
    .onRequest("authenticate", ({ params }) => {
      throw RequestError.invalidParams({ methodId: params.methodId }, "this agent asks for no authentication");
    })
    .onRequest("session/new", ({ params }) => answer(() => connection.create(params)))
    .onRequest("session/load", ({ params }) => answer(() => connection.load(params)))
    .onRequest("session/list", ({ params }) => answer(() => connection.list(params)))
    .onRequest("session/close", ({ params }) => answer(() => connection.close(params.sessionId)))
    .onRequest("session/set_mode", ({ params }) => answer(() => connection.setMode(params)))
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
async function answer<T>(act: () => Promise<T> | T): Promise<T> {
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

class Connection {
  readonly #options: AcpAgentOptions;
  readonly #open = new Map<string, AcpConversation>();
  #deps: ConversationDeps | null = null;
  #agents: Promise<AgentReport[]> = Promise.resolve([]);
  #contextSizes = new Map<string, number>();

  constructor(options: AcpAgentOptions) {
    this.#options = options;
  }

  initialize(client: AgentContext, can: { session?: unknown; elicitation?: unknown } = {}): InitializeAnswer {
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
        sessionCapabilities: { list: {}, close: {} },
      },
      authMethods: [],
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

  async create({ cwd, mcpServers }: { cwd: string; mcpServers: { name: string }[] }) {
    const conversation = this.#keep(randomId(), cwd);
    tellUnused(conversation, mcpServers);
    return { sessionId: conversation.id, modes: await this.#modes(conversation) };
  }

  async load({ sessionId, cwd, mcpServers }: { sessionId: string; cwd: string; mcpServers: { name: string }[] }) {
    void this.find(sessionId)?.close();
    const conversation = this.#keep(sessionId, cwd);
    await conversation.replay().catch((error: unknown) => {
      this.#open.delete(sessionId);
      throw errorDataOf(error)?.code === "not_found" ? unknownSession(sessionId) : error;
    });
    tellUnused(conversation, mcpServers);
    return { modes: await this.#modes(conversation) };
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
    const { availableModes } = modeState(await this.#agents, conversation.mode);
    if (!availableModes.some(({ id }) => id === modeId)) {
      throw new BulkheadError("unknown_adapter", `Cannot set the mode: no enabled adapter has the id "${modeId}".`, {
        hint: `Modes are ${availableModes.map(({ id }) => id).join(", ")}.`,
      });
    }
    conversation.mode = modeId;
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

  close(sessionId: string): Record<string, never> {
    void this.open(sessionId).close();
    this.#open.delete(sessionId);
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

  async #modes({ mode }: AcpConversation) {
    return modeState(await this.#askAgents(), mode);
  }
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

type InitializeAnswer = {
  protocolVersion: number;
  agentInfo: { name: string; title: string; version: string };
  agentCapabilities: Record<string, unknown>;
  authMethods: [];
  _meta: Record<string, unknown>;
};

/** Tells the client that its servers are not run: the operator decides which servers an agent may have. */
function tellUnused(conversation: AcpConversation, servers: readonly { name: string }[]): void {
  if (servers.length === 0) return;
  const names = servers.map(({ name }) => name).join(", ");
  conversation.tell(
    `The editor's MCP servers are not used (${names}): ` +
      "register them under mcp_servers in bulkhead.yaml and name them with --mcp-server.",
  );
}

function unknownSession(sessionId: string): BulkheadError {
  return new BulkheadError("not_found", `Cannot use session "${sessionId}": this connection has not opened it.`, {
    hint: "Open it with session/new or session/load; session/list names those that can be loaded.",
  });
}

function has(group: unknown, key: string): boolean {
  return typeof group === "object" && group !== null && (group as Record<string, unknown>)[key] != null;
}

/** The modes of a conversation: the host's own choice, and one for each adapter that is enabled. */
function modeState(agents: readonly AgentReport[], currentModeId: string): SessionModeState {
  const enabled = agents.filter(({ availability }) => availability !== "disabled");
  return {
    currentModeId,
    availableModes: [
      { id: autoMode, name: "Automatic", description: autoDescription(agents) },
      ...enabled.map(({ id, name, availability, reason }) => ({
        id,
        name,
        description: availability === "available" ? reason : `Not available now: ${reason}`,
      })),
    ],
  };
}

function autoDescription(agents: readonly AgentReport[]): string {
  const primary = agents.find((agent) => agent.primary);
  return primary === undefined
    ? "Bulkhead chooses the agent."
    : `Bulkhead chooses the agent: ${primary.name} now, another where it fails.`;
}
