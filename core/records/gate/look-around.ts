import { isMissing } from "../../ground/errors/write-fault.ts";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "../../ground/platform/files/files-at-once.ts";
import { type GitPart, leadsBack, partOfGit, type PlaceInGit, runsPrograms } from "./git-folder.ts";
import { installFiles, installScripts, packageBytes } from "./install-scripts.ts";
import {
  asGitSettings,
  asLinkOut,
  asRepository,
  asUnseen,
  isBesideRepository,
  isOfRepository,
  judgeEntry,
  judgeName,
  looksLikeRepository,
  type Reason,
} from "./judge.ts";
import { wayOfLink } from "./leads-out.ts";
import type { FoundEntry, FoundScripts, LookAnswer, LookQuestion } from "./look-question.ts";
import { markOfEntry, markTree } from "./mark-entry.ts";

type Facts = ReturnType<typeof plainStat>;

interface Place {
  path: string;
  ctimeMs: number;
  /** It was made or put in place since: all that is in it counts as new. */
  isNew: boolean;
  isBorn: boolean;
  /** The guarded folder that it lies in, or is. */
  root: { path: string; reason: Reason } | null;
  /** Its place in a git folder; null for a folder of the project. */
  git: PlaceInGit | "modules" | "worktrees" | null;
}

interface Entry {
  name: string;
  path: string;
  facts: Facts;
  type: FoundEntry["type"];
  isNew: boolean;
  isBorn: boolean;
  place: Place;
}

/** Steps that a path may have to be told whole. */
const longestPath = 2000;

/** Looks for all that changed in a folder and would run a program or lead out. Holds its thread meanwhile. */
export function lookAround(question: LookQuestion): LookAnswer {
  return new Look(question).run();
}

class Look {
  readonly #question: LookQuestion;
  readonly #found = new Map<string, FoundEntry>();
  readonly #scripts: FoundScripts[] = [];
  readonly #links = new Map<string, string>();
  readonly #newLinks = new Map<string, Entry>();
  readonly #skip: ReadonlySet<string>;
  readonly #named: ReadonlySet<string>;
  readonly #unchanged = new Map<string, number>();
  readonly #until: number;
  #entries = 0;

  constructor(question: LookQuestion) {
    this.#question = question;
    this.#skip = new Set(question.skip);
    this.#named = new Set(question.named);
    this.#until = performance.now() + question.bounds.ms;
  }

