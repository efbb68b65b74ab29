import "ses";
import type { Harden, LockdownOptions } from "ses";

// Every option is written down: an absent one would be read from the environment.
const options: Required<Omit<LockdownOptions, "dateTaming" | "mathTaming">> = {
  regExpTaming: "safe",
  localeTaming: "safe",
  consoleTaming: "unsafe",
  errorTrapping: "none",
  reporting: "none",
  unhandledRejectionTrapping: "none",
  errorTaming: "safe",
  evalTaming: "safe-eval",
  stackFiltering: "verbose",
  overrideTaming: "severe",
  overrideDebug: [],
  domainTaming: "safe",
  legacyRegeneratorRuntimeTaming: "safe",
  __hardenTaming__: "safe",
};

interface LockedGlobals {
  harden: Harden;
  lockdown(options: LockdownOptions): void;
  getStackString?(error: unknown): string;
}

const globals = globalThis as unknown as LockedGlobals;

/** Freezes every intrinsic of this thread. Nothing of a plugin may be evaluated before. */
export function lockThread(): void {
  globals.lockdown(options);
}

/** Freezes a value with all that can be reached from it. */
export function harden<T>(value: T): T {
  return globals.harden(value);
}

/** An error's stack, which adapter code cannot read. */
export function stackOf(error: unknown): string {
  try {
    return String(globals.getStackString?.(error) ?? "");
  } catch {
    return "";
  }
}
