import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { type CheckpointStore, openCheckpoints } from "../../../core/records/checkpoints/checkpoint-store.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type Fixture, makeFixture } from "../git/git-fixture.ts";

/** Content of a folder as this test reads it, without the product: kind, mode and digest, by path. */
export type Files = Map<string, string>;

/** Reads all files and links below a folder, but for `.git`. */
export function readFiles(folder: string): Files {
  const files: Files = new Map();
  const visit = (below: string): void => {
    for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.name === ".git") continue;
      if (entry.isDirectory()) visit(path);
      else files.set(path, stateOf(join(folder, path)));
    }
  };
  visit("");
  return files;
}

function stateOf(path: string): string {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return `link ${readlinkSync(path)}`;
  return `${(found.mode & 0o100) === 0 ? "file" : "program"} ${
    createHash("sha256").update(readFileSync(path)).digest("hex")
  }`;
}

/** Numbers from 0 up to a limit, the same ones for the same seed. */
export function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296 * below);
  };
}

interface HistoryOptions {
  seed: number;
  /** Files that are there and that no step touches. */
  moreFiles?: number;
}

/** One turn as this test saw it. */
interface SeenTurn {
  number: number;
  before: Files;
  after: Files;
  /** Paths that a person touched in it, outside tool calls. */
  persons: Set<string>;
}

/** Facts of a run, for the report. */
export interface HistoryCounts {
  rewinds: number;
  refused: number;
  undone: number;
  unclaimed: number;
  /** Paths that a person wrote in a turn, and that went back and came again. */
  personsBack: number;
}

/**
 * A random history of an agent, a person and rewinds in one folder. Each rewind is compared with what this test's own look
 * at the files says that it must do.
 */
export class RewindHistory {
  readonly counts: HistoryCounts = { rewinds: 0, refused: 0, undone: 0, unclaimed: 0, personsBack: 0 };
  readonly f: Fixture;
  readonly #below: (limit: number) => number;
  readonly #isRepository: boolean;
  /** All that happened, for a failure. */
  readonly #log: string[] = [];
  #line: SeenTurn[] = [];
  #store: CheckpointStore | null = null;
  #turn = 0;
  #content = 0;

