import { KeptEntries } from "../kept-entries.ts";
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

/** Characters of a review that is kept over a reload. */
const mostCharacters = 500_000;

/** Reads what this browser keeps of a review. */
export function readReview(storage: Storage | null, id: string): KeptReview {
  const { comments, draft, viewed } = reviewsIn(storage).read(id);
  return {
    comments: Array.isArray(comments) ? comments.filter(isComment) : [],
    draft: isComment(draft) ? draft : null,
    viewed: Object.fromEntries(
      Object.entries(Object(viewed) as object).filter((one): one is [string, string] => typeof one[1] === "string"),
    ),
  };
}

/** Keeps a review; forgets it where nothing is in it. */
export function writeReview(storage: Storage | null, { id, ...review }: KeptReview & { id: string }): void {
  const { comments, draft, viewed } = review;
  const isEmpty = comments.length === 0 && draft === null && Object.keys(viewed).length === 0;
  const isNone = isEmpty || JSON.stringify(review).length > mostCharacters;
  reviewsIn(storage).write(id, isNone ? null : review);
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
  reviewsIn(storage).write(id, null);
}

function reviewsIn(storage: Storage | null): KeptEntries {
  return new KeptEntries(storage, { prefix: "bulkhead-review:", most: 30 });
}

/** Any page of this address may have written it. */
function isComment(value: unknown): value is Comment {
  const { file, side, from, to, text } = Object(value) as Record<string, unknown>;
  return typeof file === "string" && (side === "old" || side === "new") && Number.isInteger(from) &&
    Number.isInteger(to) && typeof text === "string";
}
