import { type ArtifactList, listArtifacts } from "./artifacts.ts";
import { KnownRepositories } from "./known-repositories.ts";
import { releaseSnapshot, type Snapshot, takeSnapshot } from "./snapshot.ts";

interface SharedLookOptions {
  /** Ends this caller's wait at once, and the look when the last caller has left. */
  signal: AbortSignal;
  /** Real absolute paths to leave out. */
  exclude: readonly string[];
}

/** Looks at one thing that may be under way together; what comes later waits and shares the next one. */
const mostAtOnce = 2;

/**
 * Scans working directories. One scan serves every session that asked before it started, so a hundred sessions that start
 * together in one repository need three. A session that asks later needs a scan of its own: it would take changes from in
 * between for its agent's work.
 */
export class SharedLooks {
  readonly #folder: string;
  readonly #known = new KnownRepositories();
  readonly #befores = new Turns<Snapshot>();
  readonly #afters = new Turns<ArtifactList>();
  readonly #holders = new Map<Snapshot, number>();

  /** @param folder for the snapshots' files; made on first use */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Takes a snapshot, or shares one that has not begun; give it back by {@link release}.
   * @throws only the reason of `signal`
   */
  take(workdir: string, { signal, exclude }: SharedLookOptions): Promise<Snapshot> {
    return this.#befores.join(JSON.stringify([workdir, ...exclude]), {
      signal,
      work: (everyone) => this.#take(workdir, { exclude, signal: everyone }),
      onResult: (taken) => this.#holders.set(taken, (this.#holders.get(taken) ?? 0) + 1),
    });
  }

  /** Lists what changed since a snapshot, together with other sessions that have the same one. Never rejects. */
  list(before: Snapshot): Promise<ArtifactList> {
    return this.#afters.join(before, { work: () => listArtifacts(before) });
  }

  /** Gives a snapshot back; its files go with the last of its holders. Never rejects. */
  async release(snapshot: Snapshot): Promise<void> {
    const left = (this.#holders.get(snapshot) ?? 1) - 1;
    if (left > 0) return void this.#holders.set(snapshot, left);
    this.#holders.delete(snapshot);
    await releaseSnapshot(snapshot);
  }

  async #take(workdir: string, { exclude, signal }: SharedLookOptions): Promise<Snapshot> {
    const taken = await takeSnapshot(workdir, { scratchDir: this.#folder, exclude, signal, known: this.#known });
    if (!signal.aborted) return taken;
    await releaseSnapshot(taken);
    throw signal.reason;
  }
}

/** Work for callers that may share it. */
interface SharedWork<T> {
  /** @param everyone aborts once every caller has left */
  work(everyone: AbortSignal): Promise<T>;
  /** Called for each caller that is still there, in the moment of the result. */
  onResult?(result: T): void;
  signal?: AbortSignal;
}

interface Turn<T> {
  result: Promise<T>;
  everyone: AbortController;
  callers: number;
  begin(): void;
}

interface Line<T> {
  running: number;
  /** The turn that begins when a running one has ended. */
  next: Turn<T> | null;
}

/** Runs work by key, a few of a key at once; callers who must wait share the run that begins next. */
class Turns<T> {
  readonly #lines = new Map<unknown, Line<T>>();

  /**
   * Waits for a run that begins now or later.
   * @throws what the work throws; the reason of the caller's own signal
   */
  join(key: unknown, { work, onResult, signal }: SharedWork<T>): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const line = this.#lines.get(key) ?? { running: 0, next: null };
    this.#lines.set(key, line);
    const turn = line.next ?? this.#turn(key, { line, work });
    if (line.running < mostAtOnce) {
      line.running += 1;
      turn.begin();
    } else line.next = turn;
    turn.callers += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        turn.callers -= 1;
        reject(signal?.reason);
        if (turn.callers > 0) return;
        // One that has not begun never will: a later caller begins another.
        if (line.next === turn) line.next = null;
        turn.everyone.abort(signal?.reason);
      };
      signal?.addEventListener("abort", leave, { once: true });
      turn.result.then((result) => {
        if (signal?.aborted) return;
        signal?.removeEventListener("abort", leave);
        onResult?.(result);
        resolve(result);
      }, reject);
    });
  }

  #turn(key: unknown, { line, work }: { line: Line<T>; work: SharedWork<T>["work"] }): Turn<T> {
    const everyone = new AbortController();
    let begin = () => {};
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const result = begun.then(() => work(everyone.signal)).finally(() => this.#pass(key, line));
    return { result, everyone, callers: 0, begin };
  }

  /** Gives the place of a run that has ended to the next one. */
  #pass(key: unknown, line: Line<T>): void {
    const { next } = line;
    line.next = null;
    if (next !== null) return next.begin();
    line.running -= 1;
    if (line.running === 0) this.#lines.delete(key);
  }
}
