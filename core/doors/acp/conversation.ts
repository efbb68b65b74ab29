import type {
  AgentContext,
  PromptResponse,
  SessionUpdate,
  StopReason as AcpStopReason,
} from "@agentclientprotocol/sdk";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult, StopReason } from "../../../plugin-sdk/result.ts";
import { toBulkheadError } from "../../ground/errors/to-error-data.ts";
import type { conversationLabelNames, SessionHandle, SessionHost } from "../../sessions/host/session-host.ts";
import { askClient } from "./ask-client.ts";
import { type LastSession, Turn, type TurnStop } from "./turn.ts";
import { Updates } from "./updates.ts";

/** Collaborators shared by all conversations of one connection. */
export interface ConversationDeps {
  sessions: SessionHost;
  client: AgentContext;
  /** Capabilities that the client announced. */
  shows: { notices: boolean; forms: boolean };
  /** Fields of every request, from the operator. */
  defaults: Partial<SessionRequest>;
  contextSize(adapterId: string): number | undefined;
}

interface ConversationOptions {
  id: string;
  workdir: string;
  /** `auto`, or the id of the adapter. */
  mode: string;
}

/** Labels of the Bulkhead sessions of one conversation: by them it is found again. */
export function conversationLabels(id: string): Record<(typeof conversationLabelNames)[number], string> {
  return { door: "acp", acp_session: id };
}

/** The mode in which the host chooses the adapter. */
export const autoMode = "auto";

/** One session of the protocol: a chain of Bulkhead sessions, one for each prompt, each continued by the next. */
export class Conversation {
  readonly id: string;
  readonly workdir: string;
  mode: string;
  readonly #deps: ConversationDeps;
  #turn: Turn | null = null;
  /** The turn that another client began, and whether it is followed now. */
  #adopted: { turn: Turn; isFollowed: boolean } | null = null;
  #prompting: AbortController | null = null;
  #last: LastSession | null = null;
  /** Texts that the next prompt shows first. */
  #untold: string[] = [];

  constructor(deps: ConversationDeps, { id, workdir, mode }: ConversationOptions) {
    this.#deps = deps;
    this.id = id;
    this.workdir = workdir;
    this.mode = mode;
  }

  /**
   * Runs a prompt to its end.
   * @throws {BulkheadError} why the session could not start; `busy` while another prompt is under way; what it failed
   * with, `details` holding its result
   */
  async prompt(text: string, signal: AbortSignal): Promise<PromptResponse> {
    if (this.#prompting !== null || this.#adopted?.isFollowed === true) {
      throw new BulkheadError("busy", "Cannot take the prompt: the one before it is still under way.", {
        hint: "Wait for its end, or cancel it.",
      });
    }
    const prompting = new AbortController();
    this.#prompting = prompting;
    const cancel = () => this.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      return await this.#prompt(text, prompting.signal);
    } finally {
      this.#prompting = null;
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Shows a sentence of the host with the next prompt: before that, a client may not know the conversation yet. */
  tell(text: string): void {
    this.#untold.push(text);
  }

  /** Stops the prompt under way, and what still waits for one. */
  cancel(): void {
    this.#prompting?.abort();
    this.#turn?.interrupt().catch(() => {});
  }

  /** Cancels what this client began, and follows nothing any more. */
  close(): void {
    if (this.#adopted === null) this.cancel();
    this.#turn?.leave();
  }

  /** Shows all that was said and done in it before, and follows a session that still runs, here or elsewhere. */
  async replay(): Promise<void> {
    const all = await this.#deps.sessions.list({ labels: conversationLabels(this.id), limit: 500 });
    for (const { session_id, last_seq, state } of all.reverse()) {
      const handle = await this.#deps.sessions.open(session_id);
      const updates = this.#updates();
      const turn = state === "running" ? this.#follow(handle, updates) : null;
      let last: LastSession | null = null;
      for await (const envelope of handle.events()) {
        const { event, adapter } = envelope;
        if (event.type === "session_started") {
          const prompt = event.requested.prompt;
          await this.#send({ sessionUpdate: "user_message_chunk", content: { type: "text", text: prompt } });
        }
        if (event.type === "attempt_started") last = { adapter: event.adapter_id, agent_session_id: null };
        if (event.type === "agent_info" && event.agent_session_id !== undefined) {
          last = { adapter: adapter.id, agent_session_id: event.agent_session_id };
        }
        for (const update of updates.of(envelope)) await this.#send(update);
        turn?.pass(envelope);
        // One that still runs has no end to wait for.
        if (envelope.seq >= last_seq) break;
      }
      this.#last = last ?? this.#last;
      if (turn !== null) this.#adopt(turn);
    }
  }

  /** Follows a session without a prompt of this client: it can be cancelled, and its questions answered. */
  #adopt(turn: Turn): void {
    this.#leaveTurn();
    const adopted = { turn, isFollowed: true };
    [this.#turn, this.#adopted] = [turn, adopted];
    turn.run().catch(() => null).then((stop) => {
      adopted.isFollowed = false;
      // A question that only a prompt can answer stays open for the next one.
      if (stop !== "asks" && this.#turn === turn) this.#leaveTurn();
    });
  }

  async #prompt(text: string, signal: AbortSignal): Promise<PromptResponse> {
    this.#adopted = null;
    if (!await this.#turn?.answer(text)) {
      this.#leaveTurn();
      try {
        this.#turn = this.#follow(await this.#start(text, signal));
      } catch (error) {
        if (signal.aborted) return { stopReason: "cancelled" };
        throw error;
      }
    }
    await this.#showUntold();
    const turn = this.#turn!;
    if (signal.aborted) await turn.interrupt();
    let stop: TurnStop;
    try {
      stop = await turn.run();
    } catch (error) {
      this.#leaveTurn();
      await turn.interrupt().catch(() => {});
      throw error;
    }
    if (stop === "asks") return { stopReason: "end_turn" };
    this.#leaveTurn();
    return answerOf(stop.result);
  }

  #leaveTurn(): void {
    this.#adopted = null;
    this.#last = this.#turn?.last ?? this.#last;
    this.#turn?.leave();
    this.#turn = null;
  }

  async #start(prompt: string, signal: AbortSignal): Promise<SessionHandle> {
    const { sessions, defaults } = this.#deps;
    const last = this.#last;
    const goesOn = last !== null && (this.mode === autoMode || this.mode === last.adapter);
    const from = goesOn ? last.agent_session_id : null;
    const request: SessionRequest = {
      ...defaults,
      workdir: this.workdir,
      prompt,
      labels: { ...defaults.labels, ...conversationLabels(this.id) },
    };
    const start = (more: Partial<SessionRequest>, adapter: string) =>
      sessions.start({ ...request, ...more }, { adapter, client: "acp", signal });
    if (from !== null) {
      const going = await start({ continue_from: from }, last!.adapter).catch((error: unknown) => {
        if (cannotContinue(error)) return null;
        throw error;
      });
      if (going !== null) return going;
    }
    if (last !== null) this.tell("This agent starts a new conversation: it does not know the earlier messages.");
    return await start({}, this.mode);
  }

