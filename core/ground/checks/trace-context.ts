import { sha256Hex } from "../platform/files/hash.ts";

/** The trace that a session is part of, and its own place there. */
export interface TracePlace {
  /** 32 hex digits. */
  trace_id: string;
  /** Span of the client that started the session; null without one. 16 hex digits. */
  parent: string | null;
  /** False where the client does not record its trace. */
  sampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Returns a `traceparent` that came from outside, as W3C writes it; undefined for anything else: a call never fails for
 * the trace that it is part of.
 */
export function readTraceparent(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 128) return undefined;
  const [, version, traceId, parent, flags, more] = form.exec(value) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId!) || /^0+$/.test(parent!)) return undefined;
  // A later version may say more; what this one knows of it is the same.
  return `00-${traceId}-${parent}-${flags}`;
}

/** Returns the trace of a session: that of its client, or one of its own. The same session has always the same. */
export function tracePlace(sessionId: string, traceparent: unknown): TracePlace {
  const [, , traceId, parent, flags] = form.exec(readTraceparent(traceparent) ?? "") ?? [];
  if (traceId === undefined) {
    return { trace_id: sha256Hex(`trace ${sessionId}`).slice(0, 32), parent: null, sampled: true };
  }
  return { trace_id: traceId, parent: parent!, sampled: (parseInt(flags!, 16) & 1) === 1 };
}

/** Returns the id of a part of a session, as of a tool call: the same one now and after a restart. */
export function spanIdOf(sessionId: string, part: string): string {
  return sha256Hex(`span ${sessionId} ${part}`).slice(0, 16);
}

/** The part of a session that is the session itself. */
export const sessionPart = "session";

/** Returns the `traceparent` that a session hands to its agent, whose spans then lie in the session's own. */
export function traceparentFor(sessionId: string, traceparent: unknown): string {
  const { trace_id, sampled } = tracePlace(sessionId, traceparent);
  return `00-${trace_id}-${spanIdOf(sessionId, sessionPart)}-${sampled ? "01" : "00"}`;
}
