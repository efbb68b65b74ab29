import { useState } from "preact/hooks";
import type { Artifact } from "../../../../../plugin-sdk/result.ts";
import type { HeldChange } from "../../../../../plugin-sdk/held.ts";
import type { AppliedWorkspace, Workspace } from "../../../../../plugin-sdk/workspace.ts";
import { RefusedCall } from "../api.ts";
import { attempt, type Console, noticeOf, useConsole } from "../console-context.ts";
import { DiffFile, type DiffMarks, filesOf, pathOf } from "../diff-text.tsx";
import { type ConflictFacts, ConflictList } from "../conflict-item.tsx";
import { HeldList, SettleHeld } from "../held-item.tsx";
import { Artifacts } from "../host-event.tsx";
import { Command, Empty, Failure, ListRow, Screen, Sure, useLoaded } from "../parts.tsx";
import { addressOf, goTo } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { shortPath } from "./sessions.tsx";

/** Changes of a session, as `GET /v1/sessions/{id}/diff` shows it. */
interface SessionDiff {
  artifacts: Artifact[];
  artifacts_omitted?: number;
  held: HeldChange[];
  patch?: string;
  patch_base64?: string;
}

/** Lines on which a person wants to say something. */
interface Comment {
  file: string;
  side: "old" | "new";
  from: number;
  to: number;
  text: string;
}

/** Worktrees that wait for a decision. */
export function ReviewList() {
  const { api, sessions } = useConsole();
  const [loaded] = useLoaded((signal) => api.get<{ workspaces: Workspace[] }>("/v1/workspaces", {}, signal), [
    sessions.all.value.length,
  ]);
  if (loaded !== undefined && "failed" in loaded) {
    return (
      <Screen title="Review">
        <Failure {...noticeOf(loaded.failed)} />
      </Screen>
    );
  }
  const open = loaded?.value.workspaces.filter(({ state }) => state === "open" || state === "applying").reverse() ?? [];
  return (
    <Screen
      title="Review"
      lead={loaded === undefined
        ? "Reading …"
        : `${open.length} ${open.length === 1 ? "worktree waits" : "worktrees wait"} for a decision`}
    >
      {loaded !== undefined && open.length === 0 && <NoWorktree />}
      <ul class="session-list">
        {open.map(({ session_id, repository, created_at, running }) => (
          <ListRow
            mark={<span class="standing">{running ? "Runs" : "Open"}</span>}
            href={addressOf("review", session_id)}
            title={sessions.find(session_id)?.title ?? session_id}
            at={created_at}
          >
            <b>{sessions.find(session_id)?.adapter_id ?? ""}</b>
            <code>
              <Text of={shortPath(repository)} />
            </code>
          </ListRow>
        ))}
      </ul>
    </Screen>
  );
}

function NoWorktree() {
  return (
    <Empty title="No worktree waits">
      <p>A session that runs in a worktree leaves its changes here, to apply or discard.</p>
      <p>
        <a class="button primary" href={addressOf("start")}>Start one</a>
      </p>
    </Empty>
  );
}

/** One worktree's changes, to comment on, apply or discard. */
export function Review({ id }: { id: string }) {
  const { api, sessions } = useConsole();
  const path = `/v1/sessions/${encodeURIComponent(id)}/diff`;
  const [loaded] = useLoaded((signal) => api.get<SessionDiff>(path, {}, signal), [id]);
  const [comments, setComments] = useState<Comment[]>([]);
  const { apply, conflict, held, setHeld } = useApply(id);
  const title = plainText(sessions.find(id)?.title ?? id, 120);
  if (loaded !== undefined && "failed" in loaded) {
    return (
      <Screen title="Review" lead={title}>
        <Failure {...noticeOf(loaded.failed)} />
        <p>
          <a href={addressOf("review")}>All worktrees</a>
        </p>
      </Screen>
    );
  }
  const diff = loaded?.value;
  return (
    <Screen
      title="Review"
      lead={
        <span class="session-facts">
          <a href={addressOf("sessions", id)}>{title}</a>
          {diff !== undefined && <Amount of={diff} />}
        </span>
      }
      actions={diff !== undefined && <Actions id={id} diff={diff} comments={comments} apply={apply} />}
    >
      {conflict !== null && <Refused of={conflict} />}
      {held.length > 0 && <NotApplied id={id} held={held} setHeld={setHeld} />}
      {diff === undefined
        ? <p class="quiet-line">Reading the changes …</p>
        : <Changes diff={diff} comments={comments} setComments={setComments} />}
    </Screen>
  );
}

