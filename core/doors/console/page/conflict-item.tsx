import { useState } from "preact/hooks";
import type { WorkspaceConflict } from "../../../../plugin-sdk/workspace.ts";
import { attempt, useConsole } from "./console-context.ts";
import { Sure } from "./parts.tsx";
import { addressOf } from "./route.ts";
import { SessionDiffText } from "./session-diff.tsx";
import { Text } from "./text.tsx";
import type { WaitingThing } from "./waiting-list.ts";

/** Files and links that stand in the way of changes. */
export type ConflictFacts = Pick<WorkspaceConflict, "paths" | "links">;

/** Paths with a conflict. */
const mostPaths = 50;

/** Files that were changed on both sides, and links that lead out of the repository. */
export function ConflictList({ of: { paths, links } }: { of: ConflictFacts }) {
  if (paths.length === 0 && links.length === 0) return null;
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
      {links.slice(0, mostPaths).map(({ path, target }) => (
        <li>
          <span class="change change-deleted">link</span>{" "}
          <code>
            <Text of={`${path} → ${target}`} />
          </code>
        </li>
      ))}
      {paths.length + links.length > mostPaths && <li class="quiet-line">and more</li>}
    </ul>
  );
}

/** Ways to settle changes that could not be applied. */
export function ConflictAnswer({ item: { session_id, input } }: { item: WaitingThing }) {
  const found = useConsole();
  const [shows, setShows] = useState(false);
  const id = session_id ?? "";
  const path = `/v1/sessions/${encodeURIComponent(id)}`;
  const act = async (done: string, call: string) => {
    await attempt(found, done, () => found.api.send("POST", `${path}/${call}`));
    found.waiting.touch();
  };
  const apply = (query: string) => act("The changes are in the repository, not staged.", `apply${query}`);
  return (
    <>
      <div class="answers">
        <button type="button" class="primary" onClick={() => void apply("")}>Apply again</button>
        {(input as ConflictFacts).links.length > 0 && (
          <button
            type="button"
            onClick={() => void apply("?allow_links=true")}
          >
            Apply with these links
          </button>
        )}
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
