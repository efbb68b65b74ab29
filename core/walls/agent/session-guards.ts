import { readdir } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import type { CapabilityEvent } from "../../../plugin-sdk/envelope.ts";
import { cleanLine } from "../../ground/log/terminal-text.ts";
import { isBelow, isInside } from "../../ground/platform/files/paths.ts";
import { guardedAmong, guardedPlaces } from "./guarded-names.ts";
import { isKeptEmpty } from "./kept-empty.ts";
import { gathered, mostPlaces } from "./mounts.ts";
import { changedBelow, changedSince, type EntryNote, noteEntry, reasonOf } from "./noted-entries.ts";
import type { AgentView, HeldLink } from "./program-view.ts";
import { otherNames, wayTo } from "./project-links.ts";

/** The part of a session that its guards depend on. Paths are absolute. */
interface GuardedSession {
  /** Real. */
  workdir: string;
  /** Top of the project, where that is another folder. Real. */
  workspaceDir?: string | undefined;
  /** Places of the host that no program changes. Real. */
  sealedPaths?: readonly string[] | undefined;
  /** Places of the host that no program sees. */
  protectedPaths?: readonly string[] | undefined;
  /** Folders in which the host finds those places. */
  pluginPlaces?: readonly string[] | undefined;
  emit(event: CapabilityEvent): void;
}

/** A part of a program's view. */
type Guards = Required<Pick<AgentView, "sealed" | "held" | "links">>;

/** Names that are told one by one; of more, their number. */
const mostTold = 20;

/** Files of which digests are made. */
const mostRead = 64;

/** Characters of a name and of its fate. */
const mostShown = 400;

/** How long a look before the first program counts. Milliseconds. */
const freshMs = 1000;

/**
 * Guards of the project that a session's programs work in. They are looked up for each program, since a person may have
 * made a place meanwhile. A guard is a mount on one entry of the disk, and falls when another program puts a new file
 * there: so entries are noted as they were first seen, and compared at the end.
 */
export class SessionGuards {
  readonly #session: GuardedSession;
  #since = 0;
  readonly #notes = new Map<string, Promise<EntryNote | null>>();
  readonly #left = new Set<string>();
  readonly #gathered = new Set<string>();
  #opened: readonly string[] = [];
  #prepared: { since: number; found: Promise<Guards> } | null = null;

  constructor(session: GuardedSession) {
    this.#session = session;
  }

