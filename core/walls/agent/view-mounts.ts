import { basename, dirname, join } from "node:path";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { ownProc } from "../../ground/platform/os-walls/bubblewrap.ts";
import { isBelow, isInside, resolve } from "../../ground/platform/files/paths.ts";
import { approveSource, coveredAt, type SourceRules, sourceRules } from "./approve-source.ts";
import { parentsOf, type ViewMount, withoutNeedless } from "./mounts.ts";
import type { AgentView, Bound, HeldLink } from "./program-view.ts";
import { pathsOfMachine, realEntries, RealPaths } from "./real-paths.ts";
import { pathsOf, socketsAmong, type UnixSocket, unixSockets } from "./unix-sockets.ts";

/** Sockets of the system's services, which could act for the program; files there are needed to resolve names. */
const serviceFolder = "/run";
const shownOfServices = ["/run/systemd/resolve", "/run/current-system", "/run/wrappers"];

/**
 * Kernel file systems. A writable parent folder, such as `/`, would otherwise expose the machine's own. What lies in the new
 * `/dev` itself takes memory that nothing counts, so that it becomes read-only; shared memory is a folder of the session's.
 */
const ofKernel: readonly ViewMount[] = [
  { at: "/dev", args: ["--dev", "/dev"] },
  { at: "/proc", args: [...ownProc] },
];

/** An approved place of a view. */
interface Place {
  named: string;
  real: string;
  kind: "--bind" | "--ro-bind";
  layer?: string | undefined;
  /** Path at which it is mounted; absent: its real path, and its own name where that would be missing. */
  at?: string;
  isNew?: boolean;
}

/** Things that decide about the places of one view. */
interface Gate {
  view: AgentView;
  rules: SourceRules;
  lookerAt: (path: string) => RealPaths;
}

/**
 * Mounts of a view, each folder before those below it, which it would otherwise cover.
 * @throws {BulkheadError} `io_error` where a link has taken the place of a folder that the session works in
 */
export async function viewMounts(view: AgentView): Promise<ViewMount[]> {
  const { writable, tmp, shm, hidden, shown, sealed = [], held = [], links = [], bound = [] } = view;
  const own = new RealPaths();
  const lookerAt = (path: string) => writable.some((folder) => isInside(folder, path)) ? own : pathsOfMachine();
  const listed = view.filterFolder === undefined ? Promise.resolve([]) : unixSockets();
  const gate: Gate = { view, rules: await sourceRules(view), lookerAt };
  const [written, seen, bounds, temp, entries, services] = await Promise.all([
    Promise.all(writable.map((path) => takeWritable(path, gate))),
    Promise.all(shown.map((path) => takeShown(path, gate))),
    Promise.all(bound.map((place) => takeBound(place, gate))),
    takeWritable(tmp, gate),
    showEntries(sealed, gate),
    Promise.all(["/sys", ...shownOfServices].map((path) => pathsOfMachine().of(path))),
  ]);
  const places = [...seen, ...written, ...bounds, temp].filter((place) => place !== null);
  const sources = places.flatMap((place) => placesOf(place, places));
  const found = await listed;
  const visible = (some: readonly UnixSocket[]) => visibleSockets(pathsOf(some, writable), { view, sources });
  const sockets = await visible(found);
  view.onSockets?.({ known: found, visible });
  const behind = await hideAll([...hidden, serviceFolder, ...sockets], gate);
  const covers = sources.flatMap((source) => coversIn(source, behind));
  const closed = [...behind, ...entries, ...sources.filter((source) => !isWrittenAsItIs(source)), ...ofKernel];
  const isOpen = (place: string) => standsOpen(place, { writable, closed: ["/tmp", ...closed.map(({ at }) => at)] });
  const seats = [...behind, ...entries, ...seen.map((place) => place && { at: place.real })].filter((seat) =>
    seat !== null
  );
  const guards = [...seats, ...links].map(({ at }) => at);
  const holding = [...new Set([...held, ...parentsOf([...guards, ...held], writable)])]
    .filter((place) => isOpen(place) && !sources.some(({ at }) => at === place));
  // Of two at one place the later one counts.
  const wanted: ViewMount[] = [
    ...ofKernel,
    ...behind,
    ...services.flatMap((at) => at === null ? [] : [{ at, args: ["--ro-bind", at, at] }]),
    { at: "/tmp", args: ["--bind", tmp, "/tmp"], isNew: true },
    ...(shm === undefined ? [] : [{ at: "/dev/shm", args: ["--bind", shm, "/dev/shm"], isNew: true }]),
    ...sources.map(mountOf),
    ...holding.map((at) => ({ at, args: ["--bind", at, at] })),
    ...entries,
    ...covers,
  ];
  const needed = withoutNeedless(wanted.sort((a, b) => a.at.length - b.at.length));
  // Hidden places become read-only last: until then the places below them are made in them.
  const emptied = needed.filter(({ args }) => args[0] === "--tmpfs").map(({ at }) => ({
    at,
    args: ["--remount-ro", at],
  }));
  const stays = links.filter(({ at }) => isOpen(at)).map(holdLink);
  return [...needed, ...emptied, { at: "/dev", args: ["--remount-ro", "/dev"] }, ...stays];
}

