import { useEffect, useMemo } from "preact/hooks";
import type { ConversationReport, TurnDiff } from "../../../../../plugin-sdk/conversation.ts";
import type { Artifact } from "../../../../../plugin-sdk/result.ts";
import type { HeldChange } from "../../../../../plugin-sdk/held.ts";
import type { RefusedCall } from "../api.ts";
import { attempt, noticeOf, useConsole } from "../console-context.ts";
import { type ConflictFacts, ConflictList } from "../conflict-item.tsx";
import { HeldList, SettleHeld } from "../held-item.tsx";
import { Command, Empty, Failure, Screen, useLoaded } from "../parts.tsx";
import { addressOf, goTo } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { browserStorage } from "../talk/draft-store.ts";
import { Text } from "../text.tsx";
import { useApply } from "./apply-worktree.ts";
import { promptOf } from "./comment-prompt.ts";
import { linesOf } from "./diff-lines.ts";
import { FileTree } from "./file-tree.tsx";
import { type PatchFile, readPatch } from "./patch-files.ts";
import { ReviewBar } from "./review-bar.tsx";
import { type ReviewedFiles, ReviewFiles, scrollToFile } from "./review-files.tsx";
import { useReviewKeys } from "./review-keys.ts";
import { ReviewState } from "./review-state.ts";
import { RoundHead, Rounds } from "./rounds.tsx";
import { SaidAndTested } from "./said-and-tested.tsx";
import { useHighlighter } from "./use-highlighter.ts";

/** Changes of a session, as `GET /v1/sessions/{id}/diff` shows it. */
interface SessionDiff {
  artifacts: Artifact[];
  artifacts_omitted?: number;
  held: HeldChange[];
  patch?: string;
  patch_base64?: string;
}

/** One worktree's changes, to comment on, apply or discard. */
export function Review({ id }: { id: string }) {
  const { api, sessions, route } = useConsole();
  const path = `/v1/sessions/${encodeURIComponent(id)}`;
  const [, second, third] = route.value.words;
  const round = second !== undefined && /^[1-9]\d{0,8}$/.test(second) ? Number(second) : null;
  const own = sessions.find(id);
  const stamp = sessions.all.value.filter((one) => one.conversation_id === (own?.conversation_id ?? id))
    .map(({ state, turn }) => `${state} ${turn?.number} ${turn?.state}`).join(", ");
  const [loaded] = useLoaded(async (signal) => {
    const [diff, talk] = await Promise.all([
      api.get<SessionDiff>(`${path}/diff`, {}, signal),
      api.get<ConversationReport>(`/v1/conversations/${encodeURIComponent(id)}`, {}, signal),
    ]);
    return { diff, talk, files: readPatch(diff.patch ?? "") };
  }, [id, stamp]);
  const state = useMemo(() => new ReviewState(browserStorage(), id), [id]);
  useEffect(() => () => state.close(), [state]);
  const title = plainText(
    own?.title ?? (loaded && "value" in loaded ? loaded.value.talk.turns[0]?.title : null) ?? id,
    160,
  );
  if (loaded === undefined || "failed" in loaded) {
    return <NotLoaded title={loaded === undefined ? title : undefined} why={loaded?.failed} />;
  }
  const { diff, talk, files } = loaded.value;
  return (
    <Screen title="Review" lead={<Lead id={id} title={title} files={files} of={diff} />}>
      <Rounds id={id} talk={talk} round={round} />
      {round === null
        ? (
          <Changes
            id={id}
            diff={diff}
            talk={talk}
            files={files}
            state={state}
            file={second === "file" ? third : undefined}
          />
        )
        : <Round id={id} talk={talk} round={round} state={state} />}
    </Screen>
  );
}

function NotLoaded({ title, why }: { title: string | undefined; why: unknown }) {
  if (why === undefined) {
    return (
      <Screen title="Review" lead={title}>
        <p class="quiet-line">Reading the changes …</p>
      </Screen>
    );
  }
  return (
    <Screen title="Review">
      <Failure text={noticeOf(why).text} />
      <p>
        <a href={addressOf("review")}>All worktrees that wait</a>
      </p>
    </Screen>
  );
}

function Lead(
  { id, title, files, of: { artifacts, artifacts_omitted = 0 } }: {
    id: string;
    title: string;
    files: readonly PatchFile[];
    of: SessionDiff;
  },
) {
  const count = artifacts.length + artifacts_omitted;
  const sum = (of: "added" | "removed") => files.reduce((all, file) => all + file[of], 0).toLocaleString("en");
  return (
    <span class="session-facts">
      <a href={addressOf("sessions", id)}>{title}</a>
      <span>{count.toLocaleString("en")} {count === 1 ? "file" : "files"}</span>
      <span>
        <span class="plus">+{sum("added")}</span> <span class="minus">−{sum("removed")}</span>
      </span>
    </span>
  );
}

interface ChangesProps {
  id: string;
  diff: SessionDiff;
  talk: ConversationReport;
  files: readonly PatchFile[];
  state: ReviewState;
  /** The file of the address. */
  file: string | undefined;
}

