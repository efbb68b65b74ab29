import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import { type MessageReport, type MessageTerms, textOf } from "../../../../../plugin-sdk/conversation.ts";
import type { Delivery, Part } from "../../../../../plugin-sdk/messages.ts";
import { omitUndefined } from "../../../../../plugin-sdk/optional-fields.ts";
import type { SessionRequest } from "../../../../../plugin-sdk/request.ts";
import { defaultLimits } from "../../../../ground/config/limits.ts";
import { readEarlier, repeatedRequest } from "../../../../sessions/host/earlier-session.ts";
import { shortId } from "../../../../ground/log/short-id.ts";
import { randomId } from "../../../../ground/platform/files/hash.ts";
import { type Invocation, tell, tellEach } from "../../command.ts";
import { exitCodeOf } from "../../exit-code.ts";
import { findSession } from "../../find-session.ts";
import { unsearched } from "../../find-adapters.ts";
import { type OpenedSessions, openSessions } from "../../open-sessions.ts";
import { readPrompt } from "../../prompt.ts";
import { Questions } from "../../questions.ts";
import { safeLine } from "../../render/agent-text.ts";
import { askForGrants } from "../../run-granted.ts";
import { tableText } from "../../show-session.ts";
import { showTurn } from "../../chat/show-turn.ts";
import { prepareSessions, textFlag } from "../../session-command.ts";
import { givenFields, inTrace } from "../../session-request.ts";
import { requireEnv } from "./session-again.ts";

/** `bulkhead session say <id> [text]`: gives a conversation a message, and shows the turn that it goes into. */
export async function sessionSay(call: Invocation): Promise<number> {
  const delivery = deliveryOf(call);
  let session_id = "";
  let head = "";
  let text = "";
  let terms: MessageTerms = {};
  await using prepared = await prepareSessions(call, async (opened) => {
    ({ session_id } = await findSession(opened.sessions, call.args[0] ?? ""));
    ({ prompt: text } = await readPrompt({
      args: [session_id, call.args[1]],
      promptFile: textFlag(call, "promptFile"),
      adapters: [session_id],
      maxBytes: opened.manifest?.limits.prompt_bytes ?? defaultLimits.prompt_bytes,
    }, call.terminal));
    const asked = await askTerms(call, { opened, session_id });
    ({ terms, head } = asked);
    return { request: { ...asked.request, prompt: text }, ...unsearched(asked.agent) };
  });
  const { sessions, show, how } = prepared;
  const { conversations } = sessions;
  const { content: attached = [] } = prepared.request;
  const named = textFlag(call, "messageId");
  // A message of this id was given already: another try would be the same.
  const grants = askForGrants({ ...prepared, grant: named === undefined ? prepared.grant : null });
  how.signal.addEventListener("abort", () => void conversations.stop(session_id).catch(() => {}), { once: true });
  for (;;) {
    const message_id = named ?? randomId();
    const said = await conversations.say(session_id, {
      message_id,
      content: [{ type: "text", text }, ...attached],
      delivery,
      ...omitUndefined({
        output_schema: call.options["outputSchema"] as Record<string, unknown> | undefined,
        with: Object.keys(terms).length === 0 ? undefined : terms,
        traceparent: textFlag({ options: inTrace(call.options, call.terminal) }, "traceparent"),
      }),
    });
    if (call.options["wait"] === false) {
      const where = said.state === "pending" ? "waits" : `is ${said.state}`;
      return await tell(call, said, `Message ${message_id} ${where}, in session ${shortId(said.session_id)}.`);
    }
    const { adapter_id, last_seq } = await sessions.get(said.session_id);
    const isSame = said.session_id === head;
    head = said.session_id;
    const end = await showTurn(await sessions.open(said.session_id), {
      ...grants.show,
      messageId: isSame || said.state !== "delivered" ? message_id : null,
      after: isSame ? Math.max(0, last_seq - lookBack) : 0,
      adapter: adapter_id ?? show.adapter,
    });
    if (!(await grants.givenAfter(end))) return exitCodeOf(end);
  }
}

/** Reads what the flags change for the session that a message may begin, and the agent that will have it. */
async function askTerms(
  call: Invocation,
  { opened: { sessions, configOf }, session_id }: { opened: OpenedSessions; session_id: string },
): Promise<{ head: string; agent: string; terms: MessageTerms; request: SessionRequest }> {
  const { options, terminal } = call;
  const { head, state } = await sessions.conversations.get(session_id);
  const { adapter_id, workdir } = await sessions.get(head);
  const given = textFlag(call, "agent");
  const agent = given ?? adapter_id ?? "";
  const config = options["param"] === undefined ? undefined : await configOf(agent);
  // Of these flags, --no-wait is about what is shown.
  const { workdir: _here, traceparent: _span, ...fields } = givenFields({
    options: { ...options, wait: undefined },
    cwd: terminal.cwd,
    config,
  });
  const terms: MessageTerms = { ...fields, ...omitUndefined({ agent: given }) };
  if (state !== "ended") return { head, agent, terms, request: { workdir, prompt: "" } };
  const earlier = await readEarlier(sessions, head);
  requireEnv(earlier, call);
  // Whether a client will answer depends on who runs the command now.
  const { answer_timeout_ms: waits } = earlier.requested;
  const isAttended = Questions.possible(terminal) && !call.json;
  if (isAttended && waits === 0) terms.answer_timeout_ms ??= oneDayMs;
  if (!isAttended && waits === undefined) terms.answer_timeout_ms ??= 0;
  return { head, agent, terms, request: { ...repeatedRequest(earlier), ...fields, prompt: "" } };
}

/** Longer than any host lets a question wait. */
const oneDayMs = 86_400_000;

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
  return await tell(call, { session_id, stopped: true, drop_pending }, `Stopped the turn of ${shortId(session_id)}.`);
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
  if (state === "dropped") return `dropped: ${reason ?? ""}${to === undefined ? "" : ` to ${shortId(to)}`}`;
  return state;
}
