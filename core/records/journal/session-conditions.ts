import type { SqlValue } from "../../ground/platform/state/sqlite.ts";
import type { SessionFilter, SessionStretch } from "./session-record.ts";

/** States of a session in its table. */
export const tableStates = { running: 0, ended: 1, deleted: 2 } as const;

/** The last name of a session's folder. */
export const folderName = "replace(workdir, rtrim(workdir, replace(workdir, '/', '')), '')";

/** All that a session is found by; a label as `name=value`. SQLite makes only ASCII letters small. */
const searched =
  `lower(session_id || char(10) || title || char(10) || coalesce(adapter_id, '') || char(10) || workdir || char(10)
  || coalesce(task_id, '') || char(10) || replace(labels, '":"', '='))`;

/** Words of one search. */
const mostWords = 16;

/** Splits a search into its words. */
export function wordsOf(text: string): string[] {
  return text.split(/\s+/u).filter((word) => word !== "").slice(0, mostWords);
}

type Condition = [sql: string, ...values: SqlValue[]];

/** Returns the condition that a filter is in SQL, and its values. Deleted sessions never match. */
export function conditionsOf(
  filter: Partial<SessionFilter>,
  { before, downTo }: SessionStretch,
): { where: string; values: SqlValue[] } {
  const { labels = {} } = filter;
  const wanted: Condition[] = [
    stateCondition(filter.state),
    ...fieldConditions(filter),
    ...wordsOf(filter.text ?? "").map(wordCondition),
    ...Object.entries(labels).map(([name, value]): Condition => [
      "EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ? AND value = ?)",
      name,
      value,
    ]),
  ];
  if (before !== undefined) {
    const { sorted_at, first_gseq, session_id } = before;
    wanted.push(["(sorted_at, first_gseq) <= (?, ?)", sorted_at, first_gseq]);
    wanted.push(["(sorted_at, first_gseq, session_id) < (?, ?, ?)", sorted_at, first_gseq, session_id]);
  }
  wanted.push(["(sorted_at, first_gseq) >= (?, ?)", downTo?.sorted_at ?? "", downTo?.first_gseq ?? 0]);
  return {
    where: wanted.map(([condition]) => condition).join(" AND "),
    values: wanted.flatMap(([, ...values]) => values),
  };
}

function stateCondition(state: SessionFilter["state"]): Condition {
  return state === undefined ? [`state < ${tableStates.deleted}`] : ["state = ?", tableStates[state]];
}

function fieldConditions(filter: Partial<SessionFilter>): Condition[] {
  const { outcome, adapter, task_id, conversation_id, is_fork, folder, interrupted, since, until, over } = filter;
  const all: [unknown, Condition][] = [
    [outcome, ["outcome = ?", outcome ?? null]],
    [adapter, ["adapter_id = ?", adapter ?? null]],
    [task_id, ["task_id = ?", task_id ?? null]],
    [conversation_id, ["conversation_id = ?", conversation_id ?? null]],
    [is_fork, ["follows_session IS NOT NULL AND conversation_id = session_id"]],
    [folder, [`${folderName} = ?`, folder ?? null]],
    [interrupted, ["coalesce(stop_reason = 'interrupted', 0) = ?", interrupted === true ? 1 : 0]],
    // The order of a list never goes back, so what began before is not looked at.
    [since, ["sorted_at >= ? AND started_at >= ?", since ?? null, since ?? null]],
    [until, ["started_at < ?", until ?? null]],
    [over, ["started_at < ? AND coalesce(ended_at >= ?, 1)", over ?? null, over ?? null]],
  ];
  return all.flatMap(([value, condition]) => value === undefined ? [] : [condition]);
}

/** A word is found in any case: letters beyond ASCII as they were typed, small, and with a large first one. */
function wordCondition(word: string): Condition {
  const small = word.toLowerCase();
  const spelled = new Set([small, word, small.charAt(0).toUpperCase() + small.slice(1)].map(withSmallAscii));
  return [`(${[...spelled].map(() => `instr(${searched}, ?) > 0`).join(" OR ")})`, ...spelled];
}

function withSmallAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
