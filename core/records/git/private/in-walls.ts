import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { realpath, stat } from "../../../ground/runtime/files.ts";
import { findBubblewrap, ownNamespaces, ownProc } from "../../../ground/runtime/os-walls/bubblewrap.ts";
import type { Command } from "../../../ground/runtime/os-walls/os-wall.ts";
import { findProgram } from "../../../ground/runtime/os-walls/try-program.ts";
import { dirname, isInside, join } from "../../../ground/runtime/paths.ts";
import { hostEnv } from "../../../ground/runtime/platform.ts";
import type { PrivateRepository } from "./private-record.ts";

/** Limits of one run over objects that an agent made. */
const maxMemory = 2 * 1024 * 1024 * 1024;
const maxSeconds = 120;

/** Bytes of the largest pack that is taken over. */
export const maxPackBytes: number = 4 * 1024 * 1024 * 1024;

/**
 * Walls for git over what an agent made: it reads the system's programs, the private git folder and the objects that this
 * one borrows, writes into one folder, and has no network.
 * @returns what puts a command behind them
 */
export function wallsFor(
  { borrowed }: Pick<PrivateRepository, "borrowed">,
  { place, written }: { place: string; written: string },
): (command: Command) => Promise<Command> {
  return async (command) => {
    const [bubblewrap, git, prlimit] = await Promise.all([
      findBubblewrap(),
      findProgram("git"),
      findProgram("prlimit"),
    ]);
    if ("reason" in bubblewrap || git === null) {
      const reason = "reason" in bubblewrap ? bubblewrap.reason : "git was not found.";
      throw new BulkheadError("unavailable", `Cannot read what an agent left in its git folder: ${reason}`);
    }
    const hidden = await foldersOf([
      "/home",
      "/root",
      "/run",
      "/tmp",
      "/var/tmp",
      "/mnt",
      "/media",
      hostEnv("HOME") ?? "",
    ]);
    // A git of the person's own, such as Homebrew's, stands in the home.
    const program = dirname(dirname(await realpath(git)));
    const shown = hidden.some((folder) => isInside(folder, program)) ? [program] : [];
    const limits = prlimit === null
      ? []
      : [prlimit, `--data=${maxMemory}`, `--cpu=${maxSeconds}`, `--fsize=${maxPackBytes}`, "--core=0", "--"];
    const args = [
      ...ownNamespaces,
      "--unshare-net",
      "--ro-bind",
      "/",
      "/",
      ...ownProc,
      "--dev",
      "/dev",
      ...hidden.flatMap((folder) => ["--tmpfs", folder]),
      ...[...shown, join(place, "git")].flatMap((path) => ["--ro-bind", path, path]),
      ...borrowed.flatMap((from, at) => ["--ro-bind", from, join(place, "borrowed", String(at), "objects")]),
      "--bind",
      written,
      written,
      "--chdir",
      written,
      "--",
      ...limits,
      command.file === "git" ? git : command.file,
      ...command.args,
    ];
    return { ...command, file: bubblewrap.file, args, cwd: "/" };
  };
}

/** Those that are folders, the outer ones first. */
async function foldersOf(paths: readonly string[]): Promise<string[]> {
  const real = await Promise.all(paths.map(async (path) => {
    if (path === "") return null;
    const at = await realpath(path).catch(() => null);
    return at !== null && at !== "/" && await stat(at).then((info) => info.isDirectory(), () => false) ? at : null;
  }));
  return [...new Set(real.filter((path) => path !== null))].sort((a, b) => a.length - b.length);
}
