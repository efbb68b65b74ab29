import { useFocusInto } from "../focus.ts";
import { Text } from "../text.tsx";
import type { DiffMarks } from "./diff-table.tsx";
import type { Comment } from "./kept-review.ts";
import type { ReviewState } from "./review-state.ts";

interface FileComments {
  file: string;
  state: ReviewState;
  own: readonly Comment[];
  draft: Comment | null;
  takesComments: boolean;
}

/** The comments on a file's lines, and what writes them. */
export function lineComments({ file, state, own, draft, takesComments }: FileComments): DiffMarks {
  const all = draft === null ? own : [...own, draft];
  return {
    onLine: takesComments ? ({ isRange, ...at }) => state.comment(file, at, { isRange }) : undefined,
    isMarked: ({ side, line }) => all.some((one) => one.side === side && one.from <= line && line <= one.to),
    after: ({ side, line }) => {
      const here = all.filter((one) => one.side === side && one.to === line);
      if (here.length === 0) return null;
      return here.map((one) =>
        one === draft
          ? <DraftComment key="draft" draft={one} state={state} />
          : one === state.edited.value
          ? null
          : <SaidComment of={one} state={state} />
      );
    },
  };
}

function SaidComment({ of: comment, state }: { of: Comment; state: ReviewState }) {
  return (
    <div class="comment">
      <span class="quiet-line">{rangeText(comment)}</span>
      <p>
        <Text of={comment.text} />
      </p>
      <span class="comment-acts">
        <button type="button" class="plain" onClick={() => state.edit(comment)}>Edit</button>
        <button type="button" class="plain" onClick={() => state.remove(comment)}>Delete</button>
      </span>
    </div>
  );
}

function DraftComment({ draft, state }: { draft: Comment; state: ReviewState }) {
  const field = useFocusInto<HTMLTextAreaElement>();
  const keep = () => draft.text.trim() !== "" && state.keepDraft();
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keep();
    else if (event.key === "Escape" && draft.text === "") state.dropDraft();
    else return;
    event.preventDefault();
  };
  return (
    <form class="comment draft" onSubmit={(event) => (event.preventDefault(), keep())}>
      <label>
        {rangeText(draft)}
        <textarea
          ref={field}
          rows={3}
          required
          value={draft.text}
          onKeyDown={onKey}
          onInput={({ currentTarget }) => (state.draft.value = { ...draft, text: currentTarget.value })}
        />
      </label>
      <div class="dialog-actions">
        <span class="quiet-line">
          Ctrl-Enter adds it. Shift and a click on a line's number takes the lines up to it.
        </span>
        <button type="button" onClick={() => state.dropDraft()}>Cancel</button>
        <button type="submit" class="primary">{state.edited.value === null ? "Add comment" : "Save comment"}</button>
      </div>
    </form>
  );
}

/** The lines of a comment in words. */
export function rangeText({ from, to, side }: Comment): string {
  const lines = from === to ? `Line ${from}` : `Lines ${from} to ${to}`;
  return side === "old" ? `${lines} of the old file` : lines;
}
