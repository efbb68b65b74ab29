import type { PermissionRequestEvent, QuestionEvent } from "../../../plugin-sdk/events.ts";
import { shortText } from "../../../plugin-sdk/short-text.ts";
import type { AttemptDeps, Candidate } from "./admitted.ts";
import { policyAnswer, refusalOf } from "./approval-policy.ts";
import { type Asked, unanswered } from "./open-requests.ts";

/** A permission request or question, and its possible answers. */
interface Question {
  /** Ids of the possible answers; null: any text. */
  offered: string[] | null;
  /** The answer that says no. */
  refusal?: string | null;
  /** The answer of policy; null when a client is asked. */
  policy: string | null;
  /** Ending of the sentence "the session is blocked by". */
  what: string;
  asked: Asked;
}

/** Lets policy or a client answer what an agent asks; without an answer in time the session is blocked. */
export function askClient(
  deps: AttemptDeps,
  { approval }: Pick<Candidate, "approval">,
  event: PermissionRequestEvent | QuestionEvent,
): void {
  const { session: { request, answerTimeoutMs: ms }, requests, deadlines, rules, stop } = deps;
  const { policy, what, asked, offered, refusal = null } = event.type === "question"
    ? questionOf(event)
    : requestOf(event, policyAnswer(event, approval, event.kind ?? rules.kindOf(event.call_id)));
  if (policy !== null) return requests.addAnswered(event.request_id, policy);
  const onExpired = () => stop(offered === null ? "question_deadline" : "permission_deadline", unanswered(what, ms));
  const endsInMs = request.timeout_ms === undefined ? Infinity : deadlines.leftMs;
  const wanted = request.answer_timeout_ms ?? 0;
  const cutFromMs = wanted > ms ? wanted : undefined;
  requests.add(event.request_id, { asked, offered, refusal, ms, endsInMs, cutFromMs, onExpired });
}

function questionOf({ question, options = [] }: QuestionEvent): Question {
  return {
    offered: null,
    policy: null,
    what: `the question "${shortText(question, 200)}"`,
    asked: { type: "question", text: question, choices: options },
  };
}

function requestOf({ options, tool, title }: PermissionRequestEvent, policy: string | null): Question {
  const offered = options.map(({ id }) => id);
  return {
    offered,
    refusal: refusalOf(options),
    policy,
    what: `the request to use "${shortText(tool, 200)}"`,
    asked: { type: "permission_request", text: title, choices: offered },
  };
}
