import type { AdapterEvent } from "../../../../plugin-sdk/events.ts";
import { shortText } from "../../../../plugin-sdk/short-text.ts";
import { refusalOf } from "../../../ground/checks/refused-event.ts";
import { endRefused, fellSilent } from "../endings.ts";
import { ofSessions, type Rule } from "../rule.ts";
import { saidOf } from "../report.ts";
import type { Seen, Take } from "../seen.ts";

/** Shorter texts may come twice by chance. */
const telling = 6;

/** Rules of a session's events, one by one and in their order. */
export const eventRules: readonly Rule[] = [
  // The kit starts no program of this machine, so each must be scripted.
  {
    id: "scripted",
    title: "conformance.yaml scripts every program that the manifest asks for.",
    check({ unscripted }) {
      return unscripted.map((binary) => ({ message: `conformance.yaml scripts no program "${binary}".` }));
    },
  },
  // A session without an expectation must complete.
  {
    id: "sessions",
    title: "Sessions end as conformance.yaml expects.",
    check: ofSessions((take, seen) => seen.unscripted.length > 0 ? [] : problemsWith(take, seen)),
  },
  // An event that does not fit is kept as `unparsed`, which no client understands.
  {
    id: "event-shape",
    title: "Every event fits its schema.",
    check: ofSessions(({ events }) => misfits(events, "shape")),
  },
  // Calls and requests are told apart by their ids.
  {
    id: "event-ids",
    title: "Ids of calls are used once, those of requests for one at a time; results and withdrawals name one of them.",
    check: ofSessions(({ events }) => misfits(events, "rule")),
  },
  // A result that the host must add is one that the adapter forgot.
  {
    id: "tool-results",
    title: "Every tool call gets its result.",
    check: ofSessions(({ envelopes }) =>
      envelopes.flatMap(({ event, synthetic }) =>
        synthetic && event.type === "tool_result" ? [`The tool call "${event.call_id}" got no result.`] : []
      )
    ),
  },
  // Deltas that repeat what they grew from must become increments.
  {
    id: "text-once",
    title: "No text is given twice.",
    check: ofSessions(({ events }) => repetitions(events)),
  },
  // Agents that die often exit as if all were well, so silence is a failure.
  {
    id: "last-word",
    title: "Every session ends with a completed or an error event.",
    check: ofSessions((take) => fellSilent(take) ? ["The session ended without a last word."] : []),
  },
  // The last word is the last.
  {
    id: "after-end",
    title: "Nothing follows the last word.",
    check: ofSessions(({ events }) => {
      const end = events.findIndex(({ type }) => type === "completed" || type === "error");
      const next = end === -1 ? undefined : events[end + 1];
      return next === undefined ? [] : [`After its last word the adapter yields ${next.type}.`];
    }),
  },
];

function problemsWith(take: Take, { script }: Seen): string[] {
  const expected = script.sessions.find(({ name }) => name === take.session)?.expect ?? {};
  const { outcome = "completed", output } = expected;
  const { result, refused } = take;
  if (refused !== null) return [`The session was refused: ${refused.message}`];
  // Another rule tells the cause.
  if (result === null || fellSilent(take) || (endRefused(take) && result.error?.code === "fatal")) return [];
  if (result.outcome !== outcome) {
    const why = result.error === undefined ? "" : `\n${saidOf(result.error)}`;
    return [`The session ended as ${result.stop_reason}, expected ${outcome}.${why}`];
  }
  if (output === undefined || result.output.includes(output)) return [];
  return [`The output lacks ${JSON.stringify(output)}: ${JSON.stringify(result.output.slice(0, 200))}.`];
}

function repetitions(events: readonly AdapterEvent[]): string[] {
  const texts = events.flatMap((event) => (event.type === "output" && event.stream === "stdout" ? [event.data] : []));
  let whole = "";
  let pieces = 0;
  for (const [index, text] of texts.entries()) {
    const before = texts[index - 1] ?? "";
    if (before.trim().length >= telling && text.length > before.length && text.startsWith(before)) {
      return [`An output repeats the one before it: "${text.slice(0, 80)}".`];
    }
    if (pieces > 1 && whole.trim().length >= telling && text.trim() === whole.trim()) {
      return [`An output repeats all that was given: "${text.slice(0, 80)}".`];
    }
    whole += text;
    pieces++;
  }
  return [];
}

/** Sentences about events of no known `shape`, or those that break a `rule` of the stream. */
function misfits(events: readonly AdapterEvent[], kind: "shape" | "rule"): string[] {
  return events.flatMap((event) => {
    const refusal = refusalOf(event);
    if (refusal === null) return [];
    const { problem, yielded } = refusal;
    const breaksRule = /^This \w+ breaks a rule: /.test(problem);
    if (breaksRule !== (kind === "rule")) return [];
    return [breaksRule ? problem : `${problem} It was ${shortText(JSON.stringify(yielded), 200)}`];
  });
}
