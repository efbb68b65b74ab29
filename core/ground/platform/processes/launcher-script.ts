import { readFileSync } from "node:fs";
import process from "node:process";
import { oomScore } from "../os-walls/os-wall.ts";

/**
 * Numbers of the system calls sendmsg, setns, unshare, setsid, prctl, mount, close and prlimit64, by architecture: Perl has no
 * function for them. Newer calls have the same number everywhere: 428 open_tree, 429 move_mount, 434 pidfd_open, 437 openat2,
 * 442 mount_setattr.
 */
const numbers: Readonly<Record<string, readonly number[]>> = {
  x64: [46, 308, 272, 112, 157, 165, 3, 302],
  arm64: [211, 268, 97, 157, 167, 40, 57, 261],
};

/** Arguments of Perl for the launcher; null on an architecture whose numbers are not known. */
export function launcherArguments(): readonly string[] | null {
  return argumentsFor(new URL("./launcher.pl", import.meta.url));
}

/**
 * Arguments of Perl that start one program in namespaces and a view, for a runtime that has no launcher. More follow: the
 * files of its namespaces of users and of the network, its filter, the number of words of its view, these, and the command.
 * None of the first three need be there.
 */
export function starterArguments(): readonly string[] | null {
  return argumentsFor(new URL("./starter.pl", import.meta.url));
}

/** Texts of the scripts, read once: a host whose files are replaced goes on with those that it began with. */
const texts = new Map<string, string>();

function argumentsFor(script: URL): readonly string[] | null {
  const known = numbers[process.arch];
  if (known === undefined) return null;
  const text = `${read(new URL("./view.pl", import.meta.url))}\n${read(script)}`;
  return ["-e", text, ...known.map(String), String(oomScore)];
}

function read(script: URL): string {
  const text = texts.get(script.href) ?? readFileSync(script, "utf8");
  texts.set(script.href, text);
  return text;
}
