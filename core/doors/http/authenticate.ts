import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { RequestSource } from "../../ground/runtime/http-server.ts";
import type { Meters } from "./meters.ts";
import type { Caller } from "./scopes.ts";
import type { TokenStore } from "./tokens.ts";

/** Options of {@link authenticate}. */
interface AuthenticateOptions {
  from: RequestSource;
  tokens: TokenStore;
  meters: Meters;
}

/**
 * Identifies a request's caller by its bearer token, over TCP and over the unix socket alike. Access to the socket
 * proves nothing: a plugin's process may be able to connect to it, yet unable to read the token's file.
 * @throws {BulkheadError} `unauthorized`; `limit_exceeded` for an address that fails too often
 */
export async function authenticate(
  request: Request,
  { from, tokens, meters }: AuthenticateOptions,
): Promise<Caller> {
  const header = request.headers.get("authorization");
  const token = header === null ? null : /^Bearer ([\w-]{1,256})$/i.exec(header)?.[1] ?? null;
  const caller = token === null ? null : await check(tokens, token);
  if (caller !== null) return caller;
  // Count only failures: guessing must never shut out a valid token.
  meters.countRefusal(from.address ?? from.kind);
  const why = header === null ? "it carries no token" : "its token is unknown, revoked or expired";
  throw new BulkheadError("unauthorized", `Cannot serve the request: ${why}.`, {
    hint:
      'Send "Authorization: Bearer <token>"; "bulkhead token create" makes one, and http/token in the state folder ' +
      "holds the operator's.",
  });
}

/** Hides errors of the token file from a caller without a token: they go to the log. */
async function check(tokens: TokenStore, token: string): Promise<Caller | null> {
  try {
    return await tokens.check(token);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`no token can be checked. ${why}`, { cause });
  }
}
