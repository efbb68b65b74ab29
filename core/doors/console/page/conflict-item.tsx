import { useState } from "preact/hooks";
import type { WorkspaceConflict } from "../../../../plugin-sdk/workspace.ts";
import { attempt, useConsole } from "./console-context.ts";
import { useFocusBack } from "./focus.ts";
import { May } from "./may.tsx";
import { Sure } from "./parts.tsx";
import { countUnsent, forgetReview } from "./review/kept-review.ts";
import { discardQuestion, useApplyAsk } from "./review/unsent.tsx";
import { browserStorage } from "./kept-entries.ts";
import { WordsForm } from "./needs/words-form.tsx";
import { plainText } from "./shown-text.ts";
import { addressOf } from "./route.ts";
import { SessionDiffText } from "./diff-text.tsx";
import { Text } from "./text.tsx";
import type { WaitingItem } from "../../http/waiting-item.ts";

/** Files that stand in the way of changes. */
export type ConflictFacts = Pick<WorkspaceConflict, "paths">;

/** Paths with a conflict. */
const mostPaths = 50;

/** Files that were changed on both sides. */
export function ConflictList({ of: { paths } }: { of: ConflictFacts }) {
  if (paths.length === 0) return null;
  return (
    <ul class="plain-list files">
      {paths.slice(0, mostPaths).map((path) => (
        <li>
          <span class="change change-deleted">conflict</span>{" "}
          <code>
            <Text of={path} />
          </code>
        </li>
      ))}
      {paths.length > mostPaths && <li class="quiet-line">and more</li>}
    </ul>
  );
}

/** Ways to settle changes that could not be applied. */
export function ConflictAnswer({ item }: { item: WaitingItem }) {
  const [merges, setMerges] = useState(false);
  const button = useFocusBack(merges);
  return merges
    ? <MergeRequest item={item} close={() => setMerges(false)} />
    : <ConflictActs item={item} merge={() => setMerges(true)} button={button} />;
}

type HeldConflict = ConflictFacts & { folder: string };

interface ActsProps {
  item: WaitingItem;
  merge: () => void;
  /** The button that begins a merge. */
  button: { current: HTMLButtonElement | null };
}

function ConflictActs({ item: { session_id, input }, merge, button }: ActsProps) {
  const found = useConsole();
  const [shows, setShows] = useState(false);
  const id = session_id ?? "";
  const act = async (done: string, call: string) => {
    const path = `/v1/sessions/${encodeURIComponent(id)}/${call}`;
    if (await attempt(found, done, () => found.api.send("POST", path))) forgetReview(browserStorage(), id);
    await found.waiting.again();
  };
  const unsent = countUnsent(browserStorage(), [id]);
  const apply = useApplyAsk({ unsent, apply: () => act("The changes are in the repository, not staged.", "apply") });
  return (
    <>
      <p class="quiet-line terminal-line">
        Its worktree: <code>{plainText((input as HeldConflict).folder, 300)}</code>
      </p>
      <div class="answers">
        <May right="run">
          <button ref={button} type="button" class="primary" onClick={merge}>Ask the agent to merge …</button>
          <button type="button" onClick={apply.begin}>Apply again</button>
        </May>
        <button type="button" aria-expanded={shows} onClick={() => setShows(!shows)}>
          {shows ? "Hide the diff" : "Show the diff"}
        </button>
        <a class="button" href={addressOf("review", id)}>Review</a>
        <May right="run">
          <Sure
            label="Discard"
            question={discardQuestion(unsent)}
            act={() => act("The worktree is gone.", "discard")}
          />
        </May>
      </div>
      {apply.dialog}
      {shows && <SessionDiffText id={id} />}
    </>
  );
}

/** A message that asks the agent to make its changes fit what the repository is now. */
function MergeRequest(
  { item: { session_id, workdir, input }, close }: { item: WaitingItem; close: () => void },
) {
  const found = useConsole();
  const path = `/v1/sessions/${encodeURIComponent(session_id ?? "")}/continue`;
  const ask = async (prompt: string) => {
    const told = "The agent was asked. Apply again when it is done.";
    if (!await attempt(found, told, () => found.api.send("POST", path, { prompt }))) return;
    // A session at work has no conflict: its card must be gone before a person decides about it.
    await found.waiting.again();
    close();
  };
  const text = mergeWords((input as HeldConflict).paths, workdir);
  return <WordsForm label="Message to the agent" verb="Ask it to merge" text={text} send={ask} close={close} />;
}

function mergeWords(paths: readonly string[], workdir: string | null): string {
  return [
    `Your changes cannot be applied${
      workdir === null ? "" : ` to ${workdir}`
    }: these files were changed there as well.`,
    ...paths.slice(0, mostPaths).map((path) => `- ${path}`),
    "",
    "Merge your work with what these files are there now, so that it applies. Keep what both sides meant, run the tests, and say what you decided.",
  ].join("\n");
}
