import { keepNewest } from "./keep-newest.ts";

/** Answers of git about one index. */
interface IndexFacts {
  /** Its tree. */
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
const mostKnown = 64;

/** The trees that git wrote of indexes: as long as a user's index is the same file, two runs of git less. */
export class KnownTrees {
  readonly #trees = new Map<string, IndexFacts>();

  /** @param mark changes with the index */
  of(mark: string): KnownTree {
    return {
      get: () => this.#trees.get(mark),
      set: (facts) => keepNewest(this.#trees, [mark, facts], mostKnown),
    };
  }
}
