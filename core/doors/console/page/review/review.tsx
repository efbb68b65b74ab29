import { useEffect, useMemo } from "preact/hooks";
import type { ConversationReport } from "../../../../../plugin-sdk/conversation.ts";
import type { Artifact } from "../../../../../plugin-sdk/result.ts";
import type { HeldChange } from "../../../../../plugin-sdk/held.ts";
import { shortId } from "../../../../ground/log/short-id.ts";
import type { RefusedCall } from "../api.ts";
import { attempt, useConsole } from "../console-context.ts";
import { type ConflictFacts, ConflictList } from "../conflict-item.tsx";
import { HeldList, SettleHeld } from "../held-item.tsx";
import { useMay } from "../may.tsx";
import { Command, Empty, Failed, Screen, useLoaded } from "../parts.tsx";
import { addressOf, goTo } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { browserStorage } from "../kept-entries.ts";
import { Text } from "../text.tsx";
import { useApply } from "./apply-worktree.ts";
import { promptOf } from "./comment-prompt.ts";
import { linesOf } from "./diff-lines.ts";
import { type PatchFile, readPatch } from "./patch-files.ts";
import { ReviewBar } from "./review-bar.tsx";
import { type ReviewedFiles, scrollToFile } from "./reviewed-files.ts";
import { useReviewKeys } from "./review-keys.ts";
import { ReviewState } from "./review-state.ts";
import { Round } from "./round.tsx";
import { Rounds } from "./rounds.tsx";
import { SaidAndTested } from "./said-and-tested.tsx";
import { useHighlighter } from "./use-highlighter.ts";
import { WholeReview } from "./whole-review.tsx";

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
  const { sessions, route } = useConsole();
  const [, second, third] = route.value.words;
  const round = second !== undefined && /^[1-9]\d{0,8}$/.test(second) ? Number(second) : null;
  const loaded = useChanges(id);
  const state = useMemo(() => new ReviewState(browserStorage(), id), [id]);
  useEffect(() => () => state.close(), [state]);
  const title = plainText(
    sessions.find(id)?.title ?? (loaded && "value" in loaded ? loaded.value.talk.turns[0]?.title : null) ?? id,
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

/** Reads a worktree's changes and its conversation, again whenever a session of that begins or ends. */
function useChanges(id: string) {
  const { api, sessions } = useConsole();
  const conversation = sessions.find(id)?.conversation_id ?? id;
  const stamp = sessions.all.value.filter((one) => one.conversation_id === conversation)
    .map(({ state, turn }) => `${state} ${turn?.number} ${turn?.state}`).join(", ");
  const [loaded] = useLoaded(async (signal) => {
    const [diff, talk] = await Promise.all([
      api.get<SessionDiff>(`/v1/sessions/${encodeURIComponent(id)}/diff`, {}, signal),
      api.get<ConversationReport>(`/v1/conversations/${encodeURIComponent(id)}`, {}, signal),
    ]);
    return { diff, talk, files: readPatch(diff.patch ?? "") };
  }, [id, stamp]);
  return loaded;
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
      <Failed of={why} />
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
            The changes are not all text. See them in a terminal:{" "}
            <Command text={`bulkhead session diff ${shortId(id)}`} />
          </p>
        )
        : <WholeReview of={reviewed} />}
    </>
  );
}

/** The files of a worktree, with all that can be done on them. */
function useReviewed(
  { id, diff, files, state }: Pick<ChangesProps, "id" | "diff" | "files" | "state">,
): ReviewedFiles {
  const { api } = useConsole();
  const canRun = useMay("run");
  const highlighter = useHighlighter();
  const marks = useMemo(
    () => new Map(diff.artifacts.map(({ path, sha256, change }) => [path, sha256 ?? change])),
    [diff],
  );
  return useMemo(() => ({
    files,
    state,
    takesComments: canRun,
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
