import { markOf } from "../../ground/platform/files/file-mark.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { findRepository, type GitPlace, readHead, readSettings, type Repository } from "./find-repository.ts";

interface RepositoryFacts {
  /** Null for a plain folder. */
  repository: Repository | null;
  /** As {@link readSettings} returns them. */
  settings: ReadonlyMap<string, string>;
}

interface Known {
  facts: RepositoryFacts & { repository: Repository };
  askedAt: number;
  /** Files and folders that decide about the answers. */
  paths: readonly string[];
  /** How they were when git was asked. */
  mark: string;
}

/** Repositories that are kept in mind. */
const mostKnown = 64;

/** A repository whose settings come from more files is not kept: it would cost more to look at them than to ask git. */
const mostFiles = 32;

/** After this time git is asked again, as a file of settings may appear where only git looks. Milliseconds. */
const askAgainMs = 60_000;

/**
 * Keeps the answers of git about repositories for the sessions that follow there, which saves two runs of git each. An
 * answer counts as long as no file has changed that decides about it. Only the tops of repositories are kept; elsewhere
 * a repository may appear in any folder between.
 */
export class KnownRepositories {
  readonly trees: KnownTrees = new KnownTrees();
  readonly #known = new Map<string, Known>();

  /**
   * Finds the repository of a working directory, and its settings.
   * @throws {BulkheadError} as {@link findRepository} and {@link readSettings}
   */
  async find(place: GitPlace): Promise<RepositoryFacts> {
    const known = this.#known.get(place.workdir);
    if (known !== undefined && Date.now() - known.askedAt < askAgainMs && known.mark === await markOf(known.paths)) {
      const { repository, settings } = known.facts;
      return { repository: { ...repository, head: await readHead(place, repository) }, settings };
    }
    return await this.#ask(place);
  }

  async #ask(place: GitPlace): Promise<RepositoryFacts> {
    const askedAt = Date.now();
    const [repository, { settings, files }] = await Promise.all([findRepository(place), readSettings(place)]);
    this.#known.delete(place.workdir);
    if (repository === null || repository.prefix !== "" || files.length > mostFiles) return { repository, settings };
    const { gitDir, commonDir } = repository;
    const own = [join(commonDir, "config"), join(gitDir, "config.worktree")];
    const paths = [...new Set([join(place.workdir, ".git"), gitDir, commonDir, ...own, ...files])];
    const mark = await markOf(paths, { before: askedAt });
    if (mark !== null) {
      keepNewest(this.#known, [place.workdir, { facts: { repository, settings }, askedAt, paths, mark }], mostKnown);
    }
    return { repository, settings };
  }
}

interface IndexFacts {
  tree: string;
  /** Whether no entry is marked as assumed unchanged, which git would not look at; absent: not asked yet. */
  assumesNothing?: boolean;
}

/** The facts of one index, for those who find them out and for those who look whether they are known. */
interface KnownTree {
  get(): IndexFacts | undefined;
  set(facts: IndexFacts): void;
}

/** Indexes that are kept in mind. */
const mostKnownTrees = 64;

/** The trees that git wrote of indexes: as long as a user's index is the same file, two runs of git less. */
export class KnownTrees {
  readonly #trees = new Map<string, IndexFacts>();

  /** @param mark changes with the index */
  of(mark: string): KnownTree {
    return {
      get: () => this.#trees.get(mark),
      set: (facts) => keepNewest(this.#trees, [mark, facts], mostKnownTrees),
    };
  }
}

/** Puts an entry at the end of a map, and drops the oldest ones beyond so many. */
function keepNewest<K, V>(map: Map<K, V>, [key, value]: readonly [K, V], most: number): void {
  map.delete(key);
  map.set(key, value);
  for (const [oldest] of [...map].slice(0, -most)) map.delete(oldest);
}
