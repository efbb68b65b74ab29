import type { AdapterEvent } from "../../../../plugin-sdk/events.ts";
import { shortText } from "../../../../plugin-sdk/short-text.ts";
import { refusalOf } from "../../../ground/checks/refused-event.ts";
import { endRefused, fellSilent } from "../endings.ts";
import { findings, type Rule } from "../rule.ts";
import { saidOf } from "../report.ts";
import { nameOf, ordinary, type Seen, type Take } from "../seen.ts";

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
    check(seen) {
      if (seen.unscripted.length > 0) return [];
      return ordinary(seen).flatMap((take) => {
        const message = problemWith(take, seen);
        return message === null ? [] : [{ message, session: nameOf(take) }];
      });
    },
  },
  // An event that does not fit is kept as `unparsed`, which no client understands.
  {
    id: "event-shape",
    title: "Every event fits its schema.",
    check(seen) {
      return ordinary(seen).flatMap((take) => findings(misfits(take.events, "shape"), nameOf(take)));
    },
  },
  // Calls and requests are told apart by their ids.
  {
    id: "event-ids",
    title: "Ids of calls and requests are used once, and results answer open calls.",
    check(seen) {
      return ordinary(seen).flatMap((take) => findings(misfits(take.events, "rule"), nameOf(take)));
    },
  },
  // A result that the host must add is one that the adapter forgot.
  {
    id: "tool-results",
    title: "Every tool call gets its result.",
    check(seen) {
      return ordinary(seen).flatMap((take) =>
        take.envelopes.flatMap(({ event, synthetic }) =>
          synthetic && event.type === "tool_result"
            ? [{ message: `The tool call "${event.call_id}" got no result.`, session: nameOf(take) }]
            : []
        )
      );
    },
  },
  // Deltas that repeat what they grew from must become increments.
  {
    id: "text-once",
    title: "No text is given twice.",
    check(seen) {
      return ordinary(seen).flatMap((take) => {
        const repeated = repetition(take.events);
        return repeated === null ? [] : [{ message: repeated, session: nameOf(take) }];
      });
    },
  },
  // Agents that die often exit as if all were well, so silence is a failure.
  {
    id: "last-word",
    title: "Every session ends with a completed or an error event.",
    check(seen) {
      return ordinary(seen).filter(fellSilent).map((take) => ({
        message: "The session ended without a last word.",
        session: nameOf(take),
      }));
    },
  },
  // The last word is the last.
  {
    id: "after-end",
    title: "Nothing follows the last word.",
    check(seen) {
      return ordinary(seen).flatMap((take) => {
        const end = take.events.findIndex(({ type }) => type === "completed" || type === "error");
        const next = end === -1 ? undefined : take.events[end + 1];
        if (next === undefined) return [];
        return [{ message: `After its last word the adapter yields ${next.type}.`, session: nameOf(take) }];
      });
    },
  },
];

function problemWith(take: Take, { script }: Seen): string | null {
  const expected = script.sessions.find(({ name }) => name === take.session)?.expect ?? {};
  const { outcome = "completed", output } = expected;
  const { result, refused } = take;
  if (refused !== null) return `The session was refused: ${refused.message}`;
  // Another rule tells the cause.
  if (result === null || fellSilent(take) || (endRefused(take) && result.error?.code === "fatal")) return null;
  if (result.outcome !== outcome) {
    const why = result.error === undefined ? "" : `\n${saidOf(result.error)}`;
    return `The session ended as ${result.stop_reason}, expected ${outcome}.${why}`;
  }
  if (output === undefined || result.output.includes(output)) return null;
  return `The output lacks ${JSON.stringify(output)}: ${JSON.stringify(result.output.slice(0, 200))}.`;
}

function repetition(events: readonly AdapterEvent[]): string | null {
  const texts = events.flatMap((event) => (event.type === "output" && event.stream === "stdout" ? [event.data] : []));
  let whole = "";
  let pieces = 0;
  for (const [index, text] of texts.entries()) {
    const before = texts[index - 1] ?? "";
    if (before.trim().length >= telling && text.length > before.length && text.startsWith(before)) {
      return `An output repeats the one before it: "${text.slice(0, 80)}".`;
    }
    if (pieces > 1 && whole.trim().length >= telling && text.trim() === whole.trim()) {
      return `An output repeats all that was given: "${text.slice(0, 80)}".`;
    }
    whole += text;
    pieces++;
  }
  return null;
}

/**
 * Sentences about the events that the host could not take as they were: those of no known `shape`, or those that break
 * a `rule` of the stream.
 */
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
