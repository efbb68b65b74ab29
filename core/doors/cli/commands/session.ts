import { Option } from "commander";
import type { Outcome } from "../../../../plugin-sdk/result.ts";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { readObject, readOneMore, readPair, readTimeFlag, readWhole } from "../request-flags.ts";
import { addRunFlags } from "../session-command.ts";
import { sessionRerun } from "./session/session-again.ts";
import { sessionAnswer } from "./session/session-answer.ts";
import { sessionApply } from "./session/session-apply.ts";
import { sessionDiff } from "./session/session-diff.ts";
import { sessionEvents } from "./session/session-events.ts";
import { sessionFork } from "./session/session-fork.ts";
import { sessionHeld } from "./session/session-held.ts";
import { sessionInterrupt } from "./session/session-interrupt.ts";
import { sessionList } from "./session/session-list.ts";
import { sessionRewind } from "./session/session-rewind.ts";
import { sessionShow } from "./session/session-show.ts";
import { sessionWatch } from "./session/session-watch.ts";
import { sessionEdit, sessionMessages, sessionSay, sessionStop, sessionWithdraw } from "./session/session-talk.ts";
import { findSession, findWorkspace } from "../find-session.ts";
import { openSessions } from "../open-sessions.ts";
import { shortId, shortIds } from "../../../ground/log/short-id.ts";
import { errorTable } from "../../../ground/errors/error-table.ts";
import { safeLine } from "../render/agent-text.ts";
import { plural } from "../render/quantities.ts";

const idMeaning = "id of a session, or its beginning";
const messageMeaning = "id of the message, or its beginning";

const subcommands =
  "list|show|events|watch|say|messages|edit|withdraw|stop|fork|rewind|continue|rerun|interrupt|answer|held|delete|diff|apply|discard|prune";

/** `bulkhead session` and its sub-commands. */
export const defineSession: DefineCommand = (command, bind) => {
  command.usage(`<${subcommands}> [flags]`).addHelpText(...examples(
    ["bulkhead session list --state running", "what runs now"],
    ["bulkhead session watch", "all that run, in one table"],
    ["bulkhead session events -f 3f2a", "what one does"],
    ['bulkhead run my-agent --workspace worktree "Fix it"', "the agent works in a worktree of its own"],
    ["bulkhead session list --worktrees", "sessions whose changes wait, and the state of others"],
    ["bulkhead session diff 3f2a", "what was changed"],
    ["bulkhead session apply 3f2a", "bring it here, merged with what changed since"],
  ));
  command.commandsGroup("Look:");
  defineReading(command, bind);
  command.commandsGroup("Talk:");
  defineTalk(command, bind);
  command.commandsGroup("Act:");
  defineActing(command, bind);
  defineAgain(command, bind);
  command.commandsGroup("Take over what was changed in a worktree:");
  defineWorktrees(command, bind);
};

const defineReading: DefineCommand = (command, bind) => {
  command.command("list")
    .description("list sessions, the newest first")
    .addOption(new Option("--state <state>", "only those that").choices(["running", "ended"]))
    .addOption(new Option("--outcome <outcome>", "only those that ended so").choices(outcomes))
    .option("--adapter <id>", "only those of this adapter")
    .option("--label <key=value>", "only those with this label; repeat for several", readPair)
    .option("--task <id>", "only those of this task")
    .option("--limit <number>", "at most so many, up to 500; default: 50", readWhole)
    .option("--before <id>", "those that began before this one: the next page")
    .option("--worktrees", "list worktrees with their state instead")
    .addHelpText(...examples(["bulkhead session list --json", "one session a line"]))
    .action(bind(sessionList));
  command.command("show")
    .description("show a session and, once it has ended, its result")
    .argument("<id>", idMeaning)
    .addHelpText(...examples(["bulkhead session show 3f2a --json | jq .result", "the whole result"]))
    .action(bind(sessionShow));
  command.command("events")
    .description("show a session's events, or with --follow those of all sessions")
    .argument("[id]", idMeaning)
    .option("-f, --follow", "go on with what comes, until the session ends or Ctrl-C")
    .option("--after <number>", "only what came after this seq, or gseq for all sessions", readWhole)
    .option("-v, --verbose", "also show times, what was allowed, and the end of every process")
    .option("--times", "show when each event came")
    .addHelpText(...examples(["bulkhead session events 3f2a --json", "one envelope a line"]))
    .action(bind(sessionEvents));
  command.command("watch")
    .description("show all sessions that run, or those that are named, in a table that changes in place")
    .argument("[ids...]", "ids of sessions, or their beginnings; default: all that run")
    .addHelpText(...examples(
      ["bulkhead session watch", "Enter shows one's events, i interrupts it, q quits"],
      ["bulkhead session watch 3f2a 91c0", "until both have ended"],
      ["bulkhead session watch | cat", "a line for each step, question and end"],
      ["bulkhead session watch --json | jq .asks", "each change as data"],
    ))
    .action(bind(sessionWatch));
};

