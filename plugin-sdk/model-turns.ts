import type { AdapterEvents } from "./adapter.ts";
import { type AttachedPart, attachedParts } from "./attached-parts.ts";
import type { AdapterContext } from "./context.ts";
import type { AdapterEvent } from "./events.ts";
import type { JsonFields } from "./json-fields.ts";
import { omitUndefined } from "./optional-fields.ts";
import { requestIn, type SchemaDialect } from "./output-schema.ts";
import type { Effort } from "./request.ts";
import { untilAborted } from "./until-aborted.ts";

/** One message of a talk with a model. */
export interface ChatMessage {
  role: "user" | "assistant";
  content: string;
  /** Images and files of a prompt. */
  attached?: readonly AttachedPart[];
}

/** Fields of a turn that the server is asked to keep to. */
interface ModelAsked {
  output_schema?: JsonFields;
  effort?: Effort;
}

/**
 * Talks with a model that keeps nothing of what was said: each turn is asked with all messages before it. A turn that fails
 * before the model said anything is forgotten. A stop leaves the answer where it is.
 * @param answer Asks the model with these messages, of which the last one is the prompt, and yields its answer up to the last
 * word; the signal stops this turn.
 * @param dialect The part of JSON Schema that the server takes; what it does not take is asked for in the prompt.
 */
export async function* modelTurns(
  ctx: Pick<AdapterContext, "turns" | "attachments">,
  answer: (messages: readonly ChatMessage[], signal: AbortSignal, asked: ModelAsked) => AdapterEvents,
  dialect: SchemaDialect | null = null,
): AdapterEvents {
  let messages: ChatMessage[] = [];
  for await (const { prompt: words, content, output_schema: wanted, effort, kept, signal } of ctx.turns) {
    const turn = { workdir: "", prompt: words, ...(wanted === undefined ? {} : { output_schema: wanted }) };
    const { prompt, output_schema: schema } = requestIn(turn, dialect);
    const asked = withPrompt(messages, { prompt, attached: await attachedParts(ctx, content) });
    let said = "";
    let isOver = false;
    let hasFailed = false;
    for await (
      const yielded of untilAborted(answer(asked, signal, omitUndefined({ output_schema: schema, effort })), signal)
    ) {
      const events = [yielded].flat();
      for (const event of events) {
        if (event.type === "output" && event.stream === "stdout") said += event.data;
        isOver ||= event.type === "completed" || event.type === "error";
        hasFailed ||= event.type === "error";
      }
      yield events;
    }
    if (!isOver && signal.aborted) yield stopped;
    if (said !== "") messages = [...asked, { role: "assistant", content: said }];
    else if (!hasFailed) messages = asked;
    if (!kept) return;
  }
}

const stopped: AdapterEvent = {
  type: "error",
  code: "interrupted",
  message: "The turn was stopped.",
  recoverable: false,
};

/** Two messages of one role are one: some servers want the roles to alternate. */
function withPrompt(
  messages: readonly ChatMessage[],
  { prompt, attached }: { prompt: string; attached: readonly AttachedPart[] },
): ChatMessage[] {
  const last = messages.at(-1);
  const [before, former] = last?.role === "user" ? [messages.slice(0, -1), last] : [messages, undefined];
  const all = [...former?.attached ?? [], ...attached];
  const content = former === undefined ? prompt : `${former.content}\n\n${prompt}`;
  return [...before, { role: "user", content, ...(all.length === 0 ? {} : { attached: all }) }];
}
