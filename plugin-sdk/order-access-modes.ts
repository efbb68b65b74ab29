import type { AccessMode } from "./access-modes.ts";

const typeOrder: readonly AccessMode["type"][] = ["subscription", "api", "local"];

/** Returns the enabled modes in the order in which they are tried. */
export function orderAccessModes(modes: readonly AccessMode[]): AccessMode[] {
  return modes.filter(({ enabled }) => enabled).sort(compareAccessModes);
}

/** Compares two modes for sorting by the order in which they are tried; 0 when neither comes first. */
export function compareAccessModes(a: AccessMode, b: AccessMode): number {
  if (a.priority !== undefined || b.priority !== undefined) {
    return a.priority === b.priority ? 0 : (a.priority ?? Infinity) - (b.priority ?? Infinity);
  }
  return typeOrder.indexOf(a.type) - typeOrder.indexOf(b.type);
}
