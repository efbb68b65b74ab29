import type { HeldChange, HeldKind } from "../../../plugin-sdk/held.ts";
import type { TextOrBase64 } from "../../ground/platform/files/text-or-base64.ts";
import { asUnseen } from "./judge.ts";

/** One entry that a held change stands for, and what it needs to be dropped. */
export interface HeldMember {
  /** Relative to the folder that was looked at, with `/`. */
  path: string;
  /** Text that changes with it; null where it could not be read. */
  mark: string | null;
  /** True where it was not there when the session began. */
  is_new: boolean;
  /** Its content then; null for what is new, and where it is not kept. */
  before: ({ mode: string } & TextOrBase64) | null;
}

/** A held change with all that it stands for. */
export interface HeldItem extends HeldChange {
  members: HeldMember[];
}

/** The folder itself, where no look was taken yet, or none succeeded. */
export const wholeFolder: HeldItem = { path: ".", change: "changed", ...asUnseen, members: [] };

/** Most held changes that are named one by one. */
const mostNamed = 1000;

/** Kinds, the gravest first. */
const order: readonly HeldKind[] = [
  "repository",
  "git_settings",
  "link_out",
  "set_user_id",
  "device",
  "unseen",
  "acted_on",
];

/** Sorts held changes, the gravest first; beyond a number one stands for all the others of its kind. */
export function bounded(items: readonly HeldItem[], most: number = mostNamed): HeldItem[] {
  const sorted = items.toSorted((a, b) =>
    order.indexOf(a.kind) - order.indexOf(b.kind) || Number(isInstalled(a)) - Number(isInstalled(b)) ||
    (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)
  );
  const named = sorted.slice(0, most);
  const others = groupedBy(sorted.slice(most), ({ kind }) => kind);
  return [...named, ...[...others.values()].map(together)];
}

/** Packages bring many such files: what lies in the project itself is named first. */
function isInstalled({ path }: HeldItem): boolean {
  return path.split("/").includes("node_modules");
}

/** One item for many of a kind. */
function together(items: readonly HeldItem[]): HeldItem {
  const [first] = items;
  const folder = items.map(({ path }) => path.split("/").slice(0, -1)).reduce(sharedParts).join("/");
  const members = items.flatMap((item) => item.members);
  const by = [...new Set(items.map((item) => item.by))].join(", ");
  return { ...first!, path: folder === "" ? "." : folder, by, change: "new", files: members.length, members };
}

function sharedParts(one: string[], other: string[]): string[] {
  const end = one.findIndex((part, index) => other[index] !== part);
  return end === -1 ? one : one.slice(0, end);
}

/** Groups a list by a key, in the order of the keys' first items. */
export function groupedBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** A held change as clients see it. */
export function shownHeld({ members: _, ...shown }: HeldItem): HeldChange {
  return shown;
}
