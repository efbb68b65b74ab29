import { keepNewest } from "./keep-newest.ts";

/** The tree of one index, for those who make it and for those who look whether it is known. */
interface KnownTree {
  get(): string | undefined;
  set(tree: string): void;
}

/** Indexes that are kept in mind. */
const mostKnown = 64;

/** The trees that git wrote of indexes: as long as a user's index is the same file, a run of git less. */
export class KnownTrees {
  readonly #trees = new Map<string, string>();

  /** @param mark changes with the index */
  of(mark: string): KnownTree {
    return {
      get: () => this.#trees.get(mark),
      set: (tree) => keepNewest(this.#trees, [mark, tree], mostKnown),
    };
  }
}
