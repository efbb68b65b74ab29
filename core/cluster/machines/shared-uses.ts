import { longestLimitMs } from "../../sessions/routing/access-mode-counters.ts";
import { parseUses, type UseRecord, usesText, type UseStore } from "../../sessions/routing/use-files.ts";
import type { Engine } from "../engine/engine.ts";
import { noteWords, SharedNotes } from "./shared-notes.ts";

/** Kind of the notes. */
const kind = "modes";

/** Counts of uses of each access mode by all machines, also those that are gone. Each tells its own counts. */
export class SharedUses {
  readonly #engine: Engine;
  readonly #machine: string;
  readonly #notes: SharedNotes;
  readonly #texts = new Map<string, string>();
  readonly #read = new Map<string, UseRecord[]>();
  #own: string | null = null;
  #telling: Promise<unknown> | null = null;

  constructor(engine: Engine, machine: string) {
    this.#engine = engine;
    this.#machine = machine;
    this.#notes = new SharedNotes(engine, { names: engine.names.uses, keptMs: longestLimitMs });
    this.#notes.watch({
      heard: ({ name, text }) => {
        if (name === machine) return;
        this.#texts.set(name, text);
        this.#read.delete(name);
      },
      lost: () => {
        this.#texts.clear();
        this.#read.clear();
        this.#tell();
      },
    });
    engine.onConnection((connected) => connected ? this.#tell() : undefined);
  }

  /** Makes the stream of the counts. */
  async open(): Promise<void> {
    await this.#notes.open();
  }

  /** Hears the counts of the other machines until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    await this.#notes.follow(signal);
  }

  /** Adds the other machines' counts to those that the files have. */
  store(files: UseStore): UseStore {
    return {
      readOwn: () => files.readOwn(),
      readOthers: async () => [...await files.readOthers(), ...this.#others()],
      write: async (uses) => {
        this.#own = usesText(uses);
        this.#tell();
        await files.write(uses);
      },
    };
  }

  #others(): UseRecord[] {
    for (const [machine, text] of this.#texts) {
      if (this.#read.has(machine)) continue;
      const uses = parseUses(text);
      if (uses === null) this.#engine.dropped.tell(noteWords(kind), "its counts are none");
      this.#read.set(machine, uses ?? []);
    }
    return [...this.#read.values()].flat();
  }

  /** Tells the newest counts; those that come meanwhile are told after them. */
  #tell(): void {
    if (this.#telling !== null || this.#own === null) return;
    const text = this.#own;
    // Counts that cannot be told now are told with the next ones, or when the servers are back.
    this.#telling = this.#notes.set({ kind, name: this.#machine, text }).catch(() => undefined).finally(() => {
      this.#telling = null;
      if (this.#own !== text) this.#tell();
    });
  }
}