const defineTalk: DefineCommand = (command, bind) => {
  const say = command.command("say").alias("continue")
    .description("say something to the agent: its next prompt, or a word into the turn that it works on")
    .usage("<id> [text] [flags]")
    .argument("<id>", idMeaning)
    .argument("[text]", "the message; default: standard input, where it is a pipe")
    .option("--steer", "into this turn, where the agent takes it")
    .option("--interrupt", "stop this turn, and go on with it")
    .option("--no-wait", "do not show the turn that it goes into")
    .option("-f, --prompt-file <file>", "read the message from a file")
    .option("--schema, --output-schema <json>", "JSON Schema that the turn's data must fit", readObject)
    .option("--message-id <id>", "same id, same message")
    .option("-a, --agent <id>", "go on with another agent, in a session of its own");
  addRunFlags(say, {
    except: ["prompt", "workdir", "continue_from", "fork", "output_schema", "idempotency_key", "place"],
  })
    .option("--no-plan", "from now on it works again")
    .addHelpText(...examples(
      ['bulkhead session say 3f2a "And the tests?"', "its next turn"],
      ['bulkhead session say 3f2a --steer "Only in core/"', "while it works"],
      ['bulkhead session say 3f2a "Like this" --image sketch.png', "with an image"],
      ['bulkhead session say 3f2a --agent other-agent "Review that"', "another agent goes on"],
    ))
    .action(bind(sessionSay));
  command.command("messages")
    .description("list what was said to the agent, and where each message is")
    .argument("<id>", idMeaning)
    .option("--pending", "only what waits")
    .addHelpText(...examples(["bulkhead session messages 3f2a --json", "one message a line"]))
    .action(bind(sessionMessages));
  command.command("edit")
    .description("change a message that waits; it keeps its place")
    .argument("<id>", idMeaning)
    .argument("<message>", messageMeaning)
    .argument("<text>", "the new text")
    .addHelpText(
      ...examples(['bulkhead session edit 3f2a 91c0 "And the slow tests?"', '"session messages" lists them']),
    )
    .action(bind(sessionEdit));
  command.command("withdraw")
    .description("take back a message that waits")
    .argument("<id>", idMeaning)
    .argument("<message>", messageMeaning)
    .addHelpText(...examples(["bulkhead session withdraw 3f2a 91c0", "the agent never sees it"]))
    .action(bind(sessionWithdraw));
  command.command("stop")
    .description("stop the turn that the agent works on; the session goes on with what waits")
    .argument("<id>", idMeaning)
    .option("--drop-pending", "take back what waits as well")
    .addHelpText(...examples(["bulkhead session stop 3f2a", '"session interrupt" ends the session']))
    .action(bind(sessionStop));
  command.command("fork")
    .description("begin a new conversation that knows this one up to a turn; this one stays as it is")
    .usage("<id> [prompt] [flags]")
    .argument("<id>", idMeaning)
    .argument("[prompt]", "its first message; default: none, and it waits for one")
    .option("--at <turn>", "the last turn that it knows; 0: none; default: the newest", readWhole)
    .option("-a, --agent <id>", "with another agent")
    .option("-m, --model <name>", "with another model")
    .addOption(new Option("--worktree", "in a new worktree, with the files as they were then").conflicts("inPlace"))
    .option("--in-place", "in the same folder: at the newest turn alone")
    .option("--message-id <id>", "same id, same fork")
    .option("-q, --quiet", "print only the final output")
    .option("-v, --verbose", "also show times, what was allowed, and the end of every process")
    .addHelpText(...examples(
      ['bulkhead session fork 3f2a "The other way"', "from here, beside it"],
      ["bulkhead session fork 3f2a --at 2 --worktree", "from turn 2, with the files of then; it took --checkpoints"],
    ))
    .action(bind(sessionFork));
};

const defineAgain: DefineCommand = (command, bind) => {
  const rerun = command.command("rerun")
    .description("run a session again from its beginning, with what the flags change")
    .argument("<id>", idMeaning);
  addRunFlags(rerun)
    .option("-a, --agent <ids>", 'another adapter; several with commas, or "auto"')
    .addHelpText(...examples(["bulkhead session rerun 3f2a --timeout 30m", "with more time"]))
    .action(bind(sessionRerun));
};

