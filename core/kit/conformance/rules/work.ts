import { workerDied } from "../endings.ts";
import { ofSessions, type Rule, skipped } from "../rule.ts";
import type { Take } from "../seen.ts";
import { trialLimits } from "../trial-limits.ts";

/** Several times the characters that one piece of each stream may hold. */
const most = 400_000;

/** Rules of the work that a session does and leaves. */
export const workRules: readonly Rule[] = [
  // The host counts what git shows; a claim beyond that misleads people.
  {
    id: "claims",
    title: "Files that the adapter says are changed are changed.",
    check: ofSessions((take) =>
      claimed(take).filter((path) => !take.changed.includes(path))
        .map((path) => `It says that "${path}" was changed, and it was not.`)
    ),
  },
  // Each session is fresh: what the one before left behind must not change it.
  {
    id: "state",
    title: "A session that is run again goes the same way.",
    check({ plain, again }) {
      const [first] = plain;
      if (first === undefined || again === null) return skipped("No session was run twice.");
      const [was, is] = [wayOf(first), wayOf(again)];
      if (was === is) return [];
      return [{ message: `The first time it went ${was}, the second time ${is}.`, session: first.session }];
    },
  },
  // After the teardown time the host leaves the adapter behind, and its unfinished work is lost.
  {
    id: "cancel",
    title: "An interrupted session ends in time.",
    check({ interrupted }) {
      if (interrupted === null || interrupted.result === null) return skipped("No session was interrupted.");
      const died = workerDied(interrupted);
      if (died !== null) return [{ message: `Interrupting it cost its worker: ${died}` }];
      const { stopped_ms } = interrupted;
      if (stopped_ms === null) return skipped("The session was over before it could be interrupted.");
      if (stopped_ms < trialLimits.teardown_timeout_ms) return [];
      return [{ message: `It was still at work ${trialLimits.teardown_timeout_ms} ms after it was interrupted.` }];
    },
  },
  // A program that the host has to end may have been at work still.
  {
    id: "process-left",
    title: "The adapter waits for the programs that it starts.",
    check: ofSessions(({ envelopes }) =>
      envelopes.flatMap(({ event }) =>
        event.type === "process_exited" && event.signal !== null
          ? [`A program still ran at the end and was ended by ${event.signal}.`]
          : []
      )
    ),
  },
  // The session may end before the host decides such a call: it is lost, and so is a denial that the author should see.
  {
    id: "calls-awaited",
    title: "No call of the adapter is open when its session is over.",
    check({ open_calls: open }) {
      if (open === null) return skipped("The adapter could not be looked at.");
      return [...new Set(open)].map((call) => ({
        message: `${call} was not settled when the session was over. Put await before it.`,
      }));
    },
  },
  // An adapter that reads on while the host does not pull holds it all in memory.
  {
    id: "back-pressure",
    title: "The adapter stops reading while its events are not taken.",
    check({ read_unasked: read }) {
      if (read === null) return skipped("It reads no program and no server.");
      return read <= most ? [] : [{ message: `It read ${read} characters while no event was taken.` }];
    },
  },
];

function claimed({ events, result }: Take): string[] {
  const workdir = result?.requested.workdir ?? "";
  const paths = events.flatMap((event) =>
    event.type === "file_change" ? [event.path] : event.type === "completed" ? event.files_changed : []
  );
  return [...new Set(paths.map((path) => path.replace(`${workdir}/`, "").replace(/^\.\//, "")))];
}

/** Its kinds of events, several in a row as one: how text is cut into pieces is chance. */
function wayOf({ events, result }: Take): string {
  const kinds = events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
  return [...kinds, result?.stop_reason ?? "refused"].join(", ");
}
