import {
  type AdapterContext,
  type AdapterEvent,
  fieldsOrNone,
  type JsonRpcPeer,
  type Turn,
  type TurnMessage,
} from "bulkhead/plugin-sdk";
import type { BlocksOf } from "./prompt-blocks.ts";

/** How long the agent has to answer a steer once its turn is over. */
const answerMs = 2000;

/** Outcomes of a steer with which the agent has the words. */
const taken: readonly unknown[] = ["injected", "startedNewTurn"];

/** Collaborators of {@link Steering}. */
interface SteeringDeps {
  agent: JsonRpcPeer;
  sessionId: string;
  /** Whether the agent says that it takes words into a running turn. */
  isOffered: boolean;
  /** Makes the blocks of words. */
  blocksOf: BlocksOf;
  tell(events: AdapterEvent[]): void;
  sleep: AdapterContext["sleep"];
}

/** Gives the client's words into a running turn to the agent, one after the other, and reports whether the agent took each. */
export class Steering {
  readonly #deps: SteeringDeps;
  #underWay: Promise<void> = Promise.resolve();
  #isOver = false;
  readonly #late: AdapterEvent[] = [];

  constructor(deps: SteeringDeps) {
    this.#deps = deps;
  }

  /** Asks for words until the turn is over. */
  async follow({ messages, signal }: Pick<Turn, "messages" | "signal">): Promise<void> {
    for await (const message of messages) {
      this.#underWay = this.#give(message, signal);
      await this.#underWay;
    }
  }

  /** Resolves when each of the words so far has its outcome, or gets none; those that come later come too late. */
  async end(): Promise<void> {
    let isSettled = false;
    const settled = this.#underWay.then(() => (isSettled = true));
    await Promise.resolve();
    if (!isSettled) await Promise.race([settled, this.#deps.sleep(answerMs).catch(() => {})]);
    this.#isOver = true;
  }

  /** Gives back the words that came after {@link Steering.end}, until none is on its way here. */
  async *late(): AsyncGenerator<AdapterEvent[], void, void> {
    for (;;) {
      await this.#deps.sleep(0).catch(() => {});
      if (this.#late.length === 0) return;
      yield this.#late.splice(0);
    }
  }

  async #give({ message_id, ...words }: TurnMessage, signal: AbortSignal): Promise<void> {
    if (this.#isOver) return void this.#late.push({ type: "message", message_id, state: "returned" });
    const isSent = this.#deps.isOffered && !signal.aborted;
    const isTaken = isSent && await this.#steer(words);
    // Answered too late to say whether the turn had it.
    if (isSent && this.#isOver) return;
    this.#deps.tell([{ type: "message", message_id, state: isTaken ? "taken" : "returned" }]);
  }

  async #steer(words: Pick<TurnMessage, "text" | "content">): Promise<boolean> {
    const { agent, sessionId, blocksOf } = this.#deps;
    try {
      const answer = await agent.request("_session/steering", {
        sessionId,
        prompt: await blocksOf(words),
        // Without it an agent whose turn is just over begins one that no prompt of ours ends.
        _meta: { steering: { idleBehavior: "promptRequired" } },
      });
      return taken.includes(fieldsOrNone(answer)["outcome"]);
    } catch {
      return false;
    }
  }
}
