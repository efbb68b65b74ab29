import type { AccessModeState } from "./access-mode-state.ts";

/**
 * Returns the first open mode in the order in which they are tried; limited ones are skipped. If a mode names the
 * requested model, modes that name another one are left out. Null when none is open.
 */
export function pickAccessMode(modes: readonly AccessModeState[], model?: string): AccessModeState | null {
  return modesFor(modes, model).find(({ status }) => status.status === "available") ?? null;
}

/** Returns the enabled modes that could serve a model. */
export function modesFor(modes: readonly AccessModeState[], model?: string): AccessModeState[] {
  const enabled = modes.filter(({ mode }) => mode.enabled);
  const naming = model !== undefined && enabled.some(({ mode }) => "model" in mode && mode.model === model);
  return naming ? enabled.filter(({ mode }) => !("model" in mode) || mode.model === model) : enabled;
}
