import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { textOf } from "../../../plugin-sdk/conversation.ts";
import type { Envelope, SessionStartedEvent } from "../../../plugin-sdk/envelope.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import { type AskedRequest, AskedRequests } from "../../sessions/host/asked-requests.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import type { ClientAnswer } from "./ask-client.ts";
import type { Prompts } from "./prompts.ts";
import type { Updates } from "./updates.ts";

interface FollowerOptions {
  sessions: SessionHost;
  prompts: Prompts;
  updatesOf(): Updates;
  send(update: SessionUpdate): Promise<void>;
  ask(request: AskedRequest, of: { sessionId: string; signal: AbortSignal }): Promise<ClientAnswer>;
}

/** Milliseconds from a no of the client to the word that its prompt is cancelled. */
const cancelMs = 300;
/** Milliseconds until a conversation that has ended is looked at again for the session that takes a prompt. */
const againMs = 100;

/** Shows a client one conversation, session after session, and asks it what its agents ask. */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #left = new AbortController();
  #stopped = new AbortController();
  #session: { id: string; asked: AskedRequests; updates: Updates } | null = null;
  /** `gseq` of the last event that was seen, and its `seq` in the session. */
  #gseq = 0;
  #seq = 0;
  #wake: () => void = () => {};
  #isRunning = false;
  #isWanted = false;
  #open: AskedRequest | null = null;
  /** Sessions that this client began, and messages that it gives: it shows their words itself. */
  readonly own: Set<string> = new Set();
  /** Texts of messages that were accepted, by their id. */
  readonly #texts = new Map<string, string>();
  #adapter: string | null = null;
  #request: SessionRequest | null = null;
  /** The event up to which nothing is shown. */
  #hidden: { sessionId: string; seq: number } | null = null;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** The adapter that took the conversation last; null before its agent is chosen. */
  get adapter(): string | null {
    return this.#adapter;
  }

  /** The request of its newest session; null before its first. */
  get request(): SessionRequest | null {
    return this.#request;
  }

  /** The session under way, if this client began it. */
  get ownSession(): string | null {
    // Its first session may have started before its first event is there.
    const [first = null] = this.own;
    const id = this.#session?.id ?? first;
    return id !== null && this.own.has(id) ? id : null;
  }

  /** Follows a conversation from the last event seen, unless it does; resolves once it has ended. */
  async follow(conversation: string): Promise<void> {
    this.#isWanted = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { signal } = this.#left;
    const { sessions, prompts } = this.#options;
    try {
      while (this.#isWanted && !signal.aborted) {
        this.#isWanted = false;
        for await (const envelope of sessions.conversations.events(conversation, { after: this.#gseq, signal })) {
          this.#gseq = envelope.gseq;
          await this.#see(envelope);
        }
        if (prompts.isEmpty || this.#isWanted) continue;
        await wait(againMs, signal);
        this.#isWanted = true;
      }
    } finally {
      this.#isRunning = false;
    }
  }

  /** Shows nothing up to an event of a session: the client has seen it before. Null: shows everything again. */
  hide(until: { sessionId: string; seq: number } | null): void {
    this.#hidden = until;
  }

  /** Resolves once an event of a session was shown. */
  async shown(sessionId: string, seq: number): Promise<void> {
    while (!this.#left.signal.aborted && !(this.#session?.id === sessionId && this.#seq >= seq)) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Gives the agent the words that it waits for; false when it no longer waits. */
  async answer(text: string): Promise<boolean> {
    const open = this.#open;
    this.#open = null;
    return open !== null && this.#session !== null &&
      await (await this.#options.sessions.open(this.#session.id)).answer(open.request_id, text);
  }

  /** Notes that the turn under way is being stopped: a no of the client is no answer to the agent then. */
  stopped(): void {
    this.#stopped.abort();
    this.#stopped = new AbortController();
  }

  /** Stops following; the conversation goes on or has ended. */
  leave(): void {
    this.#session?.asked.close();
    this.#left.abort();
    this.#wake();
  }

  async #see(envelope: Envelope): Promise<void> {
    const { event, session_id, seq } = envelope;
    const { prompts, updatesOf } = this.#options;
    if (event.type === "session_started") await this.#begin(session_id, event);
    this.#session ??= { id: session_id, asked: this.#askedOf(session_id), updates: updatesOf() };
    const { asked, updates } = this.#session;
    if (event.type === "attempt_started") this.#adapter = event.adapter_id;
    if (event.type === "message_accepted" || event.type === "message_changed") {
      this.#texts.set(event.message_id, textOf(event.content));
    }
    if (event.type === "message_delivered" && !this.own.has(event.message_id)) {
      await this.#showPrompt(this.#texts.get(event.message_id) ?? "");
    }
    for (const update of updates.of(envelope)) await this.#show(update);
    asked.see(event);
    if (event.type === "turn_ended" || event.type === "session_ended") this.#open = null;
    prompts.see(envelope);
    this.#seq = seq;
    if (this.#hidden?.sessionId === session_id && seq >= this.#hidden.seq) this.#hidden = null;
    this.#wake();
  }

  async #show(update: SessionUpdate): Promise<void> {
    if (this.#hidden === null) await this.#options.send(update);
  }

  async #begin(id: string, { requested, follows }: SessionStartedEvent): Promise<void> {
    this.#session?.asked.close();
    this.#request = requested;
    const updates = this.#options.updatesOf();
    this.#session = { id, asked: this.#askedOf(id), updates };
    this.#seq = 0;
    if (this.own.has(follows?.message?.message_id ?? id)) this.own.add(id);
    else if (requested.prompt !== "") await this.#showPrompt(requested.prompt);
    if (follows === undefined || follows.memory === "agent") return;
    const text = follows.memory === "none"
      ? "This agent starts a new conversation: it does not know the earlier messages."
      : "This agent starts a new conversation: it was told the earlier messages.";
    await this.#show(updates.notice("info", text));
  }

  async #showPrompt(text: string): Promise<void> {
    await this.#show({ sessionUpdate: "user_message_chunk", content: { type: "text", text } });
  }

  #askedOf(sessionId: string): AskedRequests {
    return new AskedRequests((request, signal) => void this.#ask(request, { sessionId, signal }));
  }

  async #ask(request: AskedRequest, of: { sessionId: string; signal: AbortSignal }): Promise<void> {
    const { sessions, prompts, ask } = this.#options;
    const { signal: stopped } = this.#stopped;
    const answer = await ask(request, of);
    if (of.signal.aborted) return;
    if (answer === "prompt") {
      this.#open ??= request;
      prompts.pause();
      return;
    }
    // A client that cancels its prompt says no to what was asked as well, before or after.
    if ("denied" in answer) await wait(cancelMs, stopped);
    if (stopped.aborted || of.signal.aborted) return;
    // A client that cannot be told is gone, and leaves the request to others.
    if ("denied" in answer && !await this.#tell(`The agent's request is denied: ${answer.denied}.`)) return;
    try {
      const session = await sessions.open(of.sessionId);
      await session.answer(request.request_id, "denied" in answer ? null : answer.choice);
    } catch (error) {
      await this.#tell(`The answer could not be given: ${toErrorData(error).message}`);
    }
  }

  /** Tells the person at the client; false when it is gone. */
  async #tell(text: string): Promise<boolean> {
    const { send, updatesOf } = this.#options;
    return await send(updatesOf().notice("warning", text)).then(() => true, () => false);
  }
}
