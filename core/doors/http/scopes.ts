import { BulkheadError } from "../../../plugin-sdk/errors.ts";

/** Scopes of a token: `read` sees everything, `run` starts sessions and controls its own, `admin` may do everything. */
export const scopes = ["read", "run", "admin"] as const;

/** A member of {@link scopes}. */
export type TokenScope = (typeof scopes)[number];

/** The caller behind a request. */
export interface Caller {
  /** The token's id; `owner` for the first token, which the daemon keeps in a file for the operator. */
  id: string;
  scopes: readonly TokenScope[];
  /**
   * Real absolute folders: its sessions start in these and below. Absent: anywhere. Its adapter's grants decide what an
   * agent reads and writes beyond them.
   */
  workdirs?: readonly string[] | undefined;
  /** Whether it is a page of the console, with the token that a code gave it. */
  isPage?: boolean;
}

/** The operator: the bearer of the first token. */
export const owner: Caller = { id: "owner", scopes };

/**
 * Refuses a caller that has none of the scopes that an action needs.
 * @throws {BulkheadError} `forbidden`
 */
export function demandScope(caller: Caller, { needed, act }: { needed: readonly TokenScope[]; act: string }): void {
  if (needed.some((one) => hasScope(caller, one))) return;
  throw new BulkheadError("forbidden", `The token's scopes do not allow it: ${act}.`, {
    hint: `It takes a token with the scope ${needed.join(" or ")}: "bulkhead token create NAME --scope ${needed[0]}".`,
    details: { needed: [...needed] },
  });
}

/** Whether a caller has a scope. */
export function hasScope(caller: Caller, scope: TokenScope): boolean {
  return caller.scopes.includes(scope) || caller.scopes.includes("admin");
}
