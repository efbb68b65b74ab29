import type { AdapterContext } from "./context.ts";
import type { Turn, TurnMessage } from "./turns.ts";

/** Talks to a program that takes prompts on its standard input, one after the other. */
export interface CliTalk {
  /** Begins a turn: returns its prompt as text for the program; null: this program cannot take it, but a new one can. */
  prompt(turn: Turn, ctx: AdapterContext): Promise<string | null> | string | null;
  /** Returns a word into the running turn as text for the program; null: the program does not take it. */
  steer?(message: TurnMessage, ctx: AdapterContext): Promise<string | null> | string | null;
  /** Returns the text that stops what the program does, and not the program. */
  stop?(): string;
  /** Whether the program is done with all that it was given, as far as its output has told until now. */
  over(): boolean;
}
