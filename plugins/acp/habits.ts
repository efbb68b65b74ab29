import type { AccountCommand } from "./token-account.ts";

/** Ways of an agent's own, of which the protocol says nothing. Each was seen in a real agent. */
export interface Habits {
  /** Key in the `_meta` of `session_info_update` under which it tells the state of its thread, and errors. */
  state_in?: string;
  /** The state in which a failed turn leaves its thread. */
  failed_state?: string;
  /** Start of the last text of a failed turn, which the agent gives as its answer. */
  failure_text?: RegExp;
  /** Every turn that went well counts tokens. */
  counts_every_turn?: true;
  /** Its answer has the tokens of the model's last call alone. */
  counts_last_call?: true;
  /** It calls its model for a title or the like as well, and does not count that. */
  calls_besides?: true;
  /** Every turn that went well ends with words, and not with the result of a tool. */
  speaks_last?: true;
  /** The arguments of a call are at first the text of its content, as JSON that grows. */
  arguments_in_text?: true;
  /** It prints what its session took for a command, and reports it nowhere else. */
  account?: AccountCommand;
  /** An error whose data has a message is one of its model's server. */
  names_model_errors?: true;
  /** Whether a text is a notice of the agent's own, and no word of its model. */
  is_notice?(text: string, about: { callIsOpen: boolean }): boolean;
}

/** Habits by the name that an agent gives in its greeting. An agent without a row keeps to the protocol. */
const known: readonly [name: RegExp, Habits][] = [
  [/codex/i, { state_in: "codex", failed_state: "systemError", counts_every_turn: true }],
  [/copilot/i, {
    failure_text: /^Error: /,
    // Its model says nothing while a tool is at work, and does not speak of tries.
    is_notice: (text, { callIsOpen }) =>
      /^Info: /.test(text) && (callIsOpen || /\bRetrying\.\.\.$|^Info: Operation cancelled\b/.test(text)),
  }],
  [/gemini/i, { counts_every_turn: true }],
  [/opencode|kilo/i, { counts_last_call: true, calls_besides: true }],
  [/claude/i, { calls_besides: true }],
  [/cline/i, { names_model_errors: true }],
  [/kimi/i, {
    speaks_last: true,
    arguments_in_text: true,
    account: { prompt: "/usage", read: readTotal },
    is_notice: (text) => /^Compact(?:ing conversation context|ion (?:is blocked|cancelled|completed))\b/.test(text),
  }],
];

/** Reads the answer of `kimi` to `/usage`; one that it does not know, or that failed, has no count. */
function readTotal(text: string): ReturnType<AccountCommand["read"]> {
  if (/^(?:Unknown ACP command: \/usage\b|\/usage failed: )/.test(text)) return "none";
  const told = /^Context: [^\n]*\nSession total: (?:(\d+) input, (\d+) output|no LLM calls yet)$/.exec(text);
  if (!told) return null;
  const [, input, output] = told;
  return { called: input !== undefined, tokens_in: Number(input ?? 0), tokens_out: Number(output ?? 0) };
}

/** Returns what is particular to the agent of this name. */
export function habitsOf(name: string | undefined): Habits {
  return known.find(([pattern]) => name !== undefined && pattern.test(name))?.[1] ?? {};
}
