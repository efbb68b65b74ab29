import { useComputed } from "@preact/signals";
import { useRef } from "preact/hooks";
import { attempt, useConsole } from "../console-context.ts";
import { onEscape } from "../focus.ts";
import { Sure } from "../parts.tsx";
import { goTo } from "../route.ts";
import { Text } from "../text.tsx";
import { rangeText } from "./line-comments.tsx";
import type { ReviewState } from "./review-state.ts";
import { type ReviewedFiles, scrollToFile } from "./reviewed-files.ts";
import { commentCount, discardQuestion, useApplyAsk } from "./unsent.tsx";

interface BarProps {
  id: string;
  of: ReviewedFiles;
  /** Sends the comments; null where a turn is at work already. */
  send: (() => Promise<boolean>) | null;
  apply: () => Promise<boolean>;
}

/** The line that stays in view: how far the review is, how lines stand, and the ways to go on. */
export function ReviewBar({ id, of: reviewed, send, apply }: BarProps) {
  const { files, state, markOf } = reviewed;
  const viewed = useComputed(() => files.filter(({ path }) => state.isViewed(path, markOf(path))).length);
  return (
    <div class="review-bar">
      <span class="quiet-line">
        {viewed.value.toLocaleString("en")} of {files.length.toLocaleString("en")} viewed
      </span>
      <progress max={files.length} value={viewed.value} aria-label="Files viewed" />
      <div class="segments" role="group" aria-label="How lines stand">
        {[false, true].map((is) => (
          <button type="button" aria-pressed={state.isSplit.value === is} onClick={() => (state.isSplit.value = is)}>
            {is ? "Split" : "Unified"}
          </button>
        ))}
      </div>
      <CommentMenu of={reviewed} />
      {reviewed.takesComments && <Decide id={id} of={reviewed} send={send} apply={apply} />}
    </div>
  );
}

/** The comments that the agent does not have, each a link to its lines. */
function CommentMenu({ of: { state, files } }: { of: ReviewedFiles }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const unsent = state.unsent.value;
  if (unsent.length === 0) return null;
  const close = () => {
    menu.current?.removeAttribute("open");
    menu.current?.querySelector("summary")?.focus();
  };
  const isLost = (file: string) => !files.some(({ path }) => path === file);
  return (
    <details class="comment-menu" ref={menu} onKeyDown={onEscape(close)}>
      <summary>{commentCount(unsent.length)}</summary>
      <ul>
        {unsent.map((one) => (
          <li>
            <button
              type="button"
              class="plain"
              onClick={() => scrollToFile(files, one.file, `${one.side} ${one.to}`)}
            >
              <Text of={one.file} />, {rangeText(one).toLowerCase()}
              {isLost(one.file) && " (not among the changes now)"}
            </button>
            <p>
              <Text of={one.text} />
            </p>
            {isLost(one.file) && <button type="button" onClick={() => state.remove(one)}>Delete</button>}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The ways to go on: send the comments, apply, discard. */
function Decide({ id, of: { state }, send, apply }: BarProps) {
  const unsent = state.unsent.value;
  const ask = useApplyAsk({ unsent: unsent.length, send, apply: async () => await apply() && state.clear() });
  return (
    <div class="decide">
      {unsent.length > 0 && send !== null && (
        <button type="button" class="primary" onClick={() => void send()}>
          Send {commentCount(unsent.length)} to the agent
        </button>
      )}
      <button
        type="button"
        class={unsent.length > 0 ? "" : "primary"}
        disabled={send === null}
        title={send === null ? "The agent is at work on these changes." : undefined}
        onClick={ask.begin}
      >
        Apply
      </button>
      <Discard id={id} state={state} />
      {ask.dialog}
    </div>
  );
}

/** Removes the worktree, after one more question. */
function Discard({ id, state }: { id: string; state: ReviewState }) {
  const found = useConsole();
  const discard = async () => {
    const path = `/v1/sessions/${encodeURIComponent(id)}/discard`;
    if (!await attempt(found, "The worktree is gone.", () => found.api.send("POST", path))) return;
    state.clear();
    goTo("review");
  };
  return <Sure label="Discard" question={discardQuestion(state.unsent.value.length)} act={() => void discard()} />;
}
