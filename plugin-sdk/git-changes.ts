/** One thing that an agent did in its own git folder, and where it is now. */
export interface GitChange {
  /** Its name there: `refs/heads/main`, `HEAD`, `index`, `stash@{0}`, `rebase-merge/orig-head`. */
  name: string;
  /**
   * `moved`: the repository has it under its own name. `kept`: the repository has it under `kept_as`. `held`: the same, since
   * it must be looked at first. `left`: the repository does not have it.
   */
  outcome: "moved" | "kept" | "held" | "left";
  /** The object that it names; absent where it was deleted, or names none. */
  id?: string;
  /** Ref under which it is kept. */
  kept_as?: string;
  /** Why it was not moved: half a sentence. */
  reason?: string;
  /** Command of git that brings it back, or does the same outside. */
  command?: string;
  /** Path of the submodule that it belongs to. */
  submodule?: string;
}
