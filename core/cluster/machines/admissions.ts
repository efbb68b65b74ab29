import { type TSchema, Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { stringOf } from "../../../plugin-sdk/json-fields.ts";
import { type SessionRequest, sessionRequestSchema } from "../../../plugin-sdk/request.ts";
import { exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { digestOf } from "../../sessions/host/idempotency.ts";
import type { MessageCaller } from "../../sessions/host/session-host.ts";

/** Answer of a machine that would begin a session, and does not know what the asking machine's client may start. */
export interface WantedSession {
  wanted: SessionRequest;
}

/** A session that the asking machine's client may begin. */
export interface Admission {
  /** Digest of the request that was wanted. */
  of: string;
  /** The request as it was admitted. */
  request: SessionRequest;
}

/** {@link WantedSession}. A request with fields that this version does not know cannot be admitted. */
export const wantedSchema: SchemaOf<WantedSession> = exactly<WantedSession>()(
  Type.Object({ wanted: sessionRequestSchema }),
);

const isAdmission = lazyCheck(
  exactly<Admission>()(
    Type.Object({ of: Type.String({ minLength: 1, maxLength: 256 }), request: sessionRequestSchema }),
  ) as TSchema,
);

/** Most times that a request is admitted: it is another one when the conversation has gone on meanwhile. */
const mostAsked = 5;

/**
 * Asks a machine for what begins a session there. It answers with that session's request first, and begins it once the
 * client's admission here has passed it, as a start that names the machine.
 * @throws {BulkheadError} what `ask` and the admission throw; `busy` where the request is another one each time
 */
export async function askAdmitted<T extends object>(
  ask: (admitted: Admission | null) => Promise<T | WantedSession>,
  { machine, caller }: { machine: string; caller: MessageCaller },
): Promise<T> {
  let admitted: Admission | null = null;
  for (let asked = 0; asked < mostAsked; asked++) {
    const answer: T | WantedSession = await ask(admitted);
    if (!("wanted" in answer)) return answer;
    const wanted = answer.wanted as SessionRequest;
    const { place: _there, ...request } = await caller.admit?.({ ...wanted, place: { machine } }) ?? wanted;
    admitted = { of: digestOf(wanted, {}) ?? "", request };
  }
  throw new BulkheadError(
    "busy",
    `Cannot begin a session on machine "${machine}": its conversation goes on meanwhile.`,
    {
      hint: "Try again in a moment.",
    },
  );
}

/** Does for another machine what begins a session here, or answers with the request that its client must be admitted for. */
export async function admittedElsewhere<T>(
  ask: Readonly<Record<string, unknown>>,
  act: (caller: MessageCaller) => Promise<T>,
): Promise<T | WantedSession> {
  const { admitted } = ask;
  const admit = (wanted: SessionRequest): SessionRequest => {
    // An older version asks for no request.
    if (admitted === undefined) throw refusedSession();
    if (admitted === null) throw new NotAdmitted(wanted);
    if (!isAdmission().Check(admitted)) {
      throw new BulkheadError("invalid_request", "The admission does not fit its schema.");
    }
    const { of, request } = admitted as Admission;
    if (of !== digestOf(wanted, {})) throw new NotAdmitted(wanted);
    return request;
  };
  try {
    return await act({ client: stringOf(ask["client"]) ?? "", admit });
  } catch (error) {
    if (error instanceof NotAdmitted) return { wanted: error.wanted };
    throw error;
  }
}

/** Also ends a call here with the same key that waits for the one of another machine. */
class NotAdmitted extends BulkheadError {
  readonly wanted: SessionRequest;

  constructor(wanted: SessionRequest) {
    super("busy", "Cannot begin the session yet: another machine asks for it.", { hint: "Try again in a moment." });
    this.wanted = wanted;
  }
}

/** The asking machine knows what its client may start, and this one does not. */
export function refusedSession(): BulkheadError {
  return new BulkheadError("unsupported", "Cannot begin the conversation's next session from another machine.", {
    hint: 'Say it at the machine that has the conversation. "bulkhead session show" names it.',
  });
}
