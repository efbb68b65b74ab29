import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { cachedDataVersionTag } from "node:v8";
import { Script } from "node:vm";
import { withBootFlags } from "./boot-flags.ts";
import { stateFolders } from "../state/state-folders.ts";

/** How much of a program has run: `all` includes what only a host needs. */
export type CodeReach = "part" | "all";

interface KeptCodeOptions {
  /** Names the way through the program: each has code of its own, or none would have what it needs. */
  way: string;
  /** Absolute path; made when it is missing. */
  folder?: string;
  /** Names the build of the runtime. Default: this process's own. */
  build?: string;
}

/** Code of so many scripts is kept; what was written first goes first. */
const mostKept = 24;

/**
 * Loads scripts in the old form with the machine code that an earlier run of the same way left, so that the engine need
 * not compile them again. A script's name must change with its content.
 *
 * The code lies in the state folder, which no grant opens: it is run without another look.
 */
export class KeptCode {
  readonly #folder: string;
  readonly #way: string;
  /** The engine refuses code that was made with other flags: beside each other, both are kept. */
  readonly #engine = cachedDataVersionTag();
  readonly #build: string;
  readonly #scripts = new Map<string, { script: Script; module: { exports: unknown }; kept: CodeReach | null }>();

  constructor({ way, folder = join(stateFolders().state, "code"), build = ownBuild() }: KeptCodeOptions) {
    this.#folder = folder;
    this.#way = way;
    this.#build = build;
  }

  /** Loads a script, once, and returns what it exports. What it requires beside itself is loaded likewise. */
  load(file: string): unknown {
    const known = this.#scripts.get(file);
    if (known !== undefined) return known.module.exports;
    // In the old form every byte is a character: the build escapes all others.
    const source = readFileSync(file, "latin1");
    const { kept, code } = this.#find(file);
    const script = new Script(`(function(exports,require,module,__filename,__dirname){${source}\n})`, {
      filename: file,
      cachedData: code,
    });
    const module = { exports: {} };
    this.#scripts.set(file, { script, module, kept: script.cachedDataRejected === false ? kept : null });
    const folder = dirname(file);
    const requireOther = createRequire(file);
    const require = (name: string): unknown =>
      /^\.\/[\w-]+\.cjs$/.test(name) ? this.load(join(folder, name)) : requireOther(name);
    script.runInThisContext()(module.exports, require, module, file, folder);
    return module.exports;
  }

  /**
   * Keeps the code for the next run, where less is kept. A folder that cannot be written costs nothing but time.
   * @returns whether there was some to keep
   */
  keep(reach: CodeReach): boolean {
    const lacking = [...this.#scripts].filter(([, { kept }]) => kept !== "all" && kept !== reach);
    if (lacking.length === 0) return false;
    // The engine refuses code that was made with other flags than it is loaded with.
    withBootFlags(() => cachedDataVersionTag() === this.#engine, () => {
      try {
        for (const [file, { script }] of lacking) this.#write(this.#fileOf(file, reach), script.createCachedData());
      } catch {
        // Done another time.
      }
    });
    return true;
  }

  #find(file: string): { kept: CodeReach; code: Uint8Array } | { kept: null; code?: undefined } {
    if (!this.#isOurs()) return { kept: null };
    for (const kept of ["all", "part"] as const) {
      try {
        return { kept, code: readFileSync(this.#fileOf(file, kept)) };
      } catch {
        // Not kept yet.
      }
    }
    return { kept: null };
  }

  /** Whether no other user could have put code there. */
  #isOurs(): boolean {
    const info = statSync(this.#folder, { throwIfNoEntry: false });
    if (info === undefined) return false;
    return process.getuid === undefined || (info.uid === process.getuid() && (info.mode & 0o022) === 0);
  }

  #write(file: string, code: Uint8Array): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    if (!this.#isOurs()) return;
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, code, { mode: 0o600 });
    renameSync(draft, file);
    const all = readdirSync(this.#folder).map((name) => join(this.#folder, name));
    const written = all.map((path) => ({ path, at: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }));
    for (const { path } of written.sort((a, b) => b.at - a.at).slice(mostKept)) rmSync(path, { force: true });
  }

  #fileOf(file: string, reach: CodeReach): string {
    const engine = `${this.#build}-${this.#engine.toString(16)}`;
    return join(this.#folder, `${basename(file, ".cjs")}-${engine}-${this.#way}-${reach}`);
  }
}

/** Names the runtime's version and executable: a process may die from the code of another release (Node 20). */
function ownBuild(): string {
  const { size = 0, mtimeMs = 0 } = statSync(process.execPath, { throwIfNoEntry: false }) ?? {};
  return `${process.version}-${size.toString(16)}-${Math.trunc(mtimeMs).toString(16)}`;
}