  constructor({ seed, moreFiles = 0 }: HistoryOptions) {
    this.#below = numbers(seed);
    this.#isRepository = this.#below(5) > 0;
    this.f = makeFixture({ repository: this.#isRepository });
    this.#begin(moreFiles);
  }

  /** Runs some turns, with rewinds between them. */
  async run(turns: number): Promise<void> {
    try {
      for (let round = 0; round < turns; round++) {
        await this.#turnOf();
        this.#persons();
        if (this.#below(3) === 0) await this.#rewind();
        if (this.#below(5) === 0) await this.#reopen();
      }
      await this.#rewind();
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.stack : error}\n${this.#log.join("\n")}`, { cause: error });
    }
  }

  /** Closes the store and removes all files. */
  async end(): Promise<void> {
    await this.#store?.close();
    rmSync(this.f.root, { recursive: true, force: true });
  }

  #begin(moreFiles: number): void {
    const { f } = this;
    f.write(".gitignore", "*.log\nbuild/\n");
    for (const path of names) if (this.#below(2) === 0) this.#write(path);
    for (let at = 0; at < moreFiles; at++) f.write(`more/${at % 200}/${at}.txt`, `${at}\n`);
    f.write("b/ignored.log", "ignored\n");
    f.write("build/out.bin", "built\n");
    if (!this.#isRepository) return;
    if (this.#below(3) === 0) f.write(".gitattributes", "* text=auto\n");
    f.write("keep.log", "tracked and ignored\n");
    f.write("line-ends.txt", "one\r\ntwo\r\n");
    f.git("add", "-A");
    f.git("add", "-f", "keep.log");
    f.git("commit", "-q", "-m", "first");
  }

  async #open(): Promise<CheckpointStore> {
    const { f } = this;
    return this.#store ??= await openCheckpoints({
      folder: join(f.root, "checkpoints"),
      conversation: "c1",
      workdir: f.work,
      exclude: [],
    });
  }

  async #reopen(): Promise<void> {
    this.#log.push("reopen");
    await this.#store?.close();
    this.#store = null;
  }

  async #turnOf(): Promise<void> {
    const store = await this.#open();
    const number = ++this.#turn;
    const before = this.#visible();
    this.#log.push(`turn ${number}`);
    await store.beginTurn(number);
    const [calls, named, persons] = [[] as { from: number; to: number }[], new Set<string>(), new Set<string>()];
    const touched = new Set<string>();
    for (let steps = 1 + this.#below(4); steps > 0; steps--) {
      if (this.#below(8) === 0) {
        // Far enough from any call for the clock of a file system.
        await pause(60);
        const path = names[this.#below(names.length)]!;
        if (![...touched].some((one) => overlaps(one, path))) {
          this.#log.push(`  person writes ${path} in the turn`);
          // Through a link of the agent's, it is what that leads to.
          if (this.#write(path)) {
            persons.add(path).add(relative(realpathSync(this.f.work), realpathSync(join(this.f.work, path))));
          }
        }
        await pause(60);
      }
      const from = Date.now();
      const paths = this.#step(new Set(persons));
      calls.push({ from, to: Date.now() });
      for (const path of paths) touched.add(path);
      if (this.#below(2) === 0) { for (const path of paths) named.add(path); }
    }
    const end = await store.endTurn({ named: [...named], calls });
    if (end.checkpoint === null) throw new Error(`No checkpoint: ${end.checkpoint_reason}`);
    const seen: SeenTurn = { number, before, after: this.#visible(), persons };
    this.#line.push(seen);
    this.#checkArtifacts(end.artifacts?.map(({ path, from }) => [path, from ?? path]).flat() ?? [], seen);
  }

  #checkArtifacts(paths: readonly string[], { before, after }: SeenTurn): void {
    const wanted = [...changedBetween(before, after)].filter((path) => after.has(path) || !this.#isThere(path));
    equal([...new Set(paths)].sort(), wanted.sort(), "the artifacts of a turn");
  }

  /** A step of the agent's: changes files, and returns their paths. */
  #step(spared: ReadonlySet<string>): string[] {
    const { f } = this;
    const path = names[this.#below(names.length)]!;
    const other = names[this.#below(names.length)]!;
    if ([path, other].some((one) => [...spared].some((kept) => overlaps(one, kept)))) return [];
    const kind = this.#below(16);
    this.#log.push(`  agent ${kind} ${path} ${other}`);
    try {
      switch (kind) {
        case 0:
          rmSync(join(f.work, path), { recursive: true });
          return [path];
        case 1:
          chmodSync(join(f.work, path), this.#below(3) === 0 ? 0o644 : 0o755);
          return [path];
        case 2:
          rmSync(join(f.work, path), { force: true });
          mkdirSync(dirname(join(f.work, path)), { recursive: true });
          symlinkSync(other, join(f.work, path));
          return [path];
        case 3: {
          const folded = path === "a.txt" ? "A.txt" : path.replace(/[^/]+$/, (name) => name.toUpperCase());
          renameSync(join(f.work, path), join(f.work, folded));
          return [path, folded];
        }
        case 4:
          mkdirSync(dirname(join(f.work, other)), { recursive: true });
          renameSync(join(f.work, path), join(f.work, other));
          return [path, other];
        case 5: {
          const fresh = `new${this.#content}/deep/f.txt`;
          this.#write(fresh);
          return [fresh];
        }
        case 6:
          this.#write("b/agents.log");
          this.#write("build/agents.bin");
          return [];
        case 7:
          // A file where a folder was, or the other way round.
          if ([...spared].some((kept) => overlaps(kept, "d"))) return [];
          rmSync(join(f.work, "d"), { recursive: true, force: true });
          if (this.#below(2) === 0) this.#write("d");
          else this.#write("d/c.txt");
          return ["d", "d/c.txt", "d/e/f.txt", "d/e/g.txt"];
        case 8:
          // What a person wrote there would move as well.
          if ([...spared].some((kept) => kept.startsWith("b/"))) return [];
          renameSync(join(f.work, "b"), join(f.work, `b${this.#content++}`));
          return [];
        case 9:
        case 10:
          // A command that writes, as an agent's shell does.
          this.#shell(`mkdir -p "$(dirname "$1")" && echo ${this.#content++} >> "$1"`, path);
          return [path];
        case 11:
          this.#shell('mv -f "$1" "$2"', path, other);
          return [path, other];
        case 12:
          // The agent's own commits stay where they are.
          if (this.#isRepository) f.git("add", "-A");
          if (this.#isRepository && this.#below(2) === 0) f.git("commit", "-q", "-m", "the agent's");
          return [];
        default:
          this.#write(path);
          return [path];
      }
    } catch {
      // The file system refuses it; some of it may have happened.
      return [path, other];
    }
  }

  #shell(script: string, ...paths: string[]): void {
    execFileSync("/bin/sh", ["-c", script, "sh", ...paths], { cwd: this.f.work, stdio: "ignore" });
  }

  /** A person works between two turns. */
  #persons(): void {
    const { f } = this;
    for (let steps = this.#below(4); steps > 0; steps--) {
      const path = this.#below(4) === 0 ? names[this.#below(names.length)]! : `person/${"abc"[this.#below(3)]}.txt`;
      const kind = this.#below(10);
      this.#log.push(`person ${kind} ${path}`);
      try {
        if (kind === 0) rmSync(join(f.work, path), { recursive: true });
        else if (kind === 1) utimesSync(join(f.work, path), 1, 1);
        else if (kind === 2) f.write("b/persons.log", `${this.#content++}\n`);
        else if (this.#isRepository && kind === 3) f.git("add", "-A");
        else if (this.#isRepository && kind === 4) f.commitAll();
        else if (this.#isRepository && kind === 5) f.git("stash", "-q", "-u");
        else if (this.#isRepository && kind === 6) f.git("reset", "-q", "--hard");
        else if (this.#isRepository && kind === 7) {
          f.git("reflog", "expire", "--expire=now", "--all");
          f.git("gc", "-q", "--prune=now");
        } else this.#write(path);
      } catch {
        // Nothing is there to do it with.
      }
    }
  }

  async #rewind(): Promise<void> {
    const store = await this.#open();
    const to = this.#below(this.#line.length + 1);
    const goal = to === 0 ? 0 : this.#line[to - 1]!.number;
    const unclaimed = this.#below(4) === 0;
    const keepTheirs = this.#below(2) === 0;
    this.#log.push(`rewind to ${goal}${unclaimed ? ", unclaimed" : ""}${keepTheirs ? ", keeps theirs" : ""}`);
    const git = this.#gitState();
    const [all, now] = [readFiles(this.f.work), this.#visible()];
    const plan = await store.plan({ to: goal, unclaimed, keepTheirs });
    const expected = this.#expected(this.#line.slice(to), { now, unclaimed });
    equal(plan.files.map(({ path }) => path).sort(), expected.back.map(([path]) => path).sort(), "the paths of a plan");
    equal(plan.conflicts.filter((path) => !plan.in_the_way.includes(path)).sort(), expected.conflicts, "conflicts");
    equal(plan.unclaimed, expected.unclaimed, "paths of which nothing shows whose they are");
    equal(readFiles(this.f.work), all, "a dry run changed files");
    if (plan.conflicts.length > 0 && !keepTheirs) {
      const refused = await store.rewind(plan).then(() => null, (error: unknown) => error);
      if (!(refused instanceof BulkheadError) || refused.code !== "conflict") {
        throw new Error(`Not refused: ${refused}`);
      }
      equal(readFiles(this.f.work), all, "a refused rewind changed files");
      this.counts.refused++;
      return;
    }
    await store.rewind(plan);
    const want = new Map(all);
    for (const [path] of expected.back) want.delete(path);
    for (const [path, state] of expected.back) if (state !== null) want.set(path, state);
    const done = readFiles(this.f.work);
    equal(done, want, "a rewind");
    equal(this.#gitState(), git, "HEAD, index, branches or stash");
    this.counts.rewinds++;
    const line = this.#line;
    this.#line = line.slice(0, to);
    // A person's edit in the midst of a turn goes only where that is asked for, and comes back.
    const persons = expected.back.filter(([path]) => line.slice(to).some((turn) => turn.persons.has(path)));
    this.counts.personsBack += persons.length;
    if (persons.length > 0 || this.#below(2) === 0) await this.#undo(store, { all, line });
  }

  async #undo(store: CheckpointStore, { all, line }: { all: Files; line: SeenTurn[] }): Promise<void> {
    this.#log.push("undo");
    const plan = await store.plan({ undo: true });
    equal(plan.conflicts, [], "conflicts of an undo");
    await store.rewind(plan);
    equal(readFiles(this.f.work), all, "an undo");
    this.#line = line;
    this.counts.undone++;
  }

  /** Works out, from this test's own looks, which paths go back to what. */
  #expected(
    turns: readonly SeenTurn[],
    { now, unclaimed }: { now: Files; unclaimed: boolean },
  ): { back: [string, string | null][]; conflicts: string[]; unclaimed: string[] } {
    const mine = new Map<string, string | null>();
    const theirs = new Set<string>();
    const outside = new Set<string>();
    const nobodys = new Set<string>();
    let last = turns === this.#line || turns.length === this.#line.length
      ? null
      : this.#line[this.#line.length - turns.length - 1]!.after;
    for (const { number, before, after, persons } of turns) {
      if (last !== null) { for (const path of changedBetween(last, before)) outside.add(path); }
      const open = this.#openPaths(number);
      for (const path of changedBetween(before, after)) {
        const isPersons = persons.has(path);
        const isOpen = open.has(path);
        if (isPersons && !isOpen) throw new Error(`A person's "${path}" in turn ${number} counts as the agent's.`);
        if (isOpen) this.counts.unclaimed++;
        if (!isPersons && isOpen && after.has(path)) throw new Error(`The agent's "${path}" counts as nobody's.`);
        if (isOpen && !unclaimed) nobodys.add(path);
        else if (!mine.has(path)) mine.set(path, before.get(path) ?? null);
      }
      last = after;
    }
    if (last !== null) { for (const path of changedBetween(last, now)) outside.add(path); }
    for (const path of [...outside, ...nobodys]) theirs.add(path);
    const differing = [...mine].filter(([path, state]) => (now.get(path) ?? null) !== state);
    const stays = new Set(theirs);
    const isFree = ([path]: [string, string | null]) => ![...stays].some((one) => overlaps(one, path));
    for (let known = -1; known !== stays.size;) {
      known = stays.size;
      for (const one of mine) if (!isFree(one)) stays.add(one[0]);
    }
    const inTheWay = (path: string, state: string | null) =>
      state !== null && !now.has(path) && this.#isBlocked(path, new Set(mine.keys()));
    return {
      back: differing.filter(isFree).filter(([path, state]) => !inTheWay(path, state)),
      conflicts: differing.filter((one) => !isFree(one)).map(([path]) => path).sort(),
      unclaimed: [...nobodys].filter((path) => !mine.has(path) && !outside.has(path)).sort(),
    };
  }

  /** Whether something that git ignores stands where a file comes back. */
  #isBlocked(path: string, mine: ReadonlySet<string>): boolean {
    const at = join(this.f.work, path);
    if (!existsSync(at) || !lstatSync(at).isDirectory()) return this.#isThere(path);
    return [...readFiles(at).keys()].some((below) => !mine.has(`${path}/${below}`));
  }

  #isThere(path: string): boolean {
    try {
      return !lstatSync(join(this.f.work, path)).isDirectory();
    } catch {
      return false;
    }
  }

  /** Paths of a turn that the store says are nobody's. */
  #openPaths(turn: number): Set<string> {
    const file = join(this.f.root, "checkpoints/c1/turns", `${turn}.json`);
    if (!existsSync(file)) return new Set();
    const { unclaimed } = JSON.parse(readFileSync(file, "utf8")) as { unclaimed: string[] };
    return new Set(unclaimed.map((key) => new TextDecoder().decode(Uint8Array.from(key, (one) => one.charCodeAt(0)))));
  }

  /** The files that git sees: tracked ones, and others that are not ignored. */
  #visible(): Files {
    const all = readFiles(this.f.work);
    const tracked = new Set(
      this.#isRepository ? this.f.git("ls-files", "-z", "-c", "-i", "--exclude-standard").split("\0") : [],
    );
    return new Map([...all].filter(([path]) => tracked.has(path) || !/\.log$|(?:^|\/)build\//.test(path)));
  }

  #gitState(): string[] {
    if (!this.#isRepository) return [];
    const { f } = this;
    return [
      f.git("rev-parse", "HEAD"),
      f.git("for-each-ref"),
      f.git("stash", "list"),
      createHash("sha256").update(readFileSync(join(f.work, ".git/index"))).digest("hex"),
    ];
  }

  /** Writes new content; false where a folder or a file is in the way. */
  #write(path: string): boolean {
    const lines = 1 + this.#below(40);
    try {
      this.f.write(path, `${this.#content++} ${path}\n`.repeat(lines));
      return true;
    } catch {
      return false;
    }
  }
}

const names = [
  "a.txt",
  "A.txt",
  "b/one.txt",
  "b/two.txt",
  "d/c.txt",
  "d/e/f.txt",
  "d/e/g.txt",
  "i j.txt",
  "bin/run",
  "ü.txt",
  "deep/er/x.txt",
];

function overlaps(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}

function changedBetween(before: Files, after: Files): Set<string> {
  return new Set([...before.keys(), ...after.keys()].filter((path) => before.get(path) !== after.get(path)));
}

function equal(found: unknown, wanted: unknown, what: string): void {
  const text = (value: unknown) => JSON.stringify(value instanceof Map ? [...value].sort() : value, null, 1);
  if (text(found) !== text(wanted)) throw new Error(`${what}: found ${text(found)}, wanted ${text(wanted)}`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