  async #showUntold(): Promise<void> {
    for (const text of this.#untold.splice(0)) {
      await this.#send(
        this.#deps.shows.notices
          ? { sessionUpdate: "notice", severity: "info", title: text }
          : { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: `${text}\n` } },
      );
    }
  }

  #follow(handle: SessionHandle, updates: Updates = this.#updates()): Turn {
    const { client, shows } = this.#deps;
    const deps = { client, acpSessionId: this.id, sessionId: handle.id, forms: shows.forms };
    return new Turn({
      handle,
      updates,
      send: (update) => this.#send(update),
      ask: (request, signal) => askClient(request, deps, signal),
    });
  }

  #updates(): Updates {
    const { shows, contextSize } = this.#deps;
    return new Updates({ workdir: this.workdir, notices: shows.notices, contextSize });
  }

  async #send(update: SessionUpdate): Promise<void> {
    await this.#deps.client.notify("session/update", { sessionId: this.id, update });
  }
}

function answerOf(result: SessionResult): PromptResponse {
  const stopReason = acpStopReason(result);
  if (stopReason !== null) return { stopReason, _meta: resultMeta(result) };
  const { code = "fatal", message = `The session ended: ${result.stop_reason}.`, hint, details } = result.error ?? {};
  throw new BulkheadError(code, message, { hint, details: { ...details, ...resultMeta(result) } });
}

/** The agent's adapter has no way to continue a session. */
function cannotContinue(error: unknown): boolean {
  const { code, details } = toBulkheadError(error);
  return code === "unenforceable" && JSON.stringify(details?.["fields"]) === '["continue_from"]';
}

/** Stop reasons that answer a prompt; all others end it with an error. */
const stopReasons: { readonly [R in StopReason]?: AcpStopReason } = {
  end_turn: "end_turn",
  loop_complete: "end_turn",
  // The agent waits for an answer, and the client shows its question; the next prompt may give the answer.
  permission_deadline: "end_turn",
  question_deadline: "end_turn",
  refused: "refusal",
  interrupted: "cancelled",
  budget_turns: "max_turn_requests",
  budget_tool_calls: "max_turn_requests",
  budget_tokens: "max_tokens",
};

/** The protocol's stop reason, or null for a failure. */
function acpStopReason({ stop_reason }: SessionResult): AcpStopReason | null {
  return stopReasons[stop_reason] ?? null;
}

/** Returns the part of a result that goes into a prompt's answer: all but what the updates have told already. */
function resultMeta(result: SessionResult): { bulkhead: Partial<SessionResult> } {
  const { events: _, ...told } = result;
  return { bulkhead: told };
}
