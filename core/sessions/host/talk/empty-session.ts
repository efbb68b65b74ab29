import type { Follows } from "../../../../plugin-sdk/envelope.ts";
import { hasPrompt, type SessionRequest } from "../../../../plugin-sdk/request.ts";
import type { Limits } from "../../../ground/config/limits.ts";
import type { Admitted } from "../../session/admitted.ts";

/** Whether a session only says where its conversation goes on from, and ends at once: of a fork, or of a rewind of the talk. */
export function hasNoTurn(request: SessionRequest, follows: Follows | null): boolean {
  return !hasPrompt(request) && (follows?.why === "fork" || follows?.why === "rewind");
}

/** Returns how a session begins, and how long it waits for messages. */
export function waitOf(
  request: SessionRequest,
  { follows, limits }: { follows: Follows | null; limits: Pick<Limits, "keep_ms"> },
): Pick<Admitted, "beginsIdle" | "keepMs"> {
  if (hasNoTurn(request, follows)) return { beginsIdle: true, keepMs: 0 };
  const { keep_ms = 0 } = request;
  return { beginsIdle: !hasPrompt(request) && keep_ms > 0, keepMs: Math.min(keep_ms, limits.keep_ms) };
}
