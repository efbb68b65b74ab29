import { plainText } from "../shown-text.ts";
import { FileTree } from "./file-tree.tsx";
import { ReviewFiles } from "./review-files.tsx";
import type { ReviewedFiles } from "./reviewed-files.ts";

/** The tree of the changed files, and beside it their lines. */
export function WholeReview({ of: reviewed }: { of: ReviewedFiles }) {
  return (
    <div class="review">
      <FileTree of={reviewed} />
      <ReviewFiles of={reviewed} />
      <p class="hidden" aria-live="polite">
        <CurrentLine of={reviewed} />
      </p>
    </div>
  );
}

/** Tells a screen reader where the keys are. */
function CurrentLine({ of: { state } }: { of: ReviewedFiles }) {
  const cursor = state.cursor.value;
  return cursor === null ? null : <>{plainText(cursor.file, 200)}, {cursor.side} line {cursor.line}</>;
}
