import type { PromptResponse, StopReason as AcpStopReason } from "@agentclientprotocol/sdk";
import type { Envelope, MessageDroppedEvent, TurnEndedEvent } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { hasPrompt } from "../../../plugin-sdk/request.ts";
import type { SessionResult, StopReason } from "../../../plugin-sdk/result.ts";

/** A prompt of this client that has no answer yet. */
interface OpenPrompt {
  /** Its message; null for the prompt of a conversation's first session, and for words that answer a question. */
  message_id: string | null;
  /** The turn that has it; null until an event tells. */
  turn: number | null;
  settle(answer: PromptResponse): void;
  fail(error: unknown): void;
}

/** The prompts of one client in a conversation. Each is answered when its own turn is over. */
export class Prompts {
  readonly #open = new Set<OpenPrompt>();
  /** The turn under way; null between turns. */
  #turn: number | null = null;
  /** The turn that the client has stopped last. */
  #stopped: number | null = null;

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** Whether a turn is under way, as far as events have told. */
  get isWorking(): boolean {
    return this.#turn !== null;
  }

  /** The client stops the turn under way, or the first one: its prompts are cancelled, however the agent ends it. */
  stop(): void {
    this.#stopped = this.#turn ?? 1;
  }

  /** Adds a prompt of the turn under way, else of the first one; its answer comes with the turn's end. */
  addToTurn(): Promise<PromptResponse> {
    return this.#add({ message_id: null, turn: this.#turn ?? 1 });
  }

  /**
   * Gives a message and waits for the end of its turn.
   * @param give gives it; the prompt fails as it does
   */
  async addMessage(messageId: string, give: () => Promise<unknown>): Promise<PromptResponse> {
    // Its first event may come before the call returns.
    const answer = this.#add({ message_id: messageId, turn: null });
    give().catch((error: unknown) => this.#each((one) => one.message_id === messageId, ({ fail }) => fail(error)));
    return await answer;
  }

  /** Answers the prompts of the turn under way: the agent waits for words that only a prompt can give. */
  pause(): void {
    this.#each(({ turn }) => turn !== null, ({ settle }) => settle({ stopReason: "end_turn" }));
  }

  /** Fails all prompts: nothing more is heard of their turns. */
  fail(error: unknown): void {
    this.#each(() => true, (one) => one.fail(error));
  }

  cancel(): void {
    this.#each(() => true, ({ settle }) => settle({ stopReason: "cancelled" }));
  }

  see({ event }: Envelope): void {
    switch (event.type) {
      case "session_started":
        this.#turn = !hasPrompt(event.requested) ? null : (event.follows?.turn ?? 0) + 1;
        return this.#bind(event.follows?.message?.message_id, this.#turn);
      case "turn_started":
        this.#turn = event.turn;
        return;
      case "message_delivered":
        return this.#bind(event.message_id, event.turn);
      case "message_dropped":
        if (event.reason === "moved") return;
        return this.#each(({ message_id }) => message_id === event.message_id, (one) => answerDropped(one, event));
      case "turn_ended":
        this.#turn = null;
        return this.#each(({ turn }) => turn === event.turn, (one) => this.#answer(one, event));
      case "session_ended":
        this.#turn = null;
        return this.#each(({ turn }) => turn !== null, (one) => this.#answer(one, event.result));
    }
  }

  #answer({ turn, settle, fail }: OpenPrompt, ended: Ended): void {
    const stopReason = turn === this.#stopped ? "cancelled" : stopReasons[ended.stop_reason];
    const _meta = { bulkhead: toldOf(ended) };
    if (stopReason !== undefined) return settle({ stopReason, _meta });
    const { code = "fatal", message = `The turn ended: ${ended.stop_reason}.`, hint, details } = ended.error ?? {};
    fail(new BulkheadError(code, message, { hint, details: { ...details, ..._meta } }));
  }

  #add(prompt: Pick<OpenPrompt, "message_id" | "turn">): Promise<PromptResponse> {
    return new Promise((settle, fail) => this.#open.add({ ...prompt, settle, fail }));
  }

  #bind(messageId: string | undefined, turn: number | null): void {
    for (const one of this.#open) if (one.message_id === messageId) one.turn = turn;
  }

  #each(isMeant: (prompt: OpenPrompt) => boolean, act: (prompt: OpenPrompt) => void): void {
    for (const one of this.#open) {
      if (!isMeant(one)) continue;
      this.#open.delete(one);
      act(one);
    }
  }
}

function answerDropped({ settle, fail }: OpenPrompt, { reason }: MessageDroppedEvent): void {
  if (reason !== "unsure" && reason !== "host_restarted") return settle({ stopReason: "cancelled" });
  fail(new BulkheadError("interrupted", `The prompt was dropped, and the agent may have seen it: ${reason}.`));
}

type Ended = Omit<TurnEndedEvent, "type" | "turn" | "checkpoint"> | SessionResult;

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

/** Returns the part of a result that goes into a prompt's answer: all but what the updates have told already. */
function toldOf(ended: Ended): object {
  const { events: _, ...told } = ended as Ended & { events?: unknown };
  return told;
}
