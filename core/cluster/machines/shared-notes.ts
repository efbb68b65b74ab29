import { wait } from "../../ground/platform/engine/wait.ts";
import { type Engine, StaleError } from "../engine/engine.ts";
import type { NoteNames } from "../engine/names.ts";
import { throughElection } from "../engine/through-election.ts";

/** A note that all machines have: the last one of a kind and a name counts. */
export interface Note {
  /** As `owner`, `token`, `claim` or `failed`. */
  kind: string;
  name: string;
  text: string;
}

interface NoteWatcher {
  /**
   * @param seq its number in the stream
   * @throws {TypeError} for a note that cannot be used: it is dropped, and the log says so
   */
  heard(note: Note, seq: number): void;
  /** Called when the servers have lost all notes: they are numbered from 1 again. */
  lost?(): void;
}

interface SharedNotesOptions {
  names: NoteNames;
  /** How long a note is kept. Milliseconds. */
  keptMs: number;
}

/** Wait before the notes are read on after the servers have let go of this machine. Milliseconds. */
const pauseMs = 200;
/** Most attempts to be the one that sets a note, against others that set one. */
const mostTries = 50;

/** Names a kind of notes in the log; another machine may have written anything there. */
export function noteWords(kind: string): string {
  return `A note "${kind.slice(0, 32)}" of another machine`;
}

/** Short texts that the machines of a cluster share: each hears them all, in the same order. */
export class SharedNotes {
  readonly #engine: Engine;
  readonly #names: NoteNames;
  readonly #keptMs: number;
  readonly #watchers = new Set<NoteWatcher>();
  /** Number of the last note when this machine came. */
  #newest = 0;
  #seq = 0;
  /** Of the stream that {@link SharedNotes.seq} counts. */
  #createdAt = "";
  #caughtUp: () => void = () => {};
  /** Resolves once the notes that were there when this machine came were read. */
  readonly caughtUp: Promise<void> = new Promise((resolve) => (this.#caughtUp = resolve));

  constructor(engine: Engine, { names, keptMs }: SharedNotesOptions) {
    this.#engine = engine;
    this.#names = names;
    this.#keptMs = keptMs;
  }

  /** Number of the note that was heard last. */
  get seq(): number {
    return this.#seq;
  }

  async open(): Promise<void> {
    const { stream: name, subjects } = this.#names;
    const { createdAt, lastSeq, messages } = await this.#engine.makeStream({
      name,
      subjects,
      maxAgeMs: this.#keptMs,
      perSubject: 1,
    });
    this.#createdAt = createdAt;
    this.#newest = lastSeq;
    // Notes that were too old have left their numbers behind.
    if (messages === 0) this.#seq = lastSeq;
    if (messages === 0) this.#caughtUp();
  }

  /** Reports each note, the existing ones first. */
  watch(watcher: NoteWatcher): void {
    this.#watchers.add(watcher);
  }

  async follow(signal: AbortSignal): Promise<void> {
    const { stream } = this.#names;
    while (!signal.aborted) {
      await this.#engine.whenConnected(signal);
      try {
        // Before each reading: one that waits for the next number of lost notes hears none of the new ones.
        await this.#restartWhereLost();
        for await (const message of this.#engine.read({ stream, fromSeq: this.#seq + 1, signal })) {
          this.#seq = message.seq;
          const [kind, name] = this.#names.of(message.subject);
          const note = { kind, name, text: new TextDecoder().decode(message.data) };
          for (const watcher of this.#watchers) this.#tell(watcher, note, message.seq);
          if (message.seq >= this.#newest) this.#caughtUp();
        }
        await wait(pauseMs, signal);
      } catch {
        await wait(pauseMs, signal);
      }
    }
  }

  /** Sets a note, new or not; returns its number. */
  async set(note: Note): Promise<number> {
    return await this.#append(note);
  }

  /**
   * Sets a note if no note was set since a number.
   * @throws {StaleError}
   */
  async setAfter(note: Note, lastSeq: number): Promise<number> {
    return await this.#append(note, lastSeq);
  }

  async get(kind: string, name: string): Promise<string | null> {
    const found = await this.#ask(() => this.#engine.lastOf(this.#names.stream, this.#names.subject(kind, name)));
    return found === null || found.data.byteLength === 0 ? null : new TextDecoder().decode(found.data);
  }

  /**
   * Sets a note if it is still as the caller knows it.
   * @param known its text; null: there is none
   * @returns the text that counts from now on: the caller's, or that of a faster machine
   */
  async claim({ name, text }: Pick<Note, "name" | "text">, known: string | null): Promise<string> {
    for (let tries = 0;; tries++) {
      // Read before the note is: a note that is set in between makes the number stale.
      const { lastSeq = 0 } = await this.#ask(() => this.#engine.stream(this.#names.stream)) ?? {};
      const current = await this.get("claim", name);
      if (current !== known && current !== null) return current;
      try {
        await this.#append({ kind: "claim", name, text }, lastSeq);
        return text;
      } catch (error) {
        if (!(error instanceof StaleError) || tries === mostTries) throw error;
      }
    }
  }

  async #append({ kind, name, text }: Note, lastSeq?: number): Promise<number> {
    const message = { subject: this.#names.subject(kind, name), headers: {}, data: text };
    return await this.#ask(() => this.#engine.append(message, lastSeq));
  }

  /** A note that was set although its answer was lost is the caller's own, or makes the number stale. */
  #ask<T>(ask: () => Promise<T>): Promise<T> {
    return throughElection(this.#engine, ask);
  }

  /** A note that one watcher cannot take costs neither the others nor the notes after it. */
  #tell(watcher: NoteWatcher, note: Note, seq: number): void {
    try {
      watcher.heard(note, seq);
    } catch (error) {
      this.#engine.dropped.tell(noteWords(note.kind), error instanceof Error ? error.message : String(error));
    }
  }

  /** Servers that have lost the notes number them from 1 again; by now there may be more than there were before. */
  async #restartWhereLost(): Promise<void> {
    const state = await this.#engine.stream(this.#names.stream);
    if (state !== null && state.createdAt === this.#createdAt && state.lastSeq >= this.#seq) return;
    if (state === null) await this.open();
    else this.#createdAt = state.createdAt;
    this.#seq = 0;
    for (const watcher of this.#watchers) watcher.lost?.();
  }
}
