import { tried } from "../kept-entries.ts";
import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { LinePlace } from "./diff-lines.ts";
import { type Comment, readReview, writeReview } from "./kept-review.ts";

/** The line that keys act on. */
interface Cursor extends LinePlace {
  file: string;
  /** The other end of a range. */
  to: number;
}

const splitKey = "bulkhead-review-split";

/** A person's work on one review: comments, files that were viewed, and where the keys are. */
export class ReviewState {
  readonly comments: Signal<readonly Comment[]>;
  readonly draft: Signal<Comment | null>;
  /** The comment that the draft changes; null for a new one. */
  readonly edited: Signal<Comment | null> = signal(null);
  readonly viewed: Signal<Readonly<Record<string, string>>>;
  /** Files that a person closed or opened; any other is closed once it was viewed. */
  readonly folds: Signal<ReadonlyMap<string, boolean>> = signal(new Map<string, boolean>());
  readonly cursor: Signal<Cursor | null> = signal(null);
  readonly isSplit: Signal<boolean>;
  /** Comments that the agent does not have, that one included which is being written. */
  readonly unsent: ReadonlySignal<readonly Comment[]>;
  readonly #leave: () => void;

  constructor(storage: Storage | null, id: string) {
    const kept = readReview(storage, id);
    this.comments = signal(kept.comments);
    this.draft = signal(kept.draft);
    this.viewed = signal(kept.viewed);
    this.isSplit = signal(tried(() => storage?.getItem(splitKey)) === "yes");
    this.unsent = computed(() => {
      const [draft, edited] = [this.draft.value, this.edited.value];
      const others = this.comments.value.filter((one) => one !== edited);
      return draft === null || draft.text.trim() === "" ? this.comments.value : [...others, draft];
    });
    const leaveReview = effect(() => {
      writeReview(storage, {
        id,
        comments: this.comments.value,
        draft: this.draft.value?.text ? this.draft.value : null,
        viewed: this.viewed.value,
      });
    });
    const leaveSplit = effect(() => {
      const text = this.isSplit.value ? "yes" : "no";
      tried(() => storage?.setItem(splitKey, text));
    });
    this.#leave = () => (leaveReview(), leaveSplit());
  }

  close(): void {
    this.#leave();
  }

  /** Begins a comment on a line; or takes the lines up to it into the one that is being written. */
  comment(file: string, { side, line }: LinePlace, { isRange = false }: { isRange?: boolean } = {}): void {
    const draft = this.draft.value;
    if (isRange && draft?.file === file && draft.side === side) {
      this.draft.value = { ...draft, from: Math.min(draft.from, line), to: Math.max(draft.to, line) };
      return;
    }
    // Words that were written are not lost by a click on another line.
    if (draft !== null && draft.text.trim() !== "") this.keepDraft();
    this.edited.value = null;
    this.draft.value = { file, side, from: line, to: line, text: "" };
  }

  edit(comment: Comment): void {
    this.edited.value = comment;
    this.draft.value = { ...comment };
  }

  keepDraft(): void {
    const [draft, edited] = [this.draft.value, this.edited.value];
    if (draft === null) return;
    this.comments.value = [...this.comments.value.filter((one) => one !== edited), draft];
    this.dropDraft();
  }

  dropDraft(): void {
    this.draft.value = null;
    this.edited.value = null;
  }

  remove(comment: Comment): void {
    this.comments.value = this.comments.value.filter((one) => one !== comment);
  }

  /** Forgets the comments: the agent has them, or they are of no use any more. */
  clear(): void {
    this.comments.value = [];
    this.dropDraft();
  }

  isViewed(file: string, mark: string): boolean {
    return this.viewed.value[file] === mark;
  }

  isClosed(file: string, mark: string): boolean {
    return this.folds.value.get(file) ?? this.isViewed(file, mark);
  }

  /** Marks a file as looked at, or not, and closes or opens it. */
  view(file: string, { is, mark }: { is: boolean; mark: string }): void {
    const { [file]: _, ...others } = this.viewed.value;
    this.viewed.value = is ? { ...others, [file]: mark } : others;
    this.#fold(file, null);
  }

  toggle(file: string, mark: string): void {
    this.#fold(file, !this.isClosed(file, mark));
  }

  #fold(file: string, is: boolean | null): void {
    const others = [...this.folds.value].filter(([path]) => path !== file);
    this.folds.value = new Map(is === null ? others : [...others, [file, is]]);
  }
}
