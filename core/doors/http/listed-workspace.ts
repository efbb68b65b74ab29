import type { Workspace } from "../../../plugin-sdk/workspace.ts";

/** A worktree as the list of them shows it, with the words by which a person knows its session; null where they are not known. */
export interface ListedWorkspace extends Workspace {
  title: string | null;
  adapter_id: string | null;
}
