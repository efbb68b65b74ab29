import { mkdir, realpath, stat, symlink } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { isBelow, isInside } from "../../ground/platform/files/paths.ts";
import { parentsOf } from "./mounts.ts";
import type { AgentView, Bound } from "./program-view.ts";
import type { Command, ProbedWall } from "../../ground/platform/os-walls/os-wall.ts";
import { tryProgram } from "../../ground/platform/os-walls/try-program.ts";

// Apple's sandbox: sandbox-exec(1), and the profiles in /System/Library/Sandbox/Profiles, whose last fitting rule counts.
const program = "/usr/bin/sandbox-exec";
const remedy = "It comes with macOS; a container or a managed machine may forbid it.";

/** Tries the sandbox of macOS with a profile that allows everything. */
export async function probeSeatbelt(): Promise<ProbedWall> {
  const trial = await tryProgram(program, ["-p", "(version 1)(allow default)", "/usr/bin/true"]);
  if (!trial.works) return { active: false, reason: `sandbox-exec failed: ${trial.why}.`, remedy };
  return { active: true, wrap: (command) => Promise.resolve({ command }) };
}

/**
 * Puts a program of a session into macOS's sandbox. Nothing can be mounted there: the private home is a folder of its
 * own that `HOME` names, with links to the settings, logins and records that {@link AgentView.bound} puts into it.
 */
export async function containBySeatbelt(command: Command, asked: AgentView): Promise<Command> {
  // Nothing is layered there.
  const isRead = ({ isReadOnly = false, layer }: Bound) => isReadOnly || layer !== undefined;
  const { bound: all = [], shown } = asked;
  const read = all.filter(isRead).map(({ from }) => from);
  const view = { ...asked, bound: all.filter((place) => !isRead(place)), shown: [...shown, ...read] };
  const home = await realpath(command.env["HOME"] ?? "/var/empty").catch(() => null);
  const own = view.bound?.find(({ at }) => at === home);
  if (own !== undefined && home !== null) await fillHome({ home, own: own.from, view });
  const profile = seatbeltProfile(await realView(view), { home: own === undefined ? null : home });
  const env = own === undefined ? command.env : { ...command.env, HOME: own.from, TMPDIR: view.tmp };
  return { ...command, file: program, args: ["-p", profile, command.file, ...command.args], env };
}

/** Links what the program may see of the real home into its own one. */
async function fillHome({ home, own, view }: { home: string; own: string; view: AgentView }): Promise<void> {
  const bound = (view.bound ?? []).filter(({ at }) => isBelow(home, at));
  const shown = view.shown.filter((path) => isBelow(home, path)).map((path) => ({ from: path, at: path }));
  // Folders before what lies in them: a link to a whole folder already leads to the rest.
  for (const { from, at } of [...bound, ...shown].sort((a, b) => a.at.length - b.at.length)) {
    const link = join(own, relative(home, at));
    if (await stat(from).then(() => false, () => true)) continue;
    await mkdir(dirname(link), { recursive: true, mode: 0o700 }).catch(() => {});
    await symlink(from, link).catch(() => {});
  }
}

/** The profile knows real paths alone: `/tmp` and `/var` are links on macOS. */
async function realView(view: AgentView): Promise<AgentView> {
  const real = async (paths: readonly string[] = []) =>
    (await Promise.all(paths.map((path) => realpath(path).catch(() => null)))).filter((path) => path !== null);
  const bound = await Promise.all((view.bound ?? []).map(async ({ from, at }) => {
    const [path = from] = await real([from]);
    return { from: path, at };
  }));
  const links = await Promise.all((view.links ?? []).map(async (link) => {
    const [above = dirname(link.at)] = await real([dirname(link.at)]);
    return { ...link, at: join(above, basename(link.at)) };
  }));
  const [tmp = view.tmp] = await real([view.tmp]);
  return {
    ...view,
    tmp,
    bound,
    writable: await real(view.writable),
    hidden: await real(view.hidden),
    shown: await real(view.shown),
    sealed: await real(view.sealed),
    held: await real(view.held),
    links,
  };
}

/** Devices that programs write to without harm. */
const devices = ["/dev/null", "/dev/zero", "/dev/tty", "/dev/random", "/dev/urandom", "/dev/dtracehelper", "/dev/ptmx"];

/** Services through which a program could act outside: the keychain, the clipboard, other applications. */
const services = [
  "com.apple.SecurityServer",
  "com.apple.securityd",
  "com.apple.securityd.xpc",
  "com.apple.pasteboard.1",
  "com.apple.coreservices.appleevents",
  "com.apple.lsd.open",
];

/**
 * The profile for a view; its paths must be real. The program reads all but the home and the hidden places, writes its
 * folders alone, and connects to the ports of {@link AgentView.reach} on this machine alone.
 * @param options.home the real home; null where the program works in it
 */
export function seatbeltProfile(view: AgentView, { home }: { home: string | null }): string {
  const { writable, tmp, hidden, shown, sealed = [], held = [], links = [], bound = [], network, reach = [] } = view;
  const private_ = bound.map(({ from }) => from);
  const folders = [...writable, tmp, ...private_];
  const seen = [...folders, ...shown];
  const below = (place: string) => seen.filter((path) => isInside(place, path));
  return [
    "(version 1)",
    "(allow default)",
    rule("deny file-write*", ["/"]),
    rule("allow file-write*", folders),
    `(allow file-write* ${devices.map((path) => `(literal ${quoted(path)})`).join(" ")} (regex #"^/dev/ttys[0-9]+$"))`,
    rule("deny file-write*", sealed),
    // Names alone: programs look at each folder above the one they are in.
    ...[...(home === null ? [] : [home]), ...hidden].flatMap((place) => [
      rule("deny file-read-data file-write*", [place]),
      rule("allow file-read*", below(place)),
      rule("allow file-write*", folders.filter((path) => isInside(place, path))),
    ]),
    // A place inside a folder that is shown again stays hidden.
    ...hidden.filter((place) => seen.some((path) => isBelow(path, place))).map((place) =>
      rule("deny file-read-data file-write*", [place])
    ),
    rule("deny file-write*", sealed),
    ...entryRules("file-write*", links.map(({ at }) => at)),
    // To move a folder is to unlink it where it was.
    ...entryRules("file-write-unlink", [
      ...held,
      ...parentsOf([...sealed, ...hidden, ...shown, ...held, ...links.map(({ at }) => at)], writable),
    ]),
    ...(network === "machine" ? [] : [
      "(deny network*)",
      '(allow network-bind network-inbound (local ip "localhost:*"))',
      ...reach.map((port) => `(allow network-outbound (remote ip "localhost:${port}"))`),
    ]),
    "(deny process-info* (target others))",
    "(deny signal)",
    "(allow signal (target same-sandbox))",
    "(deny mach-priv-task-port)",
    "(deny appleevent-send)",
    "(deny lsopen)",
    `(deny mach-lookup ${services.map((name) => `(global-name ${quoted(name)})`).join(" ")})`,
  ].filter((line) => line !== "").join("\n");
}

function rule(what: string, places: readonly string[]): string {
  return places.length === 0 ? "" : `(${what} ${places.map((path) => `(subpath ${quoted(path)})`).join(" ")})`;
}

/** Keeps an operation from entries themselves, and not from what is in them. */
function entryRules(operation: string, entries: readonly string[]): string[] {
  return entries.length === 0
    ? []
    : [`(deny ${operation} ${entries.map((at) => `(literal ${quoted(at)})`).join(" ")})`];
}

/** A string of the profile's language, which is a Scheme. */
function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}
