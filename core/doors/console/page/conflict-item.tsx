import { useState } from "preact/hooks";
import type { WorkspaceConflict } from "../../../../plugin-sdk/workspace.ts";
import { attempt, useConsole } from "./console-context.ts";
import { Sure } from "./parts.tsx";
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
export function ConflictAnswer({ item: { session_id } }: { item: WaitingItem }) {
  const found = useConsole();
  const [shows, setShows] = useState(false);
  const id = session_id ?? "";
  const path = `/v1/sessions/${encodeURIComponent(id)}`;
  const act = async (done: string, call: string) => {
    await attempt(found, done, () => found.api.send("POST", `${path}/${call}`));
    found.waiting.touch();
  };
  const apply = () => act("The changes are in the repository, not staged.", "apply");
  return (
    <>
      <div class="answers">
        <button type="button" class="primary" onClick={() => void apply()}>Apply again</button>
        <button type="button" aria-expanded={shows} onClick={() => setShows(!shows)}>
          {shows ? "Hide the diff" : "Show the diff"}
        </button>
        <a class="button" href={addressOf("review", id)}>Review</a>
        <Sure
          label="Discard"
          question="Remove the worktree and all its changes?"
          act={() => act("The worktree is gone.", "discard")}
        />
      </div>
      {shows && <SessionDiffText id={id} />}
    </>
  );
}