/** Applies a worktree, and keeps what stood against it: a conflict, and changes that can run programs. */
function useApply(id: string) {
  const found = useConsole();
  const [conflict, setConflict] = useState<RefusedCall | null>(null);
  const [held, setHeld] = useState<HeldChange[]>([]);
  const apply = async () => {
    setConflict(null);
    try {
      const path = `/v1/sessions/${encodeURIComponent(id)}/apply`;
      const applied = await found.api.send<AppliedWorkspace>("POST", path);
      found.waiting.touch();
      setHeld(applied.held);
      const left = applied.held.length === 0 ? "" : " What can run programs waits for you.";
      found.notice.value = { text: `The changes are in the repository, not staged.${left}`, isFailure: false };
      if (applied.held.length === 0) goTo("review");
    } catch (error) {
      found.waiting.touch();
      if (error instanceof RefusedCall && error.status !== 0) setConflict(error);
      else found.notice.value = noticeOf(error);
    }
  };
  return { apply, conflict, held, setHeld };
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

/** The ways to go on: send the comments, apply, discard. */
function Actions(
  { id, diff, comments, apply }: {
    id: string;
    diff: SessionDiff;
    comments: readonly Comment[];
    apply: () => Promise<void>;
  },
) {
  const found = useConsole();
  const discard = async () => {
    const path = `/v1/sessions/${encodeURIComponent(id)}/discard`;
    if (await attempt(found, "The worktree is gone.", () => found.api.send("POST", path))) goTo("review");
  };
  const send = () =>
    attempt(found, null, async () => {
      const session_id = await sendComments(found, { id, prompt: promptOf(comments, diff.patch ?? "") });
      found.sessions.touch(session_id);
      goTo("sessions", session_id);
    });
  return (
    <>
      {comments.length > 0 && (
        <button type="button" class="primary" onClick={() => void send()}>
          Send {comments.length} {comments.length === 1 ? "comment" : "comments"} to the agent
        </button>
      )}
      <button type="button" class={comments.length > 0 ? "" : "primary"} onClick={() => void apply()}>
        Apply
      </button>
      <Sure label="Discard" question="Remove the worktree and all its changes?" act={() => void discard()} />
    </>
  );
}

function Amount({ of: { artifacts, artifacts_omitted = 0, patch } }: { of: SessionDiff }) {
  const files = artifacts.length + artifacts_omitted;
  const lines = (patch === undefined ? null : filesOf(patch))?.flatMap(({ hunks }) =>
    hunks.flatMap(({ lines }) => lines)
  );
  const count = (sign: string) => lines?.filter((line) => line.startsWith(sign)).length ?? 0;
  return (
    <>
      <span>{files.toLocaleString("en")} {files === 1 ? "file" : "files"}</span>
      {lines !== undefined && (
        <span>
          <span class="plus">+{count("+")}</span> <span class="minus">−{count("-")}</span>
        </span>
      )}
    </>
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

/** The comments on a diff, and the one that is being written. */
interface Commenting {
  comments: readonly Comment[];
  draft: Comment | null;
  setComments: (comments: Comment[]) => void;
  setDraft: (draft: Comment | null) => void;
}

function Changes({ diff, ...kept }: { diff: SessionDiff } & Pick<Commenting, "comments" | "setComments">) {
  const [draft, setDraft] = useState<Comment | null>(null);
  const files = diff.patch === undefined ? null : filesOf(diff.patch);
  if (diff.artifacts.length === 0) {
    return (
      <Empty title="This session changed nothing">
        <p>Discard its worktree to tidy up.</p>
      </Empty>
    );
  }
  const marksOf = (file: string) => commentMarks(file, { ...kept, draft, setDraft });
  return (
    <div class="review">
      <nav class="file-list" aria-label="Changed files">
        <Artifacts of={diff.artifacts} omitted={diff.artifacts_omitted} />
      </nav>
      <div class="diff">
        {diff.held.length > 0 && (
          <div class="failure">
            <strong>These changes can run programs: an apply leaves them here</strong>
            <HeldList of={diff.held} />
          </div>
        )}
        <p class="keys-line">
          Click a line's number to comment on it; with Shift, on the lines up to it. Comments become the next prompt.
        </p>
        {files === null
          ? (
            <p>
              The changes are not all text. See them in a terminal: <Command text="bulkhead session diff" />
            </p>
          )
          : files.map((file) => <DiffFile key={pathOf(file)} file={file} marks={marksOf(pathOf(file))} />)}
      </div>
    </div>
  );
}

function commentMarks(file: string, commenting: Commenting): DiffMarks {
  const { comments, draft, setDraft } = commenting;
  return {
    onLine: ({ side, line, isRange }) =>
      setDraft(
        isRange && draft?.file === file && draft.side === side
          ? { ...draft, from: Math.min(draft.from, line), to: Math.max(draft.to, line) }
          : { file, side, from: line, to: line, text: "" },
      ),
    isMarked: ({ side, line }) =>
      [...comments, ...(draft === null ? [] : [draft])].some((one) =>
        one.file === file && one.side === side && one.from <= line && line <= one.to
      ),
    after: ({ side, line }) => {
      const own = comments.filter((one) => one.file === file && one.side === side && one.to === line);
      const isDraft = draft?.file === file && draft.side === side && draft.to === line;
      if (own.length === 0 && !isDraft) return null;
      return <LineComments own={own} isDraft={isDraft} of={commenting} />;
    },
  };
}

function LineComments(
  { own, isDraft, of: { comments, draft, setComments, setDraft } }: {
    own: readonly Comment[];
    isDraft: boolean;
    of: Commenting;
  },
) {
  return (
    <>
      {own.map((one) => (
        <div class="comment">
          <span class="quiet-line">{rangeText(one)}</span> <Text of={one.text} />{" "}
          <button type="button" class="plain" onClick={() => setComments(comments.filter((other) => other !== one))}>
            Remove
          </button>
        </div>
      ))}
      {isDraft && draft !== null && (
        <DraftComment
          draft={draft}
          keep={(text) => (setComments([...comments, { ...draft, text }]), setDraft(null))}
          drop={() => setDraft(null)}
        />
      )}
    </>
  );
}

function DraftComment({ draft, keep, drop }: { draft: Comment; keep: (text: string) => void; drop: () => void }) {
  const [text, setText] = useState("");
  return (
    <form class="comment draft" onSubmit={(event) => (event.preventDefault(), keep(text))}>
      <label>
        {rangeText(draft)}
        <textarea
          rows={2}
          required
          autofocus
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <div class="dialog-actions">
        <button type="button" onClick={drop}>Cancel</button>
        <button type="submit" class="primary">Add comment</button>
      </div>
    </form>
  );
}

function rangeText({ from, to, side }: Comment): string {
  const lines = from === to ? `Line ${from}` : `Lines ${from} to ${to}`;
  return side === "old" ? `${lines} of the old file` : lines;
}

/** Longest patch that goes to an agent with the comments. */
const longestPatch = 200_000;

/** The comments as a prompt. It carries the changes: they are in a worktree of their own, where the agent is not. */
function promptOf(comments: readonly Comment[], patch: string): string {
  const each = comments.map((one) => `- ${one.file}, ${rangeText(one).toLowerCase()}: ${one.text}`);
  const asked = ["Please change your work as these review comments ask:", "", ...each];
  if (patch === "" || patch.length > longestPatch) return asked.join("\n");
  return [
    ...asked,
    "",
    "Your work so far is this patch. If the folder does not have it yet, apply it first:",
    "",
    "```diff",
    patch.trimEnd(),
    "```",
  ].join("\n");
}

/** Sends comments to the agent of a session; returns the session that has them. */
async function sendComments({ api }: Console, { id, prompt }: { id: string; prompt: string }): Promise<string> {
  const path = `/v1/sessions/${encodeURIComponent(id)}/continue`;
  return (await api.send<{ session_id: string }>("POST", path, { prompt })).session_id;
}
