import { Equal } from "@sinclair/typebox/value";
import type { MessageTerms } from "../../../plugin-sdk/conversation.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { fieldsOrNone } from "../../../plugin-sdk/json-fields.ts";
import type { AttachmentPart } from "../../../plugin-sdk/messages.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { Budget, SessionRequest } from "../../../plugin-sdk/request.ts";
import { accepts, canTalk } from "../session/enforceable.ts";
import { repeatedRequest } from "./earlier-session.ts";
import { nothing, type Sums } from "../session/spend/shared-budgets.ts";
import type { LiveSession } from "./live-sessions.ts";
import { leftOf } from "./run-loop.ts";
import type { SessionTalk } from "./session-talk.ts";

/** The message that begins a session, as far as its request goes. */
interface NextMessage {
  prompt: string;
  content: AttachmentPart[];
  output_schema?: Record<string, unknown> | undefined;
  traceparent?: string | undefined;
  with?: MessageTerms | undefined;
  /** Used of the budget since the session before it began; null without a budget. */
  used: Sums | null;
}

/**
 * Returns the request of a conversation's next session: that of the one before it, with the message as its prompt and what is
 * left of the budget. What the agent has read already, and what stands for the one session alone, is not taken over.
 * @throws {BulkheadError} `budget_exceeded` for a budget that is spent
 */
export function nextRequest(
  talk: SessionTalk,
  { prompt, content, output_schema, traceparent, with: terms = {}, used }: NextMessage,
): SessionRequest {
  const {
    context_files: _read,
    content: _parts,
    iteration: _number,
    max_iterations: _most,
    continue_from: _before,
    fork: _copy,
    output_schema: _schema,
    place: _place,
    replay_of: _played,
    budget,
    ...same
  } = repeatedRequest(talk);
  const { model: _model, params: _params, ...ofAnyAgent } = same;
  const { agent = talk.adapter, ...changes } = terms;
  const left = budget && budgetLeft(without(budget, Object.keys(changes.budget ?? {})), { ...talk, used });
  const before: Omit<SessionRequest, "prompt"> = {
    ...(agent === talk.adapter ? same : ofAnyAgent),
    ...omitUndefined({ budget: left }),
  };
  const parts = Object.fromEntries(
    byParts.flatMap((name) => changes[name] === undefined ? [] : [[name, { ...before[name], ...changes[name] }]]),
  );
  return {
    ...before,
    ...changes,
    ...parts,
    prompt,
    ...(content.length === 0 ? {} : { content }),
    ...omitUndefined({ output_schema, traceparent }),
  };
}

/** Refuses a request that lacks values of an earlier one's `env`: they may be credentials, so they are never kept. */
export function demandEnv({ session_id, requested }: SessionTalk, request: SessionRequest): void {
  const lacking = Object.keys(requested.env ?? {}).filter((name) => request.env?.[name] === undefined);
  if (lacking.length === 0) return;
  throw new BulkheadError("unsupported", `Cannot go on from session "${session_id}": its env was not kept.`, {
    hint: `Give the values of ${lacking.join(", ")} again, with the message; fork without a prompt.`,
    details: { session_id, env: lacking },
  });
}

function without(budget: Budget, names: readonly string[]): Budget {
  return Object.fromEntries(Object.entries(budget).filter(([name]) => !names.includes(name)));
}

function budgetLeft(
  budget: Budget,
  { session_id, used }: Pick<SessionTalk, "session_id"> & Pick<NextMessage, "used">,
): Budget {
  const left = leftOf(budget, used ?? nothing);
  if ((left.cost === undefined || left.cost > 0) && (left.tokens === undefined || left.tokens >= 1)) return left;
  throw new BulkheadError(
    "budget_exceeded",
    `Cannot go on from session "${session_id}": the conversation's budget is spent.`,
    {
      hint: "Start a new session with a budget of its own.",
      details: { session_id, left },
    },
  );
}

/** Whether a message asks for other terms than those of the session that runs. */
export function changesTerms({ admitted: { request, candidates } }: LiveSession, terms: MessageTerms = {}): boolean {
  const { agent, effort, plan, ...others } = terms;
  const takes = (field: "effort" | "plan") =>
    candidates.every(({ plugin: { manifest } }) => canTalk(manifest, "turns") && accepts(manifest, field));
  return agent !== undefined && agent !== candidates[0].plugin.id ||
    isOtherThan(request, {
      ...others,
      ...(takes("effort") ? {} : omitUndefined({ effort })),
      ...(takes("plan") ? {} : omitUndefined({ plan })),
    });
}

/** Whether a message asks for other terms than those of a request. */
export function isOtherThan(request: SessionRequest, { agent: _agent, ...terms }: MessageTerms): boolean {
  const before: SessionRequest = { keep_ms: 0, plan: false, ...request };
  return (Object.keys(terms) as (keyof typeof terms)[]).some((name) =>
    byParts.some((one) => one === name)
      ? Object.entries(terms[name] ?? {}).some(([key, value]) => !Equal(fieldsOrNone(before[name])[key], value))
      : !Equal(before[name], terms[name])
  );
}

/** Fields of which a message changes the parts that it gives. */
const byParts = ["labels", "params", "budget"] as const;