const defineActing: DefineCommand = (command, bind) => {
  command.command("interrupt")
    .description("stop a running session gracefully, or all of them")
    .argument("[id]", idMeaning)
    .option("--all", "every session that runs")
    .option("-a, --agent <id>", "with --all: only those of this adapter")
    .option("-y, --yes", "with --all: do not show them and ask first")
    .addHelpText(...examples(
      ["bulkhead session interrupt 3f2a", "and wait for its end"],
      ["bulkhead session interrupt --all", "shows what runs, and asks"],
      ["bulkhead session interrupt --all --agent my-agent --yes", "at once, what one agent does"],
    ))
    .action(bind(sessionInterrupt));
  command.command("answer")
    .description("answer what an agent asks: a permission request or a question")
    .argument("<id>", idMeaning)
    .argument("<choice>", "one of the choices that it offers, or any text where it offers none")
    .option("--request <id>", "which request, where several wait")
    .addHelpText(...examples(["bulkhead session answer 3f2a allow", '"session show" lists what waits']))
    .action(bind(sessionAnswer));
  command.command("rewind")
    .description(
      "take files back to what they were after an earlier turn, if it took --checkpoints, or the talk, or both",
    )
    .argument("<id>", idMeaning)
    .option("--to <turn>", "as after this turn; 0: as before all", readWhole)
    .option("--files", "the files: the default without --talk")
    .option("--talk", "the talk: the agent knows no later turn then")
    .option("--undo", "take the last rewind of files back; the talk stays")
    .option("--dry-run", "say what would happen, and change nothing")
    .option("--keep-theirs", "leave alone what you or others changed as well")
    .option("--unclaimed", "take back as well what nothing shows to be the agent's")
    .addHelpText(...examples(
      ["bulkhead session rewind 3f2a --to 1 --dry-run", "what came after turn 1"],
      ["bulkhead session rewind 3f2a --to 1 --files --talk", "as if turn 2 had never been"],
      ["bulkhead session rewind 3f2a --undo", "if that was wrong"],
    ))
    .action(bind(sessionRewind));
  command.command("held")
    .description("show, apply or drop changes that can run programs, and wait for you")
    .argument("[id]", idMeaning)
    .option("--apply <path>", "the change of this path stays; repeat for several", readOneMore)
    .option("--drop <path>", "the change of this path is undone; repeat for several", readOneMore)
    .option("--apply-all", "all of them stay")
    .option("--drop-all", "all of them are undone")
    .addHelpText(...examples(["bulkhead session held 3f2a", "asks about each, at a terminal"]))
    .action(bind(sessionHeld));
  command.command("delete")
    .description("forget the events of a session that has ended")
    .argument("<id>", idMeaning)
    .addHelpText(...examples(["bulkhead session delete 3f2a", "what is left says that there was one"]))
    .action(bind(sessionDelete));
};

const defineWorktrees: DefineCommand = (command, bind) => {
  command.command("diff")
    .description("print what a session changed in its worktree, as a patch")
    .argument("<id>", idMeaning)
    .option("--stat", "only the paths")
    .addHelpText(...examples(["bulkhead session diff 3f2a > fix.patch", "for git apply"]))
    .action(bind(sessionDiff));
  command.command("apply")
    .description(
      "bring a session's changes to the repository, all or none but for what is held, and remove its worktree",
    )
    .argument("<id>", idMeaning)
    .option("--allow-links", "links that lead out of the repository as well")
    .option("--with-held <path>", "the change of this path as well, though it can run programs; repeat", readOneMore)
    .addHelpText(...examples(["bulkhead session apply 3f2a", "as changes that are not staged"]))
    .action(bind(sessionApply));
  command.command("discard")
    .description("remove a session's worktree with all that was changed in it")
    .argument("<id>", idMeaning)
    .addHelpText(...examples(["bulkhead session discard 3f2a", "nothing of it is kept"]))
    .action(bind(sessionDiscard));
  command.command("prune")
    .description("remove worktrees past their age with all that is in them, except those of running sessions")
    .option("--older-than <time>", "such as 90s, 5m, 1h; default: workspaces.keep_ms of bulkhead.yaml", readTimeFlag)
    .addHelpText(...examples(["bulkhead session prune --older-than 48h", "those of sessions that ended before"]))
    .action(bind(sessionPrune));
};

const outcomes = ["completed", "blocked", "error"] as const satisfies readonly Outcome[];

async function sessionDelete(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { session_id } = await findSession(opened.sessions, call.args[0] ?? "");
  await opened.sessions.delete(session_id);
  return await tell(call, { session_id, deleted: true }, `Deleted: ${shortId(session_id)}.`);
}

async function sessionDiscard(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { session_id } = await findWorkspace(opened.workspaces, call.args[0] ?? "");
  await opened.workspaces.discard(session_id);
  return await tell(call, { session_id, discarded: true }, `Discarded: ${shortId(session_id)}.`);
}

async function sessionPrune(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { olderThan } = call.options;
  const report = await opened.workspaces.prune(typeof olderThan === "number" ? { olderThanMs: olderThan } : {});
  const { removed, failed } = report;
  const lines = failed.map(({ session_id, error }) => `${shortId(session_id)}: ${safeLine(shortIds(error.message))}`);
  const done = removed.length === 0 ? "Nothing was removed." : `Removed ${plural(removed.length, "worktree")}.`;
  await tell(call, report, [...lines, done].join("\n"));
  const [first] = failed;
  return first === undefined ? 0 : errorTable[first.error.code].exit_code;
}
