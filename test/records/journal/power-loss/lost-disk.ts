import { Buffer } from "node:buffer";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** One line of the record that `record-writes.c` makes. */
export interface Change {
  /** Of `c`reate, `w`rite, `t`runcate, `s`ync, `e`nd of a sync, `r`ename, `l`ink and `u`nlink. */
  kind: string;
  path: string;
  /** Offset, size or number of a sync. */
  at: number;
  data: Buffer;
}

/** Reads a record. */
export function changesOf(record: Buffer): Change[] {
  const changes: Change[] = [];
  for (let at = 0; at < record.length;) {
    const pathBytes = record.readUInt32LE(at + 4);
    const bytes = record.readUInt32LE(at + 16);
    const path = at + 24;
    changes.push({
      kind: String.fromCharCode(record[at]!),
      path: record.toString("utf8", path, path + pathBytes),
      at: Number(record.readBigUInt64LE(at + 8)),
      data: record.subarray(path + pathBytes, path + pathBytes + bytes),
    });
    at = path + pathBytes + bytes;
  }
  return changes;
}

/** Content of a file: what is on the disk, and the changes that are not. */
interface Content {
  lasting: Buffer;
  pending: Change[];
}

/**
 * A disk that loses at a power loss all that no sync has brought to it: changes of a file, and new, changed and removed
 * names of a folder. What a sync brings to it is what was there when the sync began.
 */
export class LostDisk {
  #names = new Map<string, Content>();
  #lastingNames = new Map<string, Content>();
  readonly #syncs = new Map<number, () => void>();

  apply(change: Change): void {
    const { kind, path, at, data } = change;
    if (kind === "c") this.#names.set(path, { lasting: Buffer.alloc(0), pending: [] });
    else if (kind === "w" || kind === "t") this.#contentOf(path).pending.push(change);
    else if (kind === "s") this.#syncs.set(at, this.#beginSync(path));
    else if (kind === "e") this.#syncs.get(at)?.();
    else if (kind === "u") this.#names.delete(path);
    else {
      this.#names.set(data.toString(), this.#contentOf(path));
      if (kind === "r") this.#names.delete(path);
    }
  }

  /**
   * Writes into a folder what is left after a power loss.
   * @param survives whether a change is there although no sync brought it
   */
  async leave(folder: string, survives: () => boolean): Promise<void> {
    await mkdir(folder, { recursive: true });
    for (const [path, { lasting, pending }] of this.#lastingNames) {
      await writeFile(join(folder, basename(path)), applied(lasting, pending.filter(survives)));
    }
  }

  #contentOf(path: string): Content {
    // A file that was removed is still written through an open descriptor, and is gone all the same.
    return this.#names.get(path) ?? { lasting: Buffer.alloc(0), pending: [] };
  }

  #beginSync(path: string): () => void {
    const content = this.#names.get(path);
    if (content === undefined) {
      const names = new Map([...this.#names].filter(([name]) => dirname(name) === path));
      return () => void (this.#lastingNames = names);
    }
    const covered = content.pending.length;
    return () => {
      // Of two syncs at once, the first to end may have brought all of it.
      content.lasting = applied(content.lasting, content.pending.splice(0, covered));
    };
  }
}

function applied(before: Buffer, changes: readonly Change[]): Buffer {
  const ends = changes.map(({ kind, at, data }) => kind === "w" ? at + data.length : at);
  const content = Buffer.alloc(Math.max(before.length, ...ends));
  before.copy(content);
  let size = before.length;
  for (const { kind, at, data } of changes) {
    if (kind === "w") {
      if (at > size) content.fill(0, size, at);
      data.copy(content, at);
      size = Math.max(size, at + data.length);
    } else {
      if (at > size) content.fill(0, size, at);
      size = at;
    }
  }
  return content.subarray(0, size);
}
