import type { Figures } from "./usage.ts";

/** An agent's count of the tokens of its session. */
interface TokenTotal {
  /** Whether it counted any call of its model; a server may count no tokens of one. */
  called: boolean;
  tokens_in: number;
  tokens_out: number;
}

/** A command of an agent's own that prints what its session took so far, without its model. */
export interface AccountCommand {
  prompt: string;
  /** Reads a text; null for one that is no answer to the command, and "none" for an answer without a count. */
  read(text: string): TokenTotal | "none" | null;
}

/** An account of one turn. */
export interface TurnAccount {
  /** Tokens that the turn took; null where the agent does not say. */
  figures: Figures | null;
  /** Whether the last call of the model is not counted: its answer broke off. */
  broke: boolean;
}

/**
 * Asks an agent what its turn took, and whether its model's last answer came whole, where the agent tells neither. Such an
 * agent counts a call once its answer is whole. So a count that has not grown since the last result of a tool, or since the
 * beginning, shows that the answer broke off.
 */
export class TokenAccount {
  readonly #send: (prompt: string) => Promise<unknown>;
  #command: AccountCommand | undefined;
  #open = 0;
  /** Questions that are over and were not answered: an interrupt ends one, and its answer may come later. */
  #owed = 0;
  #isTold = false;
  #told: TokenTotal | null = null;
  /** The count from which the last answer must grow; null where it is not known. */
  #from: TokenTotal | null = null;
  #begin: TokenTotal | null = null;
  /** Rises with each sign of the model: a count that comes after one may hold its answer. */
  #signs = 0;

  /** @param send asks the agent, and resolves when it has answered */
  constructor(send: (prompt: string) => Promise<unknown>) {
    this.#send = send;
  }

  /** Begins a turn of an agent that has this command, or none. */
  async begin(command: AccountCommand | undefined, { isResumed }: { isResumed: boolean }): Promise<void> {
    this.#command = command;
    this.#begin = isResumed ? await this.#ask() : { called: false, tokens_in: 0, tokens_out: 0 };
    this.#from = this.#begin;
  }

  /** Whether the agent was asked and has not answered: a text may be the answer. */
  get isAsked(): boolean {
    return this.#open + this.#owed > 0;
  }

  /** Whether a text of the agent answers the command, and is no word of its model. */
  take(text: string): boolean {
    const total = this.#open + this.#owed > 0 ? this.#command?.read(text) ?? null : null;
    if (total === null) return false;
    if (this.#open === 0) {
      this.#owed--;
      return true;
    }
    this.#isTold = true;
    this.#told = total === "none" ? null : total;
    return true;
  }

  /** The model is at work: it says, thinks or calls something. */
  modelSpoke(): void {
    this.#signs++;
  }

  /** A tool has given its result, so the model is asked once more. */
  resultCame(): void {
    if (!this.#command) return;
    const before = ++this.#signs;
    this.#from = null;
    void this.#ask().then((total) => {
      if (before === this.#signs) this.#from = total;
    });
  }

  /** Ends the turn. */
  async end(): Promise<TurnAccount> {
    this.#signs++;
    const [begin, from, total] = [this.#begin, this.#from, await this.#ask()];
    if (total === null) return { figures: null, broke: false };
    const [tokens_in, tokens_out] = [
      total.tokens_in - (begin?.tokens_in ?? 0),
      total.tokens_out - (begin?.tokens_out ?? 0),
    ];
    return {
      figures: begin === null || tokens_in + tokens_out <= 0 ? null : { tokens_in, tokens_out, tokens_cached: null },
      broke: from !== null && !hasGrown(from, total),
    };
  }

  /** Asks for the count; null where the agent does not tell it. */
  async #ask(): Promise<TokenTotal | null> {
    if (!this.#command) return null;
    this.#open++;
    this.#told = null;
    this.#isTold = false;
    try {
      await this.#send(this.#command.prompt);
      return this.#told;
    } catch {
      return null;
    } finally {
      this.#open--;
      if (!this.#isTold) this.#owed++;
    }
  }
}

function hasGrown(from: TokenTotal, to: TokenTotal): boolean {
  if (!from.called) return to.called;
  const before = from.tokens_in + from.tokens_out;
  // A server that counts no tokens leaves the count at 0, whatever it answers.
  return before === 0 || to.tokens_in + to.tokens_out > before;
}
