import { ownProc } from "./bubblewrap.ts";
import { findProgram } from "./try-program.ts";
import type { Command } from "./os-wall.ts";

/**
 * The same command for a runtime to start: programs in front of it enter its namespaces and open its filter, each
 * starting the next. One of the runtimes can give a program no other files than its pipes.
 */
export async function commandChain(asked: Command): Promise<Command> {
  const { enters, filter, ...command } = withOwnMounts(asked);
  const opened = filter === undefined ? command : {
    ...command,
    file: "/bin/sh",
    args: ["-c", 'exec "$@" 9<"$0"', filter, command.file, "--seccomp", "9", ...command.args],
  };
  const spaces = Object.entries(enters ?? {}).map(([kind, file]) => `--${kind}=${file}`);
  if (spaces.length === 0) return opened;
  const args = [...spaces, "--preserve-credentials", "--", opened.file, ...opened.args];
  return { ...opened, file: await findProgram("nsenter") ?? "nsenter", args };
}

/** The same command, for which bwrap makes the mounts. */
export function withOwnMounts({ view, ...command }: Command): Command {
  return view === undefined ? command : { ...command, args: ["--ro-bind", "/", "/", ...view, ...command.args] };
}

/** The same command for a start in which the view is made when bwrap comes; it adds the processes of the namespace. */
export function withMadeView(command: Command): Command {
  return { ...command, args: ["--dev-bind", "/", "/", ...ownProc, ...command.args] };
}
