import { wait } from "../../ground/runtime/wait.ts";
import { type Engine, StaleError } from "../engine/engine.ts";

/** A note that all machines have: the last one of a name counts. */
export interface Note {
  kind: NoteKind;
  name: string;
  text: string;
}

/** Subject of a note: who started a session, who may come in, and what was claimed or has failed. */
export type NoteKind = "owner" | "token" | "claim" | "failed";

/** How long a note is kept. Milliseconds. */
const keptMs = 400 * 24 * 3_600_000;
/** Wait before the notes are read on after the servers have let go of this machine. Milliseconds. */
const pauseMs = 200;
/** Most attempts to be the one that sets a note, against others that set one. */
const mostTries = 50;

/** Short facts that the machines of a cluster share: each has them all, and one machine at a time sets one. */
export class SharedNotes {
  readonly #engine: Engine;
  readonly #watchers = new Set<(note: Note) => void>();
  /** Number of the last note when this machine came. */
  #newest = 0;
  #seq = 0;
  #caughtUp: () => void = () => {};
  /** Resolves once the notes that were there when this machine came were read. */
  readonly caughtUp: Promise<void> = new Promise((resolve) => (this.#caughtUp = resolve));

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Makes the stream of the notes. */
  async open(): Promise<void> {
    const { notes: name, noteSubjects: subjects } = this.#engine.names;
    const { lastSeq } = await this.#engine.makeStream({ name, subjects, maxAgeMs: keptMs, perSubject: 1 });
    this.#newest = lastSeq;
    if (lastSeq === 0) this.#caughtUp();
  }

  /** Calls back for each note, those that are there first. */
  watch(heard: (note: Note) => void): void {
    this.#watchers.add(heard);
  }

  /** Reads the notes until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const { names } = this.#engine;
    while (!signal.aborted) {
      await this.#engine.whenConnected(signal);
      const over = new AbortController();
      const end = () => over.abort();
      signal.addEventListener("abort", end, { once: true });
      const unwatch = this.#engine.onConnection(end);
      try {
        for await (const message of this.#engine.read(names.notes, this.#seq + 1, over.signal)) {
          this.#seq = message.seq;
          const [kind, name] = names.noteOf(message.subject);
          const note = { kind: kind as NoteKind, name, text: new TextDecoder().decode(message.data) };
          for (const watcher of this.#watchers) watcher(note);
          if (message.seq >= this.#newest) this.#caughtUp();
        }
        await wait(pauseMs, signal);
      } catch {
        await wait(pauseMs, signal);
        // Servers that have lost the notes number them from 1 again.
        const state = await this.#engine.stream(names.notes).catch(() => undefined);
        if (state === null) await this.open().catch(() => undefined);
        if (state === null || (state !== undefined && state.lastSeq < this.#seq)) this.#seq = 0;
      } finally {
        unwatch();
        signal.removeEventListener("abort", end);
      }
    }
  }

  /** Sets a note, whatever it was. */
  async set({ kind, name, text }: Note): Promise<void> {
    await this.#engine.append({ subject: this.#engine.names.note(kind, name), headers: {}, data: text });
  }

  /** Returns a note; null when there is none. */
  async get(kind: NoteKind, name: string): Promise<string | null> {
    const { names } = this.#engine;
    const found = await this.#engine.lastOf(names.notes, names.note(kind, name));
    return found === null || found.data.byteLength === 0 ? null : new TextDecoder().decode(found.data);
  }

  /**
   * Sets a note if it is still as the caller knows it.
   * @param known its text; null: there is none
   * @returns the text that counts from now on: the caller's, or that of a faster machine
   */
  async claim({ name, text }: Pick<Note, "name" | "text">, known: string | null): Promise<string> {
    const { names } = this.#engine;
    const subject = names.note("claim", name);
    for (let tries = 0;; tries++) {
      // Read before the note is: a note that is set in between makes the number stale.
      const { lastSeq = 0 } = await this.#engine.stream(names.notes) ?? {};
      const current = await this.get("claim", name);
      if (current !== known && current !== null) return current;
      try {
        await this.#engine.append({ subject, headers: {}, data: text }, lastSeq);
        return text;
      } catch (error) {
        if (!(error instanceof StaleError) || tries === mostTries) throw error;
      }
    }
  }
}
