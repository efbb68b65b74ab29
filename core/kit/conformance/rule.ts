import type { Finding } from "./report.ts";
import { nameOf, ordinary, type Seen, type Take } from "./seen.ts";

/** Result of a rule that cannot be tried on this plugin, and why. */
interface Skipped {
  skipped: string;
}

/** One rule of the contract. To add one: an entry in a file of `rules/`. */
export interface Rule {
  /** Lowercase words with hyphens; it stands in reports and never changes its meaning. */
  readonly id: string;
  /** The fact that holds for a plugin that passes, in a sentence. */
  readonly title: string;
  /** `note` for what an author should know and no plugin fails by. */
  readonly level?: "note";
  /** Looks at what was seen; nothing found means that it holds. */
  check(seen: Seen): Finding[] | Skipped;
}

/** The rules' way to say that they do not concern a plugin. */
export function skipped(reason: string): Skipped {
  return { skipped: reason };
}

/** A check of each ordinary session by itself: a finding for each sentence. */
export function ofSessions(find: (take: Take, seen: Seen) => readonly string[]): (seen: Seen) => Finding[] {
  return (seen) =>
    ordinary(seen).flatMap((take) => find(take, seen).map((message) => ({ message, session: nameOf(take) })));
}

/** A check of the adapter's members, which does not concern a plugin whose adapter was never made. */
export function ofMembers(
  check: (members: NonNullable<Seen["members"]>, seen: Seen) => Finding[] | Skipped,
): Rule["check"] {
  return (seen) => seen.members === null ? skipped("The adapter could not be looked at.") : check(seen.members, seen);
}
