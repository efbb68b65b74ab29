import type { LinePlace } from "./diff-lines.ts";

/** Lines on which a person wants to say something. */
export interface Comment {
  file: string;
  side: LinePlace["side"];
  from: number;
  to: number;
  text: string;
}

/** A person's part of a review that was not sent. */
interface KeptReview {
  comments: readonly Comment[];
  /** The comment that is being written. */
  draft: Comment | null;
  /** Files that were looked at, by path, each with what marks its content. */
  viewed: Readonly<Record<string, string>>;
}

const prefix = "bulkhead-review:";
const mostReviews = 30;
/** Characters of a review that is kept over a reload. */
const mostCharacters = 500_000;
/** Time after which a review is forgotten. Milliseconds. */
const longestMs = 14 * 24 * 3_600_000;

/** Reads what this browser keeps of a review, and forgets reviews that are too old. */
export function readReview(storage: Storage | null, id: string): KeptReview {
  tried(() => storage !== null && tidy(storage));
  const { comments, draft, viewed } = fieldsOf(tried(() => storage?.getItem(prefix + id) ?? null));
  return {
    comments: Array.isArray(comments) ? comments.filter(isComment) : [],
    draft: isComment(draft) ? draft : null,
    viewed: Object.fromEntries(
      Object.entries(Object(viewed) as object).filter((one): one is [string, string] => typeof one[1] === "string"),
    ),
  };
}

/** Keeps a review; forgets it where nothing is in it. A browser that keeps nothing is no failure. */
export function writeReview(storage: Storage | null, { id, ...review }: KeptReview & { id: string }): void {
  tried(() => {
    const { comments, draft, viewed } = review;
    const text = JSON.stringify({ ...review, at: Date.now() });
    const isEmpty = comments.length === 0 && draft === null && Object.keys(viewed).length === 0;
    if (isEmpty || text.length > mostCharacters) storage?.removeItem(prefix + id);
    else storage?.setItem(prefix + id, text);
  });
}

/** Counts the comments of some reviews that the agents do not have; one that is being changed counts once. */
export function countUnsent(storage: Storage | null, ids: readonly string[]): number {
  return ids.map((id) => readReview(storage, id)).reduce((sum, { comments, draft }) => {
    if (draft === null || draft.text.trim() === "") return sum + comments.length;
    const others = comments.filter(({ file, side, from, to }) =>
      file !== draft.file || side !== draft.side || from !== draft.from || to !== draft.to
    );
    return sum + others.length + 1;
  }, 0);
}

/** Forgets a review whose worktree is gone. */
export function forgetReview(storage: Storage | null, id: string): void {
  tried(() => storage?.removeItem(prefix + id));
}

/** Forgets old reviews, and the oldest of many. */
function tidy(storage: Storage): void {
  const keys = Object.keys(storage).filter((key) => key.startsWith(prefix));
  const timeOf = (key: string) => Number(fieldsOf(storage.getItem(key))["at"]) || 0;
  const kept = keys.map((key) => ({ key, at: timeOf(key) })).sort((a, b) => b.at - a.at);
  for (const [place, { key, at }] of kept.entries()) {
    if (place >= mostReviews || Date.now() - at > longestMs) storage.removeItem(key);
  }
}

/** Any page of this address may have written it. */
function isComment(value: unknown): value is Comment {
  const { file, side, from, to, text } = Object(value) as Record<string, unknown>;
  return typeof file === "string" && (side === "old" || side === "new") && Number.isInteger(from) &&
    Number.isInteger(to) && typeof text === "string";
}

function fieldsOf(json: string | null): Record<string, unknown> {
  return Object(tried(() => JSON.parse(json ?? "null") as unknown)) as Record<string, unknown>;
}

/** A full or forbidden storage throws. */
function tried<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}
