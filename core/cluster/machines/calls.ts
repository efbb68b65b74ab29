import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { fieldsOrNone, stringOf } from "../../../plugin-sdk/json-fields.ts";
import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import type { AppliedWorkspace, Workspace } from "../../../plugin-sdk/workspace.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { Engine } from "../engine/engine.ts";

/** Questions that machines ask one another, and what is answered. */
export interface MachineCalls {
  interrupt: { ask: { session_id: string }; answer: null };
  answer: { ask: { session_id: string; request_id: string; choice: string }; answer: boolean };
  delete: { ask: { session_id: string }; answer: null };
  /** Requests that wait for an answer, by session. */
  waiting: { ask: Record<string, never>; answer: Record<string, WaitingRequest[]> };
  /** Gives back slots for sessions that the machine does not use; answers with the number of the note that tells of it. */
  spare: { ask: Record<string, never>; answer: number };
  worktrees: { ask: Record<string, never>; answer: Workspace[] };
  /** Puts the present diff of a session's worktree where every machine can read it. */
  diff: { ask: { session_id: string }; answer: null };
  apply: { ask: { session_id: string; allow_links: boolean }; answer: AppliedWorkspace };
  discard: { ask: { session_id: string }; answer: null };
}

/** A question's name. */
export type CallName = keyof MachineCalls;

/** Content of a question, as it came. */
export type CallAsk = Readonly<Record<string, unknown>>;

/** Answers to all questions. Each checks what it is asked. */
export type CallAnswers = {
  readonly [N in CallName]: (ask: CallAsk) => Promise<MachineCalls[N]["answer"]>;
};

/** Longest wait for an answer. Milliseconds. */
const answerMs = 5000;

/**
 * Asks another machine.
 * @throws {BulkheadError} the other machine's error; `unavailable` when it cannot be asked
 */
export async function callMachine<N extends CallName>(
  engine: Engine,
  { machine, name, ask, timeoutMs = answerMs }: {
    machine: string;
    name: N;
    ask: MachineCalls[N]["ask"];
    timeoutMs?: number;
  },
): Promise<MachineCalls[N]["answer"]> {
  const said = await engine.ask(engine.names.calls(machine), JSON.stringify({ name, ask }), timeoutMs).catch(
    (cause: unknown) => {
      throw new BulkheadError("unavailable", `Cannot reach machine "${machine}".`, {
        hint: "Look with: bulkhead cluster status. It may be back in a moment.",
        details: { machine },
        cause,
      });
    },
  );
  const { answer, error } = fieldsOrNone(JSON.parse(said));
  if (error === undefined) return answer as MachineCalls[N]["answer"];
  const { code, message, hint } = fieldsOrNone(error);
  throw new BulkheadError(
    (stringOf(code) ?? "internal") as ConstructorParameters<typeof BulkheadError>[0],
    stringOf(message) ?? `Machine "${machine}" failed.`,
    stringOf(hint) === null ? {} : { hint: stringOf(hint)! },
  );
}

/** Answers the questions of the other machines, until the returned function is called. */
export function answerCalls(
  engine: Engine,
  { machine, answers }: { machine: string; answers: CallAnswers },
): () => void {
  return engine.answer(engine.names.calls(machine), async (text) => {
    try {
      const { name, ask } = fieldsOrNone(JSON.parse(text));
      const said = stringOf(name);
      if (said === null || !Object.hasOwn(answers, said)) {
        throw new BulkheadError("unsupported", "This machine does not know the question: its version is another one.");
      }
      return JSON.stringify({ answer: await answers[said as CallName](fieldsOrNone(ask)) });
    } catch (error) {
      return JSON.stringify({ error: toErrorData(error) });
    }
  });
}

/**
 * Reads a text of a question.
 * @throws {BulkheadError} `invalid_request`
 */
export function askedText(ask: CallAsk, name: string): string {
  const text = stringOf(ask[name]);
  if (text !== null && text.length <= 65_536) return text;
  throw new BulkheadError("invalid_request", `The question of another machine lacks "${name}".`);
}
