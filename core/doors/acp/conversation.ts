import { whileItLasts } from "../../ground/platform/engine/within.ts";
import type { AgentContext, PromptResponse, SessionUpdate } from "@agentclientprotocol/sdk";
import { attachmentsOf, type MessageTerms, textOf } from "../../../plugin-sdk/conversation.ts";
import { BulkheadError, errorDataOf } from "../../../plugin-sdk/errors.ts";
import type { Delivery, Part } from "../../../plugin-sdk/messages.ts";
import { omitEmpty, omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { conversationLabelNames, SessionHost } from "../../sessions/host/session-host.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { askClient } from "./ask-client.ts";
import { Follower } from "./follower.ts";
import { autoMode, type ChosenTerms, type ShownTerms } from "./options.ts";
import type { PromptWords } from "./prompt-text.ts";
import { Prompts } from "./prompts.ts";
import { Updates } from "./updates.ts";

/** Collaborators shared by all conversations of one connection. */
export interface ConversationDeps {
  sessions: SessionHost;
  client: AgentContext;
  shows: { notices: boolean; forms: boolean };
  /** Fields of every request, from the operator. */
  defaults: Partial<SessionRequest>;
  contextSize(adapterId: string): number | undefined;
}

/** Words of a client, and the span that they are part of. */
export interface AcpPrompt extends PromptWords, Pick<SessionRequest, "traceparent"> {}

/** A prompt whose files are in the host. */
interface GivenPrompt extends Pick<SessionRequest, "traceparent"> {
  content: Part[];
}

interface ConversationOptions {
  id: string;
  workdir: string;
  /** `auto`, or the id of the adapter. */
  mode: string;
}

/** Labels of the first Bulkhead session of a conversation: by them it is found again. */
function conversationLabels(id: string): Record<(typeof conversationLabelNames)[number], string> {
  return { door: "acp", acp_session: id };
}

/** How long an agent's program waits for the next prompt. Milliseconds. */
const keepMs = 900_000;

/** One session of the protocol: a conversation, whose first session begins with the first prompt. */
export class AcpConversation {
  readonly id: string;
  readonly workdir: string;
  /** Terms of the next message, as far as the client has chosen them. */
  terms: ChosenTerms;
  /** Names of registered MCP servers for its first session. */
  mcpServers: readonly string[] = [];
  readonly #deps: ConversationDeps;
  readonly #prompts = new Prompts();
  readonly #follower: Follower;
  /** Id of the conversation at the host; null before its first session has started. */
  #talk: string | null = null;
  /** The start of its first session, while it is under way. */
  #starting: { stop: AbortController; done: Promise<unknown> } | null = null;
  /** Sessions and messages of this client, of another object for it. */
  #inherited: Iterable<string> = [];
  #untold: string[] = [];

  constructor(deps: ConversationDeps, { id, workdir, mode }: ConversationOptions) {
    this.#deps = deps;
    this.id = id;
    this.workdir = workdir;
    this.terms = { mode };
    this.#follower = this.#newFollower();
  }

  /** Terms of the next message, with those that hold where the client has chosen none. */
  get shownTerms(): ShownTerms {
    const { adapter, request } = this.#follower;
    const { model, approval } = request ?? this.#deps.defaults;
    const isOther = adapter !== null && this.terms.mode !== autoMode && this.terms.mode !== adapter;
    return { ...this.terms, adapter, held: { model: isOther ? undefined : model, approval } };
  }

  /** Registered MCP servers that its newest session has; null before its first. */
  get serversInUse(): readonly string[] | null {
    const { request } = this.#follower;
    return request === null ? null : request.mcp_servers ?? [];
  }

  /** Returns the id of the host's conversation that it goes on with; null before its first prompt, and for an unknown one. */
  async newestTalk(): Promise<string | null> {
    if (this.#talk !== null) return this.#talk;
    return (await this.#talks().catch((error: unknown) => {
      if (errorDataOf(error)?.code === "not_found") return [];
      throw error;
    })).at(-1) ?? null;
  }

  /** Ids of all its sessions at the host, the oldest first; empty for one that has none. */
  async sessionIds(): Promise<string[]> {
    const { sessions } = this.#deps;
    const reports = await Promise.all((await this.#talks()).map((talk) => sessions.conversations.get(talk)));
    return [...new Set(reports.flatMap((report) => [...report.sessions.map((one) => one.session_id), report.head]))];
  }

  /**
   * Runs a prompt to the end of its turn. One that comes while another runs waits for its turn.
   * @throws {BulkheadError} why the session could not start; what the turn failed with, `details` holding its facts
   */
  async prompt({ text, files, ...trace }: AcpPrompt, signal: AbortSignal): Promise<PromptResponse> {
    if (text.trim() === "" && files.length === 0) {
      throw new BulkheadError("invalid_request", "Cannot take the prompt: it is empty.");
    }
    const given = { content: await this.#partsOf({ text, files }), ...trace };
    await this.#starting?.done.catch(() => {});
    await this.#showUntold();
    const isAnswer = files.length === 0 && await this.#follower.answer(text);
    if (isAnswer) return await this.#untilAnswered(this.#prompts.addToTurn(), signal);
    return this.#talk === null ? await this.#begin(given, signal) : await this.#say(this.#talk, given, signal);
  }

  /** Gives words into the turn under way; false where none is under way. */
  async steer(words: PromptWords): Promise<boolean> {
    if (this.#talk === null || !this.#prompts.isWorking) return false;
    await this.#give(this.#talk, { content: await this.#partsOf(words), messageId: randomId(), delivery: "steer" });
    return true;
  }

  /** Shows a sentence of the host with the next prompt: before that, a client may not know the conversation yet. */
  tell(text: string): void {
    this.#untold.push(text);
  }

  /** Stops the turn under way; prompts that wait for theirs go on. */
  cancel(): void {
    this.#starting?.stop.abort();
    if (this.#talk === null) return;
    this.#follower.stopped();
    this.#prompts.stop();
    this.#deps.sessions.conversations.stop(this.#talk).catch(() => {});
  }

  /** Ends what this client began, and follows nothing any more. Resolves once that is asked for. */
  async close(): Promise<void> {
    this.#starting?.stop.abort();
    const own = this.#follower.ownSession;
    if (own === null && !this.#prompts.isEmpty) this.cancel();
    this.#follower.leave();
    this.#prompts.cancel();
    if (own !== null) await this.#deps.sessions.open(own).then((session) => session.interrupt()).catch(() => {});
  }

  /** Hands all that this client began over to another object for it: nothing ends but the wait of its prompts. */
  async handOver(to: AcpConversation): Promise<void> {
    await this.#starting?.done.catch(() => {});
    this.#follower.leave();
    this.#prompts.cancel();
    to.#inherited = this.#follower.own;
  }

  /**
   * Shows all that was said and done in it before, unless the client has seen it, and follows a session that still runs, here or elsewhere.
   * @throws {BulkheadError} `not_found`
   */
  async replay({ isShown = true }: { isShown?: boolean } = {}): Promise<void> {
    const { sessions } = this.#deps;
    for (const talk of await this.#talks()) {
      this.#talk = talk;
      const { head } = await sessions.conversations.get(talk);
      const { last_seq } = await sessions.get(head);
      this.#follower.hide(isShown ? null : { sessionId: head, seq: last_seq });
      const following = this.#follower.follow(talk);
      await Promise.race([following, this.#follower.shown(head, last_seq)]);
      this.#follower.hide(null);
    }
    for (const id of this.#inherited) this.#follower.own.add(id);
  }

  async #partsOf({ text, files }: PromptWords): Promise<Part[]> {
    const parts: Part[] = text === "" && files.length > 0 ? [] : [{ type: "text", text }];
    for (const { bytes, name } of files) {
      const { sha256, mime_type } = await this.#deps.sessions.attach([bytes], { client: "acp" });
      parts.push(name === null ? { type: "image", sha256, mime_type } : { type: "file", sha256, name, mime_type });
    }
    return parts;
  }

  /** Ids of its conversations at the host. Before there were conversations, each prompt began one. */
  async #talks(): Promise<string[]> {
    const { sessions } = this.#deps;
    const labelled = await sessions.list({ labels: conversationLabels(this.id), limit: 500 });
    const known = labelled.length > 0 ? labelled.reverse() : [await sessions.get(this.id)];
    return [...new Set(known.map(({ conversation_id }) => conversation_id))];
  }

  async #begin(given: GivenPrompt, signal: AbortSignal): Promise<PromptResponse> {
    const stop = new AbortController();
    const abort = () => stop.abort();
    signal.addEventListener("abort", abort, { once: true });
    const started = this.#start(given, stop.signal);
    this.#starting = { stop, done: started };
    let answer: Promise<PromptResponse>;
    try {
      const id = await started;
      this.#talk = id;
      this.#follower.own.add(id);
      answer = this.#prompts.addToTurn();
      this.#follow(id);
    } catch (error) {
      if (stop.signal.aborted) return { stopReason: "cancelled" };
      throw error;
    } finally {
      this.#starting = null;
      signal.removeEventListener("abort", abort);
    }
    if (stop.signal.aborted) this.cancel();
    return await this.#untilAnswered(answer, signal);
  }

  async #start({ content, ...trace }: GivenPrompt, signal: AbortSignal): Promise<string> {
    const { sessions, defaults } = this.#deps;
    const { mode, model, approval } = this.terms;
    const servers = [...new Set([...defaults.mcp_servers ?? [], ...this.mcpServers])];
    const request: SessionRequest = {
      keep_ms: keepMs,
      ...defaults,
      ...omitUndefined({ model, approval, mcp_servers: servers.length > 0 ? servers : undefined }),
      workdir: this.workdir,
      prompt: textOf(content),
      ...omitEmpty({ content: attachmentsOf(content) }),
      ...trace,
      labels: { ...defaults.labels, ...conversationLabels(this.id) },
    };
    // Once it has started, a cancel stops its turn and not the session.
    return await whileItLasts(signal, async (starting) => {
      return (await sessions.start(request, { adapter: mode, client: "acp", signal: starting })).id;
    });
  }

  async #say(talk: string, given: GivenPrompt, signal: AbortSignal): Promise<PromptResponse> {
    const messageId = randomId();
    const { conversations } = this.#deps.sessions;
    const answer = this.#prompts.addMessage(messageId, async () => {
      await this.#give(talk, { ...given, messageId, delivery: "queue" });
      this.#follow(talk);
    });
    const withdraw = () => void conversations.withdraw(talk, messageId).catch(() => this.cancel());
    signal.addEventListener("abort", withdraw, { once: true });
    return await answer.finally(() => signal.removeEventListener("abort", withdraw));
  }

  async #give(
    talk: string,
    { content, messageId, delivery, ...trace }: GivenPrompt & { messageId: string; delivery: Delivery },
  ): Promise<void> {
    this.#follower.own.add(messageId);
    const terms = delivery === "queue" ? this.#otherTerms() : {};
    await this.#deps.sessions.conversations.say(talk, {
      message_id: messageId,
      content,
      delivery,
      ...trace,
      ...(Object.keys(terms).length > 0 ? { with: terms } : {}),
    }, { client: "acp" });
  }

  /** Terms that differ from those of the session under way. */
  #otherTerms(): MessageTerms {
    const { mode, model, approval, adapter, held } = this.shownTerms;
    return omitUndefined({
      agent: mode === autoMode || adapter === null || mode === adapter ? undefined : mode,
      model: model === held.model ? undefined : model,
      approval: approval === held.approval ? undefined : approval,
    });
  }

  async #untilAnswered(answer: Promise<PromptResponse>, signal: AbortSignal): Promise<PromptResponse> {
    const cancel = () => this.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    return await answer.finally(() => signal.removeEventListener("abort", cancel));
  }

  #follow(talk: string): void {
    this.#follower.follow(talk).catch((error: unknown) => this.#prompts.fail(error));
  }

  async #showUntold(): Promise<void> {
    for (const text of this.#untold.splice(0)) await this.send(this.#updates().notice("info", text));
  }

  #newFollower(): Follower {
    const { sessions, client, shows: { forms } } = this.#deps;
    return new Follower({
      sessions,
      prompts: this.#prompts,
      updatesOf: () => this.#updates(),
      send: (update) => this.send(update),
      ask: (request, { sessionId, signal }) =>
        askClient(request, { client, acpSessionId: this.id, sessionId, forms }, signal),
    });
  }

  #updates(): Updates {
    const { shows, contextSize } = this.#deps;
    return new Updates({ workdir: this.workdir, notices: shows.notices, contextSize });
  }

  async send(update: SessionUpdate): Promise<void> {
    await this.#deps.client.notify("session/update", { sessionId: this.id, update });
  }
}
