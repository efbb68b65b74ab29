import { BulkheadError, isErrorCode } from "../../../plugin-sdk/errors.ts";
import { fieldsOrNone, parseJson, stringOf } from "../../../plugin-sdk/json-fields.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { Engine } from "../engine/engine.ts";
import { isAnswer } from "./answer-schemas.ts";
import type { CallName, MachineCalls } from "./machine.ts";

/** Content of a question, as it came. */
export type CallAsk = Readonly<Record<string, unknown>>;

/** Answers to all questions. Each checks what it is asked. */
export type CallAnswers = {
  readonly [N in CallName]: (ask: CallAsk) => Promise<MachineCalls[N]["answer"]>;
};

/** Most characters of another machine's error, or of one text of its question. */
const mostText = 65_536;
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
  const { answer, error } = fieldsOrNone(parseJson(said));
  if (error !== undefined) throw errorIn(error, machine);
  if (isAnswer(name, answer)) return answer;
  engine.dropped.tell(`An answer of machine "${machine}" to "${name}"`, "it is none that this version reads");
  throw new BulkheadError("unsupported", `Cannot read what machine "${machine}" answers: its version is another one.`, {
    hint: "Bring all machines to one version. Look with: bulkhead cluster status.",
    details: { machine, question: name },
  });
}

/** Another machine's error, with a code of the one table. */
function errorIn(error: unknown, machine: string): BulkheadError {
  const { code, message, hint, details } = fieldsOrNone(error);
  const [said, next] = [stringOf(message), stringOf(hint)];
  return new BulkheadError(
    isErrorCode(code) ? code : "internal",
    said === null ? `Machine "${machine}" failed.` : said.slice(0, mostText),
    {
      ...(next === null ? {} : { hint: next.slice(0, mostText) }),
      ...(details === undefined ? {} : { details: { ...fieldsOrNone(details) } }),
    },
  );
}

/** Answers the questions of the other machines, until the returned function is called. */
export function answerCalls(
  engine: Engine,
  { machine, answers }: { machine: string; answers: CallAnswers },
): () => void {
  // A character takes at most three bytes.
  const fits = (said: string) => said.length * 3 <= engine.messageBytes || bytesOf(said) <= engine.messageBytes;
  return engine.answer(engine.names.calls(machine), async (text) => {
    try {
      const { name, ask } = fieldsOrNone(JSON.parse(text));
      const said = stringOf(name);
      if (said === null || !Object.hasOwn(answers, said)) {
        throw new BulkheadError("unsupported", "This machine does not know the question: its version is another one.");
      }
      const answer = JSON.stringify({ answer: await answers[said as CallName](fieldsOrNone(ask)) });
      if (fits(answer)) return answer;
      throw new BulkheadError("too_large", `Machine "${machine}" has more to tell than one message takes.`, {
        hint: "Ask that machine itself, or raise max_payload of the servers.",
      });
    } catch (error) {
      const { details, ...data } = toErrorData(error);
      const said = JSON.stringify({ error: { ...data, details } });
      return fits(said) ? said : JSON.stringify({ error: data });
    }
  });
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}

/**
 * Reads a text of a question.
 * @throws {BulkheadError} `invalid_request`
 */
export function askedText(ask: CallAsk, name: string): string {
  const text = stringOf(ask[name]);
  if (text !== null && text.length <= mostText) return text;
  throw new BulkheadError("invalid_request", `The question of another machine lacks "${name}".`);
}