  run(): LookAnswer {
    const top = { path: "", ctimeMs: Infinity, isNew: false, isBorn: false, root: null, git: null };
    const places: Place[] = [top];
    // The outer folders first: a bound leaves the deep ones.
    for (let next = 0; next < places.length; next++) {
      const place = places[next]!;
      if (this.#isOver()) this.#unseen(place.path, place);
      else for (const below of this.#lookAt(place)) places.push(below);
      places[next] = top;
    }
    this.#judgeLinks();
    for (const one of this.#found.values()) if (one.type === "folder") this.#markFolder(one);
    return {
      found: [...this.#found.values()],
      scripts: this.#scripts,
      unchanged: Object.fromEntries(this.#unchanged),
      entries: this.#entries,
    };
  }

  #isOver(): boolean {
    const { entries, found } = this.#question.bounds;
    return this.#entries >= entries || this.#found.size >= found || performance.now() > this.#until;
  }

  /** Judges the entries of a folder; returns its folders to look at. */
  #lookAt(place: Place): Place[] {
    const entries = this.#entriesOf(place);
    const isRepository = place.git === null && looksLikeRepository(entries.map(({ name }) => name));
    return entries.flatMap((entry) => {
      const below = place.git === null ? this.#judge(entry, isRepository) : this.#judgeInGit(entry, place.git);
      return below === null ? [] : [below];
    });
  }

  #entriesOf(place: Place): Entry[] {
    const { top, since, known } = this.#question;
    let names: string[];
    try {
      names = readdirSync(this.#at(place.path));
    } catch (error) {
      if (!isMissing(error)) this.#unseen(place.path, place);
      return [];
    }
    const entries: Entry[] = [];
    for (const name of names) {
      const path = place.path === "" ? name : `${place.path}/${name}`;
      if (this.#skip.has(`${top}/${path}`)) continue;
      this.#entries++;
      const facts = this.#factsOf(path, place);
      if (facts === null) continue;
      const isChanged = facts.ctimeMs >= since;
      const isBorn = place.isBorn || facts.birthtimeMs >= since;
      const type = typeOf(facts);
      // A folder's own time says that an entry of it came or went, or that it was moved, which changes its parent too.
      const isMoved = isChanged && known[path] !== facts.ino && (isBorn || place.ctimeMs >= since);
      const isOther = isChanged && known[path] !== markOfEntry(facts);
      const isNew = place.isNew || (type === "folder" ? isMoved : isOther);
      entries.push({ name, path, facts, type, isNew, isBorn: isBorn && isNew, place });
    }
    return entries;
  }

  #factsOf(path: string, place: Place): Facts | null {
    try {
      return plainStat(this.#at(path));
    } catch (error) {
      // A name that is not UTF-8 cannot be asked for.
      if (!isMissing(error) || path.includes("\ufffd")) this.#unseen(path, place);
      return null;
    }
  }

  /** Judges an entry of the project; returns the place of a folder to look at. */
  #judge(entry: Entry, isRepository: boolean): Place | null {
    const { name, path, type, isNew, place } = entry;
    if (type === "link") this.#keepLink(entry);
    const own = judgeName(name, entry) ?? this.#judgeNamed(entry);
    if (own?.kind === "repository") {
      if (isNew) this.#hold(entry, { reason: own });
      else if (type === "folder") return { ...placeOf(entry), git: "git" };
      return null;
    }
    if (isRepository && isOfRepository(name)) {
      if (isNew) return this.#hold(entry, { reason: asRepository });
      // Below one that was there before, its settings are held where they changed.
      if (type === "folder" && place.root === null && isBesideRepository(name)) {
        return { ...placeOf(entry), root: { path, reason: asGitSettings } };
      }
    }
    const root = place.root ?? (own === null ? null : { path, reason: own });
    if (type === "folder") return { ...placeOf(entry), root };
    if (!isNew) {
      if (root !== null) this.#unchanged.set(root.path, (this.#unchanged.get(root.path) ?? 0) + 1);
      return null;
    }
    const reason = root?.reason ?? judgeEntry({ type, mode: entry.facts.mode });
    if (reason !== null) this.#hold(entry, { reason, root: root?.path ?? path });
    if (installFiles.has(name) && type === "file") this.#readScripts(entry);
    return null;
  }

  /** A link on the way to what git's settings name puts something else there. */
  #judgeNamed({ path, type }: Entry): Reason | null {
    const { named } = this.#question;
    const isNamed = this.#named.has(path) || type === "link" && named.some((place) => place.startsWith(`${path}/`));
    return isNamed ? asGitSettings : null;
  }

  #judgeInGit(entry: Entry, within: NonNullable<Place["git"]>): Place | null {
    const { name, path, type, isNew, place } = entry;
    if (within === "modules" && type === "folder") {
      const isModule = this.#isThere(`${path}/HEAD`);
      return { ...placeOf(entry), git: isModule ? "git" : "modules" };
    }
    if (within === "worktrees" && type === "folder") return { ...placeOf(entry), git: "worktree" };
    const isInside = within === "modules" || within === "worktrees";
    // A folder that git does not know as one of data: every change in it is held.
    const part: GitPart = isInside || place.root !== null
      ? type === "folder" ? "folder" : "held"
      : partOfGit(name, { type, within });
    switch (part) {
      case "ignored":
        if (name === "objects" && this.#isChangedFile(`${path}/info/alternates`)) {
          this.#hold(entry, { reason: asGitSettings });
        }
        return null;
      case "modules":
      case "worktrees":
      case "info":
      case "rebase":
        return { ...placeOf(entry), git: part };
      case "folder":
        return { ...placeOf(entry), git: "git", root: place.root ?? { path, reason: asGitSettings } };
      case "steps":
        return isNew && runsPrograms(this.#textOf(entry)) ? this.#hold(entry, { reason: asGitSettings }) : null;
      case "way_back":
        return isNew && !leadsBack(this.#textOf(entry)) ? this.#hold(entry, { reason: asGitSettings }) : null;
      case "held":
        if (!isNew) {
          if (place.root !== null) {
            this.#unchanged.set(place.root.path, (this.#unchanged.get(place.root.path) ?? 0) + 1);
          }
          return null;
        }
        return this.#hold(entry, { reason: asGitSettings, root: place.root?.path ?? path });
      default:
        return part satisfies never;
    }
  }

  #isThere(path: string): boolean {
    try {
      lstatSync(this.#at(path));
      return true;
    } catch {
      return false;
    }
  }

  #isChangedFile(path: string): boolean {
    try {
      return lstatSync(this.#at(path)).ctimeMs >= this.#question.since;
    } catch {
      return false;
    }
  }

  /** The text of a file; of one that is large or cannot be read, a text that is held. */
  #textOf({ path, facts }: Entry): string {
    try {
      return facts.size > packageBytes ? "exec \n" : readFileSync(this.#at(path), "utf8");
    } catch {
      return "exec \n";
    }
  }

  #readScripts(entry: Entry): void {
    const { path, facts } = entry;
    if (/(^|\/)node_modules\//.test(path)) return;
    if (facts.size > packageBytes || this.#scripts.length >= mostScripts) return this.#unseen(path, entry.place);
    const scripts = installScripts(path, this.#textOf(entry));
    if (Object.keys(scripts).length > 0) this.#scripts.push({ path, scripts });
  }

  #keepLink(entry: Entry): void {
    try {
      this.#links.set(entry.path, readlinkSync(this.#at(entry.path)));
    } catch {
      return this.#unseen(entry.path, entry.place);
    }
    if (entry.isNew) this.#newLinks.set(entry.path, entry);
  }

  #judgeLinks(): void {
    if (this.#newLinks.size === 0) return;
    for (const [path, target] of this.#links) {
      const { isOut, via } = wayOfLink(path, this.#links, this.#question.top);
      const changed = isOut ? via.find((one) => this.#newLinks.has(one)) : undefined;
      if (changed === undefined) continue;
      const known = this.#found.get(path);
      if (known !== undefined) known.target = target;
      else if (this.#newLinks.has(path)) this.#hold(this.#newLinks.get(path)!, { reason: asLinkOut });
      else {
        const one: FoundEntry = { path, root: path, type: "link", isBorn: false, mark: null, target, ...asLinkOut };
        this.#found.set(path, { ...one, isThrough: true });
      }
    }
  }

  #hold(entry: Entry, { reason, root = entry.path }: { reason: Reason; root?: string }): null {
    const { path, type, isBorn, facts, place } = entry;
    if (this.#found.size >= this.#question.bounds.found) {
      this.#unseen(place.path, place);
      return null;
    }
    const mark = type === "folder" ? null : markOfEntry(facts);
    const target = this.#links.get(path);
    this.#found.set(path, { path, root, type, isBorn, mark, ...reason, ...(target === undefined ? {} : { target }) });
    return null;
  }

  #markFolder(one: FoundEntry): void {
    const marked = markTree(this.#at(one.path));
    one.mark = marked?.mark ?? null;
    if (marked !== null) one.files = marked.files;
  }

  /** Holds a place that could not be looked at, by the part of it that can be named. */
  #unseen(path: string, { isBorn }: Pick<Place, "isBorn">): void {
    // Beyond a bound one name stands for all that lies there.
    const whole = this.#isOver() ? path.split("/")[0]! : path;
    const named = whole.length > longestPath ? whole.slice(0, longestPath).replace(/\/[^/]*$/, "") : whole;
    const known = named === "" ? "." : named;
    if (this.#found.has(known)) return;
    this.#found.set(known, { path: known, root: known, type: "other", isBorn, mark: null, ...asUnseen });
  }

  #at(path: string): string {
    return path === "" ? this.#question.top : `${this.#question.top}/${path}`;
  }
}

/** Files of packages that are read. */
const mostScripts = 200;

function placeOf({ path, facts, isNew, isBorn, place }: Entry): Place {
  return { path, ctimeMs: facts.ctimeMs, isNew, isBorn, root: place.root, git: place.git };
}

function typeOf(facts: Facts): FoundEntry["type"] {
  return facts.isDirectory() ? "folder" : facts.isFile() ? "file" : facts.isSymbolicLink() ? "link" : "other";
}

/** Reads the facts of an entry; a link is not followed. */
function plainStat(path: string) {
  return lstatSync(path);
}