/** A mount of a link over itself. bwrap has no word for it. */
function holdLink({ at, isDangling }: HeldLink): ViewMount {
  return { at, args: [isDangling ? "--close-link" : "--hold-link", at] };
}

function isWrittenAsItIs({ kind, real, at, layer }: Source): boolean {
  return kind === "--bind" && real === at && layer === undefined;
}

/** Whether the program could move an entry: what is mounted around it, or on it, closes no more of it than the folder it writes. */
function standsOpen(
  place: string,
  { writable, closed }: { writable: readonly string[]; closed: readonly string[] },
): boolean {
  const innermost = (folders: readonly string[]) => Math.max(0, ...folders.map(({ length }) => length));
  const around = writable.filter((folder) => isBelow(folder, place));
  return innermost(around) > innermost(closed.filter((folder) => isInside(folder, place)));
}

/** Takes a folder to write into the view; null where it is missing or left out. */
async function takeWritable(path: string, gate: Gate): Promise<Place | null> {
  const { rules, lookerAt } = gate;
  const real = await lookerAt(path).of(path);
  if (real === null) return null;
  if ([gate.view.tmp, ...gate.view.own ?? []].some((place) => isInside(place, path))) {
    if (real === resolve(path)) return { named: real, real, kind: "--bind" };
    throw new BulkheadError("io_error", `Cannot contain the agent in "${path}": it leads to "${real}" now.`, {
      hint: "Something has put a link there. Look where it leads, and put the folder back.",
      details: { path },
    });
  }
  // It is one of those that the agent writes itself.
  const others = rules.written.filter((folder) => folder !== real);
  return taken(await approveSource(path, { ...rules, written: others }), "--bind", gate);
}

/** As {@link takeWritable}, for a place to read. */
async function takeShown(path: string, gate: Gate): Promise<Place | null> {
  return taken(await approveSource(path, rulesFor(path, gate)), "--ro-bind", gate);
}

/** A place of the host's own may lie in a hidden one; what is hidden inside it stays so. */
function rulesFor(path: string, { view, rules }: Gate): SourceRules {
  const own = [view.tmp, ...view.own ?? []].filter((place) => isInside(place, path));
  return { ...rules, hidden: rules.hidden.filter((place) => !own.some((folder) => isInside(place, folder))) };
}

function taken(source: Awaited<ReturnType<typeof approveSource>>, kind: Place["kind"], { view }: Gate): Place | null {
  if (source === null || "real" in source) return source && { ...source, kind };
  view.leftOut?.(source);
  return null;
}

async function takeBound(
  { from, at, layer, isNew = false, isOwn: isHosts = isNew, isReadOnly = false, isBorrowed = false }: Bound,
  gate: Gate,
): Promise<Place | null> {
  // Where the session works in a hidden place, git borrows from there too.
  const rules = isBorrowed ? rulesFor(from, gate) : gate.rules;
  const hidden = rules.hidden.filter((place) => !isHosts || !isInside(place, from));
  const source = await approveSource(from, { ...rules, hidden });
  const place = taken(source, isReadOnly ? "--ro-bind" : "--bind", gate);
  // Nothing else of the project is seen elsewhere than in it.
  if (place === null || !isHosts && !isBorrowed && rules.written.some((folder) => isInside(folder, place.real))) {
    return null;
  }
  return { ...place, at, isNew, layer };
}

