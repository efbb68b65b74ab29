import type { AccessModeState } from "./access-mode-state.ts";

/**
 * The first mode that is open, of those in the order in which they are tried: one that is limited gives way to the next.
 * Where some mode names the model that is asked for, those that name another are left out. Null where none is open.
 */
export function pickAccessMode(modes: readonly AccessModeState[], model?: string): AccessModeState | null {
  return modesFor(modes, model).find(({ status }) => status.status === "available") ?? null;
}

/** The enabled modes that could serve a model. */
export function modesFor(modes: readonly AccessModeState[], model?: string): AccessModeState[] {
  const enabled = modes.filter(({ mode }) => mode.enabled);
  const naming = model !== undefined && enabled.some(({ mode }) => "model" in mode && mode.model === model);
  return naming ? enabled.filter(({ mode }) => !("model" in mode) || mode.model === model) : enabled;
}
