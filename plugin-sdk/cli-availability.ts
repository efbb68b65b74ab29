import type { AccessMode } from "./access-modes.ts";
import type { Availability, AvailabilityReport } from "./availability.ts";
import type { AdapterContext } from "./context.ts";
import { type ErrorCode, errorDataOf } from "./errors.ts";
import { omitUndefined } from "./optional-fields.ts";
import type { RateLimitDetector } from "./rate-limit.ts";

/** States whether the agent's program may be used, and if not, what a person can do about it. */
export interface AuthStatus {
  authenticated: boolean;
  /** Reason, in one sentence. */
  reason?: string;
  /** Next step for a person, in one sentence. */
  next_step?: string;
  /** How the agent itself says that it is logged in. */
  access_mode?: AccessMode["type"];
}

/** The probes of an adapter for a command-line program. */
interface CliProbes {
  findBinary(ctx: AdapterContext): Promise<string | null> | string | null;
  getVersion(ctx: AdapterContext): Promise<string | null> | string | null;
  checkAuth(ctx: AdapterContext): Promise<AuthStatus | boolean> | AuthStatus | boolean;
  getRateLimitDetector(): RateLimitDetector;
}

const availabilityOfError: { readonly [C in ErrorCode]?: Availability } = {
  binary_missing: "missing",
  unsupported: "incompatible",
  env_missing: "unauthenticated",
  rate_limit: "rate_limited",
};

/** Determines by the adapter's probes, in order, whether the program could take a session now. */
export async function probeCli(probes: CliProbes, ctx: AdapterContext): Promise<AvailabilityReport> {
  let version: string | undefined;
  try {
    const binary = await probes.findBinary(ctx);
    if (binary === null) return { availability: "missing", reason: `It names no program for ${ctx.platform}.` };
    if (await isMissing(binary, ctx)) {
      return {
        availability: "missing",
        reason: clip(`Cannot run "${binary}": no such program was found on this machine.`),
      };
    }
    version = (await probes.getVersion(ctx))?.slice(0, 256);
    const auth = await probes.checkAuth(ctx);
    const status = typeof auth === "boolean" ? { authenticated: auth } : auth;
    return { ...describeAuth(status, probes.getRateLimitDetector()), ...omitUndefined({ version }) };
  } catch (error) {
    ctx.signal.throwIfAborted();
    return { ...describeError(error), ...omitUndefined({ version }) };
  }
}

/** A program that is not granted yet is not missing: the session may ask for it. */
async function isMissing(binary: string, ctx: AdapterContext): Promise<boolean> {
  try {
    return await ctx.which(binary) === null;
  } catch (error) {
    if (errorDataOf(error)?.code === "permission_denied") return false;
    throw error;
  }
}

function describeAuth(auth: AuthStatus, detector: RateLimitDetector): AvailabilityReport {
  if (auth.authenticated) {
    const reason = clip(auth.reason ?? "Its probes succeeded.");
    return { availability: "available", reason, ...omitUndefined({ access_mode: auth.access_mode }) };
  }
  const reason = clip(auth.reason ?? "It is not logged in.");
  return {
    availability: detector.detect(reason) ? "rate_limited" : "unauthenticated",
    reason,
    ...omitUndefined({ next_step: auth.next_step && clip(auth.next_step) }),
  };
}

function describeError(thrown: unknown): AvailabilityReport {
  const error = errorDataOf(thrown);
  if (!error) return { availability: "unrunnable", reason: clip(`Its probe failed: ${String(thrown)}`) };
  return {
    availability: availabilityOfError[error.code] ?? "unrunnable",
    reason: clip(error.message),
    ...omitUndefined({ next_step: error.hint && clip(error.hint) }),
  };
}

function clip(text: string): string {
  return text.slice(0, 4096);
}
