import { fieldsOf, fieldsOrNone, type JsonFields, numberOf, stringOf, textOf, TextTail } from "bulkhead/plugin-sdk";

/** UTF-16 units that are kept of an output: its end. */
const maxLength = 1024 * 1024;

/** Outcome of a command, as a tool's result tells it. */
export interface CommandOutcome {
  /** Null when it was ended by a signal, or the agent does not say. */
  exit_code: number | null;
  signal?: string;
  output: string;
}

/**
 * Output of a command that the agent runs in a terminal of its own. It reports that in the `_meta` of updates, piece by
 * piece, and with the last one how the command ended.
 */
export class CommandOutput {
  readonly #text = new TextTail(maxLength);
  #exit: JsonFields | null = null;
  #isTold = false;

  /** Takes the `_meta` of an update. */
  take({ terminal_output, terminal_output_delta, terminal_exit }: JsonFields): void {
    for (const piece of [terminal_output, terminal_output_delta]) {
      const data = stringOf(fieldsOrNone(piece)["data"]);
      if (data === null) continue;
      this.#isTold = true;
      this.#text.add(data);
    }
    this.#exit = fieldsOf(terminal_exit) ?? this.#exit;
  }

  /** Returns what is known by now; undefined when the agent has told nothing. */
  told(): CommandOutcome | undefined {
    if (!this.#isTold && this.#exit === null) return undefined;
    const { exit_code, signal } = this.#exit ?? {};
    return outcomeOf({ exit_code: numberOf(exit_code), signal: textOf(signal) ?? null }, this.#text.text);
  }
}

/** Puts an exit and an output together. */
export function outcomeOf(
  { exit_code, signal }: { exit_code: number | null; signal: string | null },
  output: string,
): CommandOutcome {
  return { exit_code, ...(signal === null ? {} : { signal }), output };
}
