import { useMemo } from "preact/hooks";
import type { ConversationReport, TurnDiff } from "../../../../../plugin-sdk/conversation.ts";
import { noticeOf, useConsole } from "../console-context.ts";
import { Command, Failed, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { Text } from "../text.tsx";
import { readPatch } from "./patch-files.ts";
import { useReviewKeys } from "./review-keys.ts";
import type { ReviewState } from "./review-state.ts";
import { type ReviewedFiles, scrollToFile } from "./reviewed-files.ts";
import { RoundHead } from "./rounds.tsx";
import { SaidAndTested } from "./said-and-tested.tsx";
import { useHighlighter } from "./use-highlighter.ts";
import { WholeReview } from "./whole-review.tsx";

/** The changes of one round, to read. */
export function Round(
  { id, talk, round, state }: { id: string; talk: ConversationReport; round: number; state: ReviewState },
) {
  const { api } = useConsole();
  const highlighter = useHighlighter();
  const path = `/v1/conversations/${encodeURIComponent(id)}/turns/${round}/diff`;
  const turn = talk.turns.find((one) => one.turn === round);
  const [loaded] = useLoaded(async (signal) => {
    const diff = await api.get<TurnDiff>(path, {}, signal);
    return { diff, files: readPatch(diff.patch) };
  }, [path, turn?.ended_at]);
  const files = loaded !== undefined && "value" in loaded ? loaded.value.files : null;
  const reviewed = useMemo<ReviewedFiles | null>(() =>
    files === null ? null : {
      files,
      state,
      takesComments: false,
      markOf: (path) => `round ${round} ${path}`,
      addressOfFile: () => addressOf("review", id, round),
      show: (path) => scrollToFile(files, path),
      wholeOf: null,
      highlighter,
    }, [files, highlighter]);
  useReviewKeys(reviewed);
  return (
    <>
      <RoundHead id={id} talk={talk} round={round} />
      {turn !== undefined && <SaidAndTested id={turn.session_id} round={`${round} ${turn.ended_at}`} />}
      {loaded === undefined
        ? <p class="quiet-line">Reading …</p>
        : "failed" in loaded
        ? <NoRound why={loaded.failed} isOver={turn?.ended_at != null} />
        : <RoundFiles of={reviewed} diff={loaded.value.diff} />}
    </>
  );
}

function RoundFiles({ of: reviewed, diff }: { of: ReviewedFiles | null; diff: TurnDiff }) {
  if (reviewed === null || diff.files.length === 0) return <p class="quiet-line">No file was changed in this round.</p>;
  return (
    <>
      {diff.patch_cut === true && (
        <p class="quiet-line">
          {reviewed.files.length} of {(diff.files.length + (diff.files_omitted ?? 0)).toLocaleString("en")}{" "}
          files are shown: the diff of all is too long.
        </p>
      )}
      <WholeReview of={reviewed} />
    </>
  );
}

function NoRound({ why, isOver }: { why: unknown; isOver: boolean }) {
  const { text, isPassing } = noticeOf(why);
  if (isPassing) return <Failed of={why} />;
  if (!isOver) return <p class="quiet-line">The agent is at work. Its changes stand here when it has ended.</p>;
  return (
    <>
      <p>
        <Text of={text} />
      </p>
      <p class="quiet-line">
        The host keeps the files of a round that began with your comments, and of sessions with{" "}
        <Command text="--checkpoints" />.
      </p>
    </>
  );
}
