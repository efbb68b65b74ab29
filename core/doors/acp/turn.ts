import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import { type AskedRequest, AskedRequests } from "../../sessions/host/asked-requests.ts";
import type { SessionHandle } from "../../sessions/host/session-host.ts";
import type { ClientAnswer } from "./ask-client.ts";
import type { Updates } from "./updates.ts";

/** Options of {@link Turn}. */
interface TurnOptions {
  handle: SessionHandle;
  updates: Updates;
  send(update: SessionUpdate): Promise<void>;
  ask(request: AskedRequest, signal: AbortSignal): Promise<ClientAnswer>;
}

/** Facts about a session that the session continuing it needs. */
export interface LastSession {
  adapter: string;
  /** The agent's own id of its session; null where it named none. */
  agent_session_id: string | null;
}

/** Why a turn stopped: the session ended, or it waits for an answer that only a prompt can give. */
export type TurnStop = { result: SessionResult } | "asks";

/** Milliseconds from a no of the client to the word that its prompt is cancelled. */
const cancelMs = 300;

/** Follows one Bulkhead session, over one prompt or, where the agent asks for words, several. */
export class Turn {
  readonly #options: TurnOptions;
  readonly #asked: AskedRequests;
  readonly #left = new AbortController();
  readonly #interrupted = new AbortController();
  /** `seq` of the last event that was seen. */
  #seq = 0;
  /** The agent's question that only a prompt can answer. */
  #open: AskedRequest | null = null;
  /** Stops following, while a prompt is under way. */
  #pause: (() => void) | null = null;
  #last: LastSession | null = null;
  /** Requests that were open before this turn followed. */
  readonly #before = new Map<string, AskedRequest>();

  constructor(options: TurnOptions) {
    this.#options = options;
    this.#asked = new AskedRequests((request, signal) => void this.#ask(request, signal));
  }

  /** Facts known so far; null before its agent is chosen. */
  get last(): LastSession | null {
    return this.#last;
  }

  /** Goes on after an event that the client was shown already. */
  pass(envelope: Envelope): void {
    const { event, seq } = envelope;
    this.#seq = seq;
    this.#see(envelope);
    if (event.type === "permission_request" || event.type === "question") this.#before.set(event.request_id, event);
    else if (event.type === "permission_resolved") this.#before.delete(event.request_id);
  }

  /** Sends updates until the session ends or needs a prompt. */
  async run(): Promise<TurnStop> {
    const { handle, updates, send } = this.#options;
    for (const request of this.#before.values()) this.#asked.see(request);
    this.#before.clear();
    // Do not use Promise.race(): it would keep each event for as long as nothing is asked.
    const paused = new AbortController();
    this.#pause = () => paused.abort();
    const signal = AbortSignal.any([paused.signal, this.#left.signal]);
    for await (const envelope of handle.events({ after: this.#seq, signal })) {
      const { event, seq } = envelope;
      this.#seq = seq;
      this.#see(envelope);
      for (const update of updates.of(envelope)) await send(update);
      this.#asked.see(event);
      if (event.type === "session_ended") return { result: event.result };
      if (this.#open !== null) break;
    }
    this.#pause = null;
    // The stream of a session that was deleted meanwhile ends without `session_ended`.
    return this.#open === null ? { result: await handle.result() } : "asks";
  }

  /** Gives the agent the words that it waits for; false when it no longer waits. */
  async answer(text: string): Promise<boolean> {
    const open = this.#open;
    this.#open = null;
    return open !== null && await this.#options.handle.answer(open.request_id, text);
  }

  /** Stops the session; its end comes as an event. */
  async interrupt(): Promise<void> {
    this.#interrupted.abort();
    await this.#options.handle.interrupt();
  }

  /** Stops following the session, which goes on or has ended. */
  leave(): void {
    this.#asked.close();
    this.#left.abort();
  }

  #see({ event, adapter }: Envelope): void {
    if (event.type === "attempt_started") this.#last = { adapter: event.adapter_id, agent_session_id: null };
    else if (event.type === "agent_info" && event.agent_session_id !== undefined) {
      this.#last = { adapter: adapter.id, agent_session_id: event.agent_session_id };
    }
  }

  async #ask(request: AskedRequest, signal: AbortSignal): Promise<void> {
    const answer = await this.#options.ask(request, signal);
    if (signal.aborted) return;
    if (answer === "prompt") {
      this.#open ??= request;
      this.#pause?.();
      return;
    }
    // A client that cancels its prompt says no to what was asked as well, before or after.
    if ("denied" in answer) await wait(cancelMs, this.#interrupted.signal);
    if (this.#interrupted.signal.aborted) return;
    const { handle } = this.#options;
    // A client that cannot be told is gone, and leaves the request to others.
    if ("denied" in answer && !await this.#tell(`The agent's request is denied: ${answer.denied}.`)) return;
    try {
      await handle.answer(request.request_id, "denied" in answer ? null : answer.choice);
    } catch (error) {
      await this.#tell(`The answer could not be given: ${toErrorData(error).message}`);
    }
  }

  /** Tells the person at the client; false when it is gone. */
  async #tell(text: string): Promise<boolean> {
    const { updates, send } = this.#options;
    return await send(updates.notice("warning", text)).then(() => true, () => false);
  }
}
