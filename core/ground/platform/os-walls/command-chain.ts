import { starterArguments } from "../processes/launcher-script.ts";
import { ownProc } from "./bubblewrap.ts";
import { type Command, oomScore } from "./os-wall.ts";
import { findProgram, tryProgram } from "./try-program.ts";
import { verifyMounts, type WordedMount, wordedMounts } from "./verify-mounts.ts";

/** Words of a view for which only the mounts are kept apart from those of the machine: bwrap makes the rest. */
const privateOnly = ["--private"];

/**
 * The same command for a runtime to start: programs in front of it make its view, enter its namespaces and open its filter, each
 * starting the next. One of the runtimes can give a program no other files than its pipes.
 * @throws {Error} `ELOOP` where bwrap makes the view and a link stands on the way to a place
 */
export async function commandChain({ openFiles, ...asked }: Command): Promise<Command> {
  const chain = await viewChain(asked);
  if (openFiles === undefined) return chain;
  return {
    ...chain,
    file: "/bin/sh",
    args: ["-c", `${boundsOf(openFiles)}exec "$@"`, "sh", chain.file, ...chain.args],
  };
}

async function viewChain(asked: Command): Promise<Command> {
  if (asked.view === undefined) return await enteringChain(asked);
  const starter = await (started ??= findStarter());
  if (starter !== null && starter.makesViews && !isBwrapsOwn(asked)) return behind(starter.perl, withMadeView(asked));
  const own = await withVerifiedMounts(asked);
  if (starter !== null) return behind(starter.perl, own);
  const { view: _, ...plain } = own;
  const apart = await (unshared ??= findUnshare());
  if (apart === null) return await enteringChain(plain);
  return await enteringChain(plain, apart);
}

/** Perl with the script that starts one program, and whether that can make views here; tried once. */
let started: Promise<{ perl: readonly string[]; makesViews: boolean } | null> | null = null;

/** Arguments that start a program whose mounts are apart from those of the machine; null where this user may not; tried once. */
let unshared: Promise<readonly string[] | null> | null = null;

async function findStarter(): Promise<{ perl: readonly string[]; makesViews: boolean } | null> {
  const args = starterArguments();
  const perl = await findProgram("perl");
  if (args === null || perl === null) return null;
  const start = [perl, ...args] as const;
  const trial = behind(start, { file: "/bin/sh", args: ["-c", ":"], env: {}, cwd: "/", view: ["--tmpfs", "/tmp"] });
  return { perl: start, makesViews: (await tryProgram(trial.file, trial.args)).works };
}

async function findUnshare(): Promise<readonly string[] | null> {
  const unshare = await findProgram("unshare");
  if (unshare === null) return null;
  for (const user of [[], ["--user", "--map-current-user"]]) {
    const start = [unshare, ...user, "--mount", "--propagation", "private", "--"];
    if ((await tryProgram(start[0]!, [...start.slice(1), "/bin/sh", "-c", ":"])).works) return start;
  }
  return null;
}

/** The command as Perl starts it. */
function behind([perl = "", ...script]: readonly string[], command: Command): Command {
  const { enters = {}, filter = "", view = [], ...plain } = command;
  const words = [enters.user ?? "", enters.net ?? "", filter, String(view.length), ...view];
  return { ...plain, file: perl, args: [...script, ...words, command.file, ...command.args] };
}

async function enteringChain({ enters, filter, ...command }: Command, apart: readonly string[] = []): Promise<Command> {
  const opened = filter === undefined ? command : {
    ...command,
    file: "/bin/sh",
    args: ["-c", 'exec "$@" 9<"$0"', filter, ...apart, command.file, "--seccomp", "9", ...command.args],
  };
  const [first = opened.file, ...rest] = filter === undefined ? [...apart, opened.file] : [opened.file];
  const spaces = Object.entries(enters ?? {}).map(([kind, file]) => `--${kind}=${file}`);
  if (spaces.length === 0) return { ...opened, file: first, args: [...rest, ...opened.args] };
  const args = [...spaces, "--preserve-credentials", "--", first, ...rest, ...opened.args];
  return { ...opened, file: await findProgram("nsenter") ?? "nsenter", args };
}

/** Lines of a shell. A system that does not let it stays as it is. */
function boundsOf(openFiles: number): string {
  return `{ echo ${oomScore} > /proc/self/oom_score_adj; } 2>/dev/null
ulimit -Hn ${openFiles} 2>/dev/null || ulimit -n ${openFiles} 2>/dev/null
`;
}

/**
 * Whether bwrap must make a view: one without a mount, where the disk would stay writable, and one over the whole disk, which
 * a process cannot see from where it is.
 */
export function isBwrapsOwn({ view = [] }: Command): boolean {
  return view.length === 0 || wordedMounts(view).some(({ at }) => at === "/");
}

/** The same command, for which bwrap makes the mounts. It knows no layers: what has one is read-only. */
export function withOwnMounts(
  { view, ...command }: Command,
  mounts: readonly WordedMount[] = wordedMounts(view ?? []),
): Command {
  if (view === undefined) return command;
  const words = mounts.flatMap(({ kind, from, layer, at }) =>
    layer === undefined ? [kind, ...(from === undefined ? [] : [from]), at] : ["--ro-bind", from!, at]
  );
  return { ...command, args: ["--ro-bind", "/", "/", ...words, ...command.args] };
}

/**
 * As {@link withOwnMounts}, once no link stands on the way to a place, for a start in which the mounts are apart from those of
 * the machine.
 * @throws {Error} `ELOOP` where one does
 */
export async function withVerifiedMounts(command: Command): Promise<Command> {
  if (command.view === undefined) return command;
  const mounts = await verifyMounts(command.view);
  return { ...withOwnMounts(command, mounts), view: privateOnly };
}

/** The same command for a start in which the view is made when bwrap comes; it adds the processes of the namespace. */
export function withMadeView(command: Command): Command {
  return { ...command, args: ["--dev-bind", "/", "/", ...ownProc, ...command.args] };
}
