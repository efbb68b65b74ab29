import { chmod, mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { randomId } from "./hash.ts";
import { removeSmallTree, removeTree } from "./remove-tree.ts";

/**
 * Takes folders that nothing needs any more and removes them in the background: their names are free at once. What is left
 * when the host ends, the next host removes.
 */
export class Trash {
  readonly #folder: string;
  readonly #onFailure: (error: unknown) => void;
  readonly #removing = new Set<Promise<void>>();

  /** @param folder on the same file system as what it takes; made on first use */
  constructor(folder: string, { onFailure }: { onFailure(error: unknown): void }) {
    this.#folder = folder;
    this.#onFailure = onFailure;
  }

  /**
   * Takes a folder; resolves when its name is free. Few entries are removed at once.
   * @throws {BulkheadError} `io_error` when it can be neither removed nor moved
   */
  async take(folder: string): Promise<void> {
    if (await removeSmallTree(folder).catch(() => false)) return;
    const at = join(this.#folder, randomId());
    await mkdir(this.#folder, { recursive: true, mode: 0o700 }).catch(() => {});
    const isMoved = await moved(folder, at) || await chmod(folder, 0o700).then(() => moved(folder, at), () => false);
    if (isMoved) this.#remove(at);
    else await removeTree(folder);
  }

  /** Removes what an earlier host left. Never throws. */
  async empty(): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) this.#remove(join(this.#folder, name));
  }

  /** Resolves when nothing is being removed. */
  async settled(): Promise<void> {
    await Promise.all(this.#removing);
  }

  #remove(folder: string): void {
    const removing = removeTree(folder).catch(this.#onFailure).finally(() => this.#removing.delete(removing));
    this.#removing.add(removing);
  }
}

/** A folder that is closed to its own user cannot be moved. */
function moved(from: string, to: string): Promise<boolean> {
  return rename(from, to).then(() => true, () => false);
}