function Changes({ id, diff, talk, files, state, file }: ChangesProps) {
  const reviewed = useReviewed({ id, diff, files, state });
  const { apply, conflict, held, setHeld } = useApply(id);
  const send = useSend({ id, talk, reviewed });
  useReviewKeys(reviewed);
  useEffect(() => {
    if (file !== undefined) scrollToFile(files, file);
  }, [file]);
  if (diff.artifacts.length === 0) {
    return (
      <Empty title="This session changed nothing">
        <p>Discard its worktree to tidy up.</p>
      </Empty>
    );
  }
  return (
    <>
      <ReviewBar id={id} of={reviewed} send={send} apply={apply} />
      {conflict !== null && <Refused of={conflict} />}
      {held.length > 0 && <NotApplied id={id} held={held} setHeld={setHeld} />}
      {diff.held.length > 0 && (
        <div class="failure">
          <strong>These changes can run programs: an apply leaves them here</strong>
          <HeldList of={diff.held} />
        </div>
      )}
      <SaidAndTested id={talk.head} round={`${talk.turn} ${talk.state}`} />
      {files.length === 0
        ? (
          <p>
            The changes are not all text. See them in a terminal: <Command text="bulkhead session diff" />
          </p>
        )
        : <Whole of={reviewed} />}
    </>
  );
}

function Whole({ of: reviewed }: { of: ReviewedFiles }) {
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

/** The files of a worktree, with all that can be done on them. */
function useReviewed(
  { id, diff, files, state }: Pick<ChangesProps, "id" | "diff" | "files" | "state">,
): ReviewedFiles {
  const { api } = useConsole();
  const highlighter = useHighlighter();
  const marks = useMemo(
    () => new Map(diff.artifacts.map(({ path, sha256, change }) => [path, sha256 ?? change])),
    [diff],
  );
  return useMemo(() => ({
    files,
    state,
    takesComments: true,
    markOf: (path: string) => marks.get(path) ?? "",
    addressOfFile: (path: string) => addressOf("review", id, "file", path),
    show: (path: string) => scrollToFile(files, path),
    async wholeOf(path: string) {
      const { patch = "" } = await api.get<SessionDiff>(`/v1/sessions/${encodeURIComponent(id)}/diff`, { path });
      return readPatch(patch)[0]?.hunks().flatMap(linesOf) ?? [];
    },
    highlighter,
  }), [files, state, highlighter]);
}

/** Sends the comments to the agent; null while a turn is at work. */
function useSend(
  { id, talk, reviewed: { state, files } }: { id: string; talk: ConversationReport; reviewed: ReviewedFiles },
): (() => Promise<boolean>) | null {
  const found = useConsole();
  if (talk.state === "working") return null;
  return async () => {
    const comments = state.unsent.value;
    const words = `${comments.length} ${
      comments.length === 1 ? "comment is" : "comments are"
    } sent: a new round works on ${comments.length === 1 ? "it" : "them"}.`;
    return await attempt(found, words, async () => {
      const path = `/v1/conversations/${encodeURIComponent(id)}/messages`;
      // The next session keeps its files, so that the changes between the rounds can be shown.
      const terms = talk.state === "kept" ? {} : { with: { checkpoints: true } };
      const said = await found.api.send<{ session_id: string }>("POST", path, {
        text: promptOf(comments, files),
        ...terms,
      });
      state.clear();
      found.sessions.touch(said.session_id);
    });
  };
}

/** The changes of one round, to read. */
function Round({ id, talk, round, state }: Pick<ChangesProps, "id" | "talk" | "state"> & { round: number }) {
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
      <Whole of={reviewed} />
    </>
  );
}

function NoRound({ why, isOver }: { why: unknown; isOver: boolean }) {
  if (!isOver) return <p class="quiet-line">The agent is at work. Its changes stand here when it has ended.</p>;
  return (
    <>
      <p>
        <Text of={noticeOf(why).text} />
      </p>
      <p class="quiet-line">
        The host keeps the files of a round that began with your comments, and of sessions with{" "}
        <Command text="--checkpoints" />.
      </p>
    </>
  );
}

function NotApplied(
  { id, held, setHeld }: { id: string; held: HeldChange[]; setHeld: (held: HeldChange[]) => void },
) {
  return (
    <div class="failure" role="alert">
      <strong>These changes can run programs, and were not applied</strong>
      <SettleHeld
        id={id}
        of={{ place: "worktree", held }}
        settled={(left) => left.length === 0 ? goTo("review") : setHeld(left)}
      />
    </div>
  );
}

function Refused({ of: refusal }: { of: RefusedCall }) {
  const { paths = [] } = refusal.details as Partial<ConflictFacts>;
  return (
    <div class="failure" role="alert">
      <strong>
        <Text of={refusal.message} />
      </strong>
      {refusal.hint !== undefined && (
        <span>
          <Text of={refusal.hint} />
        </span>
      )}
      <ConflictList of={{ paths }} />
    </div>
  );
}
