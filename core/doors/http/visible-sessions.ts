import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionOwners } from "./session-owners.ts";
import { type Caller, hasScope } from "./scopes.ts";

/** Whether a caller may see a session: all with `read`, else only those that its token started. */
export function sees(caller: Caller, sessionId: string, owners: SessionOwners): boolean {
  return hasScope(caller, "read") || isOwn(caller, sessionId, owners);
}

/**
 * Demands the right to see a session.
 * @throws {BulkheadError} `not_found`, as for a session that does not exist
 */
export function demandSight(caller: Caller, sessionId: string, owners: SessionOwners): void {
  if (!sees(caller, sessionId, owners)) throw unknownSession(sessionId);
}

/**
 * Demands the right to control a session: its own with `run`, all with `admin`.
 * @throws {BulkheadError} `not_found` for one that the caller cannot see, `forbidden` for one that it can only see
 */
export function demandControl(caller: Caller, sessionId: string, owners: SessionOwners): void {
  demandSight(caller, sessionId, owners);
  if (hasScope(caller, "admin") || (hasScope(caller, "run") && isOwn(caller, sessionId, owners))) return;
  throw new BulkheadError("forbidden", "Cannot act on the session: another token started it.", {
    hint: "It takes the token that started it, or one with the scope admin.",
    details: { needed: ["admin"] },
  });
}

/** Creates the error for a session that does not exist. */
export function unknownSession(sessionId: string): BulkheadError {
  return new BulkheadError("not_found", `There is no session "${sessionId.slice(0, 64)}".`, {
    hint: '"GET /v1/sessions" lists those there are.',
  });
}

function isOwn(caller: Caller, sessionId: string, owners: SessionOwners): boolean {
  return owners.ownerOf(sessionId) === caller.id;
}
