import type { AttemptStartedEvent, Envelope, ProcessSpawnedEvent } from "../../../plugin-sdk/envelope.ts";
import type { ErrorCode } from "../../../plugin-sdk/errors.ts";
import { countOf, fieldsOrNone, listOf, stringOf } from "../../../plugin-sdk/json-fields.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type {
  GrantsInForce,
  RecordedAttempt,
  RecordedChild,
  SessionHistory,
} from "../../../plugin-sdk/session-history.ts";

/** Fact that one host event adds to its session's history tables. */
export type HistoryFact =
  | { what: "granted"; row: GrantsInForce }
  | { what: "attempt"; row: RecordedAttempt; granted: Permissions | null }
  | { what: "attempt_failed"; row: Pick<RecordedAttempt, "attempt" | "ended_at" | "error_code"> }
  | { what: "child"; row: RecordedChild }
  | { what: "child_gone"; row: Pick<RecordedChild, "process_id" | "ended_at" | "exit_code" | "signal"> }
  | { what: "turn"; turn: number };

/** False for a batch whose text contains none of those events: most of a busy session's batches need no parsing. */
export function mayHoldFacts(body: string): boolean {
  return /"type":"(?:session_started|attempt_(?:started|failed)|process_(?:spawned|exited)|turn_started)"/.test(body);
}

/** Fact of an event; null for an event without one. Fields missing in a damaged event are empty. */
export function factOf({ event, ts, attempt }: Envelope): HistoryFact | null {
  switch (event.type) {
    case "session_started": {
      const permissions = fieldsOrNone(fieldsOrNone(event.effective)["permissions"]) as Permissions;
      return { what: "granted", row: { attempt: 1, adapter_id: stringOf(event.adapter_id) ?? "", permissions } };
    }
    case "attempt_started":
      return { what: "attempt", row: startedAttempt(event, ts), granted: event.permissions ?? null };
    case "attempt_failed": {
      const error_code = stringOf(fieldsOrNone(event.error)["code"]) as ErrorCode | null;
      return { what: "attempt_failed", row: { attempt: countOf(event.attempt) ?? 0, ended_at: ts, error_code } };
    }
    case "process_spawned":
      return { what: "child", row: startedChild(event, { ts, attempt }) };
    case "process_exited": {
      const exit_code = Number.isSafeInteger(event.exit_code) ? event.exit_code : null;
      const end = { ended_at: ts, exit_code, signal: stringOf(event.signal) };
      return { what: "child_gone", row: { process_id: countOf(event.process_id) ?? 0, ...end } };
    }
    case "turn_started":
      return { what: "turn", turn: countOf(event.turn) ?? 0 };
    default:
      return null;
  }
}

function startedAttempt({ attempt, adapter_id }: AttemptStartedEvent, ts: string): RecordedAttempt {
  const ids = { attempt: countOf(attempt) ?? 0, adapter_id: stringOf(adapter_id) ?? "" };
  return { ...ids, started_at: ts, ended_at: null, error_code: null };
}

function startedChild(
  { process_id, pid, identity, argv }: ProcessSpawnedEvent,
  { ts, attempt }: Pick<Envelope, "ts" | "attempt">,
): RecordedChild {
  const ids = { process_id: countOf(process_id) ?? 0, attempt: countOf(attempt) ?? 0, pid: countOf(pid) ?? 0 };
  const known = { identity: stringOf(identity), program: stringOf(listOf(argv)[0]) ?? "" };
  return { ...ids, ...known, started_at: ts, ended_at: null, exit_code: null, signal: null };
}

/** Makes an empty history. */
export function emptyHistory(): SessionHistory {
  return { grants: [], attempts: [], children: [] };
}

/** Adds a fact, as the tables of a journal do. */
export function addFact(history: SessionHistory, fact: HistoryFact): void {
  const { grants, attempts, children } = history;
  switch (fact.what) {
    case "granted":
      if (!grants.some(({ attempt }) => attempt === fact.row.attempt)) grants.push(structuredClone(fact.row));
      return;
    case "attempt": {
      const { attempt, adapter_id } = fact.row;
      if (!attempts.some((one) => one.attempt === attempt)) attempts.push({ ...fact.row });
      if (fact.granted === null) return;
      return addFact(history, { what: "granted", row: { attempt, adapter_id, permissions: fact.granted } });
    }
    case "attempt_failed":
      for (const one of attempts) if (one.attempt === fact.row.attempt) Object.assign(one, fact.row);
      return;
    case "child":
      if (!children.some(({ process_id }) => process_id === fact.row.process_id)) children.push({ ...fact.row });
      return;
    case "child_gone":
      for (const one of children) if (one.process_id === fact.row.process_id) Object.assign(one, fact.row);
      return;
  }
}
