import { type DefineCommand, examples } from "../command.ts";
import { readTime } from "../request-flags.ts";
import { sessionApply } from "./session-apply.ts";
import { sessionDiff } from "./session-diff.ts";
import { sessionDiscard } from "./session-discard.ts";
import { sessionList } from "./session-list.ts";
import { sessionPrune } from "./session-prune.ts";

const idMeaning = "id of a session, or its beginning";

/** `bulkhead session list|diff|apply|discard|prune`. */
export const defineSession: DefineCommand = (command, bind) => {
  command.usage("<list|diff|apply|discard|prune> [flags]").addHelpText(
    "after",
    examples(
      ['bulkhead run my-agent --workspace worktree "Fix it"', "the agent works in a worktree of its own"],
      ["bulkhead session list", "sessions whose changes wait, and what became of others"],
      ["bulkhead session diff 3f2a", "what was changed"],
      ["bulkhead session apply 3f2a", "bring it here, merged with what changed since"],
    ),
  );
  command.command("list")
    .description("list sessions that worked in a worktree")
    .addHelpText("after", examples(["bulkhead session list --json", "one session a line"]))
    .action(bind(sessionList));
  command.command("diff")
    .description("print what a session changed in its worktree, as a patch")
    .argument("<id>", idMeaning)
    .option("--stat", "only the paths")
    .addHelpText("after", examples(["bulkhead session diff 3f2a > fix.patch", "for git apply"]))
    .action(bind(sessionDiff));
  command.command("apply")
    .description("bring a session's changes to the repository, all or none, and remove its worktree")
    .argument("<id>", idMeaning)
    .addHelpText("after", examples(["bulkhead session apply 3f2a", "as changes that are not staged"]))
    .action(bind(sessionApply));
  command.command("discard")
    .description("remove a session's worktree with all that was changed in it")
    .argument("<id>", idMeaning)
    .addHelpText("after", examples(["bulkhead session discard 3f2a", "nothing of it is kept"]))
    .action(bind(sessionDiscard));
  command.command("prune")
    .description("remove worktrees past their age, whatever is in them, but never of a session that runs")
    .option("--older-than <time>", "such as 90s, 5m, 1h; default: workspaces.keep_ms of bulkhead.yaml", readTime)
    .addHelpText("after", examples(["bulkhead session prune --older-than 48h", "those of sessions that ended before"]))
    .action(bind(sessionPrune));
};