  get #folder(): string {
    return this.#session.workspaceDir ?? this.#session.workdir;
  }

  /** Begins the look for the first program. */
  prepare(): void {
    const found = this.#look();
    found.catch(() => {});
    this.#prepared = { since: performance.now(), found };
  }

  /**
   * Finds the guards for a program that starts now.
   * @param opened places of the project to write although they are guarded. Real paths
   * @throws {BulkheadError} `io_error` where one cannot be looked up
   */
  async now(opened: Promise<readonly string[]>): Promise<Guards> {
    const prepared = this.#prepared;
    this.#prepared = null;
    const isFresh = prepared !== null && performance.now() - prepared.since < freshMs;
    const [{ sealed, held, links }, open] = await Promise.all([isFresh ? prepared.found : this.#look(), opened]);
    this.#opened = open;
    const isClosed = (place: string) => !this.#isOpened(place);
    return { sealed: sealed.filter(isClosed), held, links: links.filter(({ at }) => isClosed(at)) };
  }

  /**
   * Returns true when a guarded place has appeared or was replaced since programs began: theirs do not hold there, and a
   * program that starts now gets others.
   */
  async changed(): Promise<boolean> {
    if (this.#since === 0) return false;
    const { sealed } = await guardedPlaces(this.#folder);
    if (sealed.some((path) => !this.#notes.has(path) && !isKeptEmpty(path))) return true;
    const noted = (await Promise.all(this.#notes.values())).filter((note) => note !== null);
    const closed = noted.filter(({ path }) => !this.#isOpened(path));
    return (await Promise.all(closed.map(reasonOf))).some((reason) => reason !== null);
  }

  /** Reports changed guarded places. @param before names at the top as the session began */
  async tell(before: ReadonlySet<string>): Promise<void> {
    const folder = this.#folder;
    const names = await readdir(folder).catch(() => []);
    const isNew = (name: string) => !before.has(name) && !isKeptEmpty(join(folder, name));
    const made = await guardedAmong(names.filter(isNew));
    this.#say(made.map((name) => ({ path: join(folder, name) })));
    const noted = (await Promise.all(this.#notes.values())).filter((note) => note !== null);
    const closed = noted.filter(({ path }) => !this.#isOpened(path) && before.has(this.#topOf(path)));
    const changes = await Promise.all(closed.map(async (note) => ({ path: note.path, reason: await reasonOf(note) })));
    const changed = changes.filter(({ reason }) => reason !== null) as { path: string; reason: string }[];
    const whole = closed.filter(({ path, isFolder }) => isFolder && !this.#isInGit(path));
    const below = await changedBelow(whole.map(({ path }) => path), this.#since);
    const left = await changedSince([...this.#left].map((name) => join(folder, name)), this.#since);
    const reason = "It was changed while the session ran.";
    this.#say([...changed, ...[...below, ...left].map((path) => ({ path, reason }))]);
  }

  #say(changes: readonly { path: string; reason?: string }[]): void {
    const about = { type: "capability", permission: "write", decision: "allowed" } as const;
    for (const { path, reason } of changes.slice(0, mostTold)) {
      const told = reason === undefined ? {} : { reason: cleanLine(reason, mostShown) };
      this.#session.emit({ ...about, target: this.#nameOf(path), ...told });
    }
    const more = changes.length - mostTold;
    if (more > 0) this.#session.emit({ ...about, target: `workdir: (and ${more} more guarded places)` });
  }

  /** An agent or a repository chose the name. */
  #nameOf(path: string): string {
    return cleanLine(`workdir:${relative(this.#folder, path).split(sep).join("/")}`, mostShown);
  }

  #isOpened(place: string): boolean {
    return this.#opened.some((path) => isInside(path, place));
  }

  #topOf(path: string): string {
    return relative(this.#folder, path).split(sep)[0] ?? "";
  }

  #isInGit(path: string): boolean {
    return this.#topOf(path) === ".git";
  }

  async #look(): Promise<Guards> {
    const { sealedPaths = [] } = this.#session;
    const folder = this.#folder;
    if (this.#since === 0) this.#since = Date.now();
    const [guards, links] = await Promise.all([guardedPlaces(folder), this.#linksOfHost()]);
    for (const name of guards.left) this.#left.add(name);
    const noted = guards.sealed.filter((path) => !isKeptEmpty(path));
    const [notes] = await Promise.all([
      Promise.all(noted.map((path, index) => noteEntry(path, { isRead: index < mostRead && !this.#notes.has(path) }))),
      Promise.all(guards.links.map(({ at, isDangling }) => this.#note(at, noteEntry(at, { isDangling })))),
    ]);
    const found = notes.filter((note) => note !== null);
    for (const note of found) void this.#note(note.path, Promise.resolve(note));
    const twins = await otherNames(folder, found.filter(({ isShared }) => isShared));
    const sealed = [...guards.sealed, ...twins];
    const own = sealedPaths.filter((path) => isBelow(folder, path));
    const few = gathered([...sealed, ...own], folder);
    this.#tellGathered([...sealed, ...own], few);
    return { sealed: few, held: guards.held, links: [...guards.links, ...links] };
  }

  /** The first note of an entry counts. */
  #note(path: string, note: Promise<EntryNote | null>): Promise<EntryNote | null> {
    const first = this.#notes.get(path) ?? note;
    this.#notes.set(path, first);
    return first;
  }

  #tellGathered(asked: readonly string[], few: readonly string[]): void {
    const known = new Set([...asked, ...this.#gathered]);
    for (const place of few.filter((path) => !known.has(path))) {
      this.#gathered.add(place);
      const target = this.#nameOf(place);
      const reason = "It holds so many guarded places that programs only read it.";
      this.#session.emit({ type: "capability", permission: "write", target, decision: "denied", reason });
    }
  }

  /** Links of the project on the way to places of the host. */
  async #linksOfHost(): Promise<HeldLink[]> {
    const { sealedPaths = [], protectedPaths = [], pluginPlaces = [] } = this.#session;
    const folder = this.#folder;
    const packages = sealedPaths.filter((path) => isBelow(folder, path));
    const own = [...packages, ...protectedPaths].filter((path) => isBelow(folder, path));
    const places = packages.length === 0 ? [] : pluginPlaces.filter((path) => isBelow(folder, path));
    const listed = await Promise.all(places.map(async (place) => {
      const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
      return entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(place, name));
    }));
    const found = await Promise.all([
      ...[...new Set([...own.map((path) => dirname(path)), ...places])].filter((path) => isBelow(folder, path)),
      ...own.filter((path) => !packages.includes(path)),
    ].map((path) => wayTo(folder, path)));
    const ways = await Promise.all(listed.flat().slice(0, mostPlaces).map((path) => wayTo(folder, path)));
    const ofPackages = ways.filter(({ end }) => end !== null && packages.includes(end));
    const links = [...found, ...ofPackages].flatMap((way) => way.links);
    return [...new Map(links.map((link) => [link.at, link])).values()];
  }
}