/** A place that is mounted somewhere. */
type Source = Place & { at: string };

/** Under its real path, and under its own name where a private home or `/tmp` lies over the link. */
function placesOf(place: Place, all: readonly Place[]): Source[] {
  const { named, real, at } = place;
  if (at !== undefined) return [{ ...place, at }];
  const itself = { ...place, at: real };
  const isCovered = isBelow("/tmp", named) || all.some((other) => other.isNew === true && isBelow(other.at!, named));
  const isShown = all.some((other) => other.at === undefined && isBelow(other.named, named));
  return named === real || !isCovered || isShown ? [itself] : [itself, { ...place, at: named }];
}

function mountOf({ kind, real, at, layer, isNew = false }: Source): ViewMount {
  return { at, args: layer === undefined ? [kind, real, at] : ["--overlay", real, layer, at], isNew };
}

/** Sockets of others that the program would see. What it makes itself is in its own network, and not listed here. */
async function visibleSockets(
  paths: readonly string[],
  { view, sources }: { view: AgentView; sources: readonly Source[] },
): Promise<string[]> {
  const empty = [...view.hidden, serviceFolder, "/tmp", ...sources.filter(({ isNew }) => isNew).map(({ at }) => at)];
  const seen = sources.filter(({ isNew }) => !isNew);
  const visible = paths.filter((path) =>
    seen.some(({ real }) => isInside(real, path)) || !empty.some((folder) => isInside(folder, path))
  );
  return await socketsAmong(visible);
}

async function hideAll(paths: readonly string[], { lookerAt }: Gate): Promise<ViewMount[]> {
  const found = paths.filter((path) => !lookerAt(path).isMissing(path)).map(async (path) => {
    const at = await lookerAt(path).of(path);
    const isFolder = at === null ? null : await lookerAt(at).isFolder(at);
    return at === null || isFolder === null ? [] : [hide(at, isFolder)];
  });
  return (await Promise.all(found)).flat();
}

function hide(at: string, isFolder: boolean): ViewMount {
  return { at, args: isFolder ? ["--tmpfs", at] : ["--ro-bind", "/dev/null", at], hides: true };
}

/** Hidden places inside one that is mounted under another path. */
function coversIn({ real, at }: Source, behind: readonly ViewMount[]): ViewMount[] {
  if (real === at) return [];
  const kinds = new Map(behind.map((mount) => [mount.at, mount.args[0] === "--tmpfs"]));
  return [...coveredAt({ real, at }, [...kinds.keys()])].map(([place, of]) => hide(place, kinds.get(of)!));
}

/**
 * Guarded places of the project, read-only over themselves, by one look at each of the folders that they stand in.
 * @throws {BulkheadError} `io_error` where a link has taken the place of one meanwhile
 */
async function showEntries(paths: readonly string[], { lookerAt, view, rules }: Gate): Promise<ViewMount[]> {
  // The working directory may lie in a hidden place; a hidden file in it, as the host's manifest, stays hidden.
  const hidden = rules.hidden.filter((place) => !view.writable.some((folder) => isInside(place, folder)));
  const shown = [...new Set(paths.map(dirname))].map(async (folder) => {
    const names = paths.filter((path) => dirname(path) === folder).map((path) => basename(path));
    const real = await lookerAt(folder).of(folder);
    if (real === null) return [];
    const found = await realEntries(real, names);
    return found.flatMap((at, index) => {
      if (at === null || hidden.some((place) => isInside(place, at))) return [];
      const path = join(folder, names[index]!);
      if (at === resolve(path)) return [{ at, args: ["--ro-bind", at, at] }];
      throw new BulkheadError("io_error", `Cannot keep "${path}" from an agent: it leads to "${at}" now.`, {
        hint: "A link has taken its place since the session began. Look where it leads.",
        details: { path },
      });
    });
  });
  return (await Promise.all(shown)).flat();
}
