import type { BinaryPin } from "../../../../plugin-sdk/plugin-report.ts";
import { realpath } from "../../../ground/runtime/files.ts";
import { safeLine } from "./agent-text.ts";

/** A pin, and the real path that it leads to now. */
export interface ShownPin extends BinaryPin {
  /** Null when no file is there. */
  real_now: string | null;
}

/** Resolves the current paths of pinned programs. */
export function lookAtPins(pins: readonly BinaryPin[]): Promise<ShownPin[]> {
  return Promise.all(pins.map(async (pin) => ({ ...pin, real_now: await realpath(pin.path).catch(() => null) })));
}

/** Lists where a plugin's programs are pinned; no lines when it has none. */
export function pinLines(pins: readonly ShownPin[]): string[] {
  if (pins.length === 0) return [];
  const lines = pins.map(({ binary, path, real, real_now, pinned_at }) => {
    const behind = path === real ? "" : ` (${real})`;
    const now = real_now === real ? "" : `; now ${real_now === null ? "nothing is there" : real_now}`;
    return `  ${safeLine(`${binary} is ${path}${behind} since ${pinned_at}${now}`)}`;
  });
  return ["", "Programs as they are pinned; to pin one again, grant it again:", ...lines];
}
