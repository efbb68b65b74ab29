import { nullIfMissing } from "../../ground/errors/write-fault.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Limits } from "../../ground/config/limits.ts";
import { lstat, readdir } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { Turns } from "../../ground/platform/engine/turns.ts";

/** Content of a folder: bytes of its files, and number of entries in it and all folders below. */
interface Amount {
  bytes: number;
  entries: number;
}

interface Count extends Amount {
  /** Time by `performance.now()`. */
  measuredAt: number;
}

/** Age after which the folder is measured again, because programs may have written there as well. Milliseconds. */
const freshMs = 30_000;

/**
 * Limits each plugin's data folder, over all its sessions. Measures the folder at the first write, when the count is
 * old, and before refusing a write.
 */
class DataQuotas {
  readonly #counts = new Map<string, Count>();
  /** One write at a time: measuring a folder during another write would give a wrong count. */
  readonly #turns = new Turns(1);

  /**
   * Does a write in its turn, and counts it.
   * @param folder the data folder, as a real path
   * @throws {BulkheadError} `limit_exceeded`, and errors of `act`
   */
  write<T>(folder: string, { measureAdded, limits, act }: DataWriteOptions<T>): Promise<T> {
    return this.#turns.take(folder, async () => {
      const added = await measureAdded();
      let count = await this.#countOf(folder, freshMs);
      if (exceeds(count, { added, limits })) count = await this.#countOf(folder, 0);
      if (exceeds(count, { added, limits })) throw fullError(limits);
      // A failed write may have done a part, for example its folders.
      this.#counts.delete(folder);
      const done = await act();
      count.bytes += added.bytes;
      count.entries += added.entries;
      this.#counts.set(folder, count);
      return done;
    });
  }

  /** Removes something in its turn, and counts that; `act` returns the removed amount. */
  remove(folder: string, act: () => Promise<Amount>): Promise<void> {
    return this.#turns.take(folder, async () => {
      const gone = await act();
      const count = this.#counts.get(folder);
      if (count === undefined) return;
      count.bytes -= gone.bytes;
      count.entries -= gone.entries;
    });
  }

  async #countOf(folder: string, maxAgeMs: number): Promise<Count> {
    const known = this.#counts.get(folder);
    if (known !== undefined && performance.now() - known.measuredAt < maxAgeMs) return known;
    return await measure(folder);
  }
}

/** Options of one write. */
interface DataWriteOptions<T> {
  /** Called in the write's turn. */
  measureAdded(): Promise<Amount>;
  limits: Pick<Limits, "data_bytes" | "data_entries">;
  act(): Promise<T>;
}

/** The data folders of all plugins. */
export const dataQuotas: DataQuotas = new DataQuotas();

function exceeds(
  { bytes, entries }: Amount,
  { added, limits }: { added: Amount; limits: DataWriteOptions<unknown>["limits"] },
): boolean {
  // A folder beyond its limits still allows changes that shrink it.
  return (added.bytes > 0 && bytes + added.bytes > limits.data_bytes) ||
    (added.entries > 0 && entries + added.entries > limits.data_entries);
}

function fullError({ data_bytes, data_entries }: DataWriteOptions<unknown>["limits"]): BulkheadError {
  return new BulkheadError(
    "limit_exceeded",
    `Cannot write the file: the plugin's data folder would pass ${data_bytes} bytes or ${data_entries} entries.`,
    { hint: "Remove files that are not needed any more.", details: { data_bytes, data_entries } },
  );
}

async function measure(folder: string): Promise<Count> {
  const count: Count = { bytes: 0, entries: 0, measuredAt: performance.now() };
  const folders = [folder];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const entry of await readdir(at, { withFileTypes: true }).catch(nullIfMissing) ?? []) {
      const path = join(at, entry.name);
      count.entries += 1;
      if (entry.isDirectory()) folders.push(path);
      else count.bytes += (await lstat(path).catch(nullIfMissing))?.size ?? 0;
    }
  }
  return count;
}
