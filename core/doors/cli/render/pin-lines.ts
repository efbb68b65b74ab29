import type { BinaryPin } from "../../../walls/broker/binary-pins.ts";
import { realpath } from "../../../ground/runtime/files.ts";
import { safeLine } from "./agent-text.ts";

/** A pin, and what is behind its path now. */
export interface ShownPin extends BinaryPin {
  /** Null when nothing is there. */
  real_now: string | null;
}

/** Looks where pinned programs are now. */
export function lookAtPins(pins: readonly BinaryPin[]): Promise<ShownPin[]> {
  return Promise.all(pins.map(async (pin) => ({ ...pin, real_now: await realpath(pin.path).catch(() => null) })));
}

/** Lines that say where a plugin's programs are pinned; none when it has none. */
export function pinLines(pins: readonly ShownPin[]): string[] {
  if (pins.length === 0) return [];
  const lines = pins.map(({ binary, path, real, real_now, pinned_at }) => {
    const behind = path === real ? "" : ` (${real})`;
    const now = real_now === real ? "" : `; now ${real_now === null ? "nothing is there" : real_now}`;
    return `  ${safeLine(`${binary} is ${path}${behind} since ${pinned_at}${now}`)}`;
  });
  return ["", "Programs as they are pinned; to pin one again, grant it again:", ...lines];
}
