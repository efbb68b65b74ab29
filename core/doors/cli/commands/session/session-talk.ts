import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import { type MessageReport, type MessageTerms, textOf } from "../../../../../plugin-sdk/conversation.ts";
import type { Delivery, Part } from "../../../../../plugin-sdk/messages.ts";
import { omitUndefined } from "../../../../../plugin-sdk/optional-fields.ts";
import type { Approval } from "../../../../../plugin-sdk/request.ts";
import { defaultLimits } from "../../../../ground/config/limits.ts";
import { randomId } from "../../../../ground/platform/files/hash.ts";
import { type Invocation, tell, tellEach } from "../../command.ts";
import { exitCodeOf } from "../../exit-code.ts";
import { findSession } from "../../find-session.ts";
import { watchInterrupts } from "../../interrupts.ts";
import { openSessions } from "../../open-sessions.ts";
import { readPrompt } from "../../prompt.ts";
import { Questions } from "../../questions.ts";
import { safeLine } from "../../render/agent-text.ts";
import { showTimes, tableText } from "../../show-session.ts";
import { showTurn } from "../../chat/show-turn.ts";
import { modeOf, textFlag } from "../../session-command.ts";

/** `bulkhead session say <id> [text]`: gives a conversation a message, and shows the turn that it goes into. */
export async function sessionSay(call: Invocation): Promise<number> {
  const { terminal, options } = call;
  await using opened = await openSessions(call, { warm: true });
  const { session_id } = await findSession(opened.sessions, call.args[0] ?? "");
  const { prompt: text } = await readPrompt({
    args: [session_id, call.args[1]],
    promptFile: textFlag(call, "promptFile"),
    adapters: [session_id],
    maxBytes: opened.manifest?.limits.prompt_bytes ?? defaultLimits.prompt_bytes,
  }, terminal);
  const message_id = textFlag(call, "messageId") ?? randomId();
  const { conversations } = opened.sessions;
  const said = await conversations.say(session_id, {
    message_id,
    content: [{ type: "text", text }],
    delivery: deliveryOf(call),
    ...omitUndefined({
      output_schema: options["schema"] as Record<string, unknown> | undefined,
      with: termsOf(call),
    }),
  });
  if (options["wait"] === false) {
    const where = said.state === "pending" ? "waits" : `is ${said.state}`;
    return await tell(call, said, `Message ${message_id} ${where}, in session ${said.session_id}.`);
  }
  const questions = Questions.possible(terminal) && !call.json ? new Questions(terminal) : undefined;
  const interrupts = watchInterrupts(terminal);
  const stop = () => void conversations.stop(said.session_id).catch(() => {});
  interrupts.signal.addEventListener("abort", stop, { once: true });
  try {
    const { adapter_id, last_seq } = await opened.sessions.get(said.session_id);
    const end = await showTurn(await opened.sessions.open(said.session_id), {
      messageId: said.session_id === session_id || said.state !== "delivered" ? message_id : null,
      after: said.session_id === session_id ? Math.max(0, last_seq - lookBack) : 0,
      terminal,
      adapter: adapter_id ?? "",
      questions,
      mode: modeOf(call),
      verbose: options["verbose"] === true,
      times: showTimes(options),
    });
    return exitCodeOf(end);
  } finally {
    await questions?.close();
    interrupts[Symbol.dispose]();
  }
}

/** `bulkhead session messages <id>`. */
export async function sessionMessages(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { session_id } = await findSession(opened.sessions, call.args[0] ?? "");
  const query = call.options["pending"] === true ? { state: "pending" as const } : {};
  const messages = await opened.sessions.conversations.messages(session_id, query);
  const { terminal } = call;
  return await tellEach(call, messages, () => {
    if (messages.length === 0) return query.state === undefined ? "There is no message." : "No message waits.";
    const rows = messages.map((message) => [message.message_id, stateText(message), safeLine(textOf(message.content))]);
    return tableText(rows.map((cells) => ({ cells, remedy: undefined })), {
      terminal,
      head: ["message", "state", "text"],
      wraps: true,
    });
  });
}

/** `bulkhead session edit <id> <message> <text>`. */
export async function sessionEdit(call: Invocation): Promise<number> {
  const content: Part[] = [{ type: "text", text: call.args[2] ?? "" }];
  await using opened = await openSessions(call);
  const { session_id } = await findSession(opened.sessions, call.args[0] ?? "");
  const { conversations } = opened.sessions;
  const changed = await conversations.edit(session_id, await messageOf(call, session_id, conversations), content);
  return await tell(call, changed, `Changed: ${changed.message_id}.`);
}

/** `bulkhead session withdraw <id> <message>`. */
export async function sessionWithdraw(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { session_id } = await findSession(opened.sessions, call.args[0] ?? "");
  const { conversations } = opened.sessions;
  const gone = await conversations.withdraw(session_id, await messageOf(call, session_id, conversations));
  return await tell(call, gone, `Withdrawn: ${gone.message_id}.`);
}

/** `bulkhead session stop <id>`: stops the turn under way, and the session goes on. */
export async function sessionStop(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { session_id } = await findSession(opened.sessions, call.args[0] ?? "");
  const drop_pending = call.options["dropPending"] === true;
  await opened.sessions.conversations.stop(session_id, { drop_pending });
  return await tell(call, { session_id, stopped: true, drop_pending }, `Stopped the turn of ${session_id}.`);
}

/** Events before the message that are looked at for it: it may have begun its turn already. */
const lookBack = 50;

function deliveryOf({ options }: Invocation): Delivery {
  if (options["steer"] === true && options["interrupt"] === true) {
    throw new BulkheadError("invalid_config", "Cannot steer and interrupt with one message.", {
      hint: "Give --steer to say it into this turn, or --interrupt to stop this turn first.",
    });
  }
  return options["steer"] === true ? "steer" : options["interrupt"] === true ? "interrupt" : "queue";
}

function termsOf(call: Invocation): MessageTerms | undefined {
  const { keep, approval } = call.options;
  const terms: MessageTerms = omitUndefined({
    agent: textFlag(call, "agent"),
    model: textFlag(call, "model"),
    approval: approval as Approval | undefined,
    keep_ms: typeof keep === "number" ? keep : undefined,
  });
  return Object.keys(terms).length === 0 ? undefined : terms;
}

/** Returns the message that a person names by its id, or by enough of its first characters. */
async function messageOf(
  call: Invocation,
  sessionId: string,
  conversations: { messages(id: string): Promise<MessageReport[]> },
): Promise<string> {
  const typed = call.args[1] ?? "";
  const ids = (await conversations.messages(sessionId)).map(({ message_id }) => message_id);
  if (ids.includes(typed)) return typed;
  const found = typed === "" ? [] : ids.filter((id) => id.startsWith(typed));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  throw new BulkheadError(
    found.length > 1 ? "invalid_request" : "not_found",
    found.length > 1 ? `Several messages begin with "${typed}".` : `There is no message "${typed}".`,
    { hint: `List them: bulkhead session messages ${sessionId}.` },
  );
}

function stateText({ state, turn, how, reason, to }: MessageReport): string {
  if (state === "delivered") return how === "injected" ? `into turn ${turn}` : `turn ${turn}`;
  if (state === "dropped") return `dropped: ${reason ?? ""}${to === undefined ? "" : ` to ${to}`}`;
  return state;
}
