import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { countOf, fieldsOrNone } from "../../../plugin-sdk/json-fields.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { Sequence } from "../../ground/platform/engine/sequence.ts";
import { sleep } from "../../ground/platform/engine/wait.ts";
import type { SessionSlots } from "../../sessions/host/host-seams.ts";
import { type Engine, StaleError } from "../engine/engine.ts";
import { isMachineName } from "../engine/names.ts";
import { noteWords, SharedNotes } from "./shared-notes.ts";

interface SessionSharesDeps {
  engine: Engine;
  machine: string;
  /** Most sessions of this machine, however many the others have; null: as many as all may have. */
  slots: number | null;
  /** Sessions of each other machine that is there, as it said last. */
  sessionsOf(): ReadonlyMap<string, number>;
  /** Asks the other machines to give back what they do not use; returns the numbers of the notes that report it. */
  askForSpare(): Promise<number[]>;
}

/** Kind of the notes. */
const kind = "sessions";
/** Age at which a share of a machine that is gone for good is forgotten. Milliseconds. */
const keptMs = 400 * 24 * 3_600_000;
/** Most slots that a machine takes beyond those that it needs now, so that most starts need no request. */
const mostAhead = 32;
/** Part of the free slots that it takes beyond them. */
const aheadPart = 16;
/** Wait before unused slots are given back. Milliseconds. */
const giveBackMs = 1000;
/** Most attempts to change the share, against other machines that change theirs. */
const mostTries = 100;
/** Longest wait to hear of a change that another machine was faster with. Milliseconds. */
const hearMs = 1000;

interface Share {
  count: number;
  seq: number;
}

/**
 * How many of the sessions that all machines may have together this one has for itself. Each machine's share is a note,
 * and is raised only while no other share was changed, so that the shares never exceed the limit together. A start within
 * the share asks no machine; one beyond it takes one round trip. The share of a machine that is gone is free once its log is
 * another's to write: it cannot begin a session any more.
 */
export class SessionShares implements SessionSlots {
  readonly #deps: SessionSharesDeps;
  readonly #notes: SharedNotes;
  readonly #shares = new Map<string, Share>();
  /** Number of the last note that is known here. */
  #seq = 0;
  #used = 0;
  /** Slots that this machine may use. */
  #own = 0;
  /** Starts that wait for a larger share. */
  #wanting = 0;
  readonly #changes = new Sequence();
  #cancel: (() => void) | null = null;

  constructor(deps: SessionSharesDeps) {
    this.#deps = deps;
    this.#notes = new SharedNotes(deps.engine, { names: deps.engine.names.shares, keptMs });
    this.#notes.watch({
      heard: ({ name, text }, seq) => {
        const count = isMachineName(name) ? countIn(text) : null;
        if (count !== null) return this.#note(name, { count, seq });
        // The number counts all the same: a share is set only after the last note.
        this.#seq = Math.max(this.#seq, seq);
        throw new TypeError("it is no count of a machine");
      },
      lost: () => {
        this.#shares.clear();
        this.#seq = 0;
        // The servers have lost all shares: each machine tells its own again.
        void this.#changes.run(() => this.#set(() => this.#own)).catch(() => undefined);
      },
    });
  }

  /** Makes the stream of the shares. */
  async open(): Promise<void> {
    await this.#notes.open();
    this.#seq = this.#notes.seq;
  }

  /** Hears the shares until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    await this.#notes.follow(signal);
  }

  /** Resolves once all shares that there are have been heard. */
  get caughtUp(): Promise<void> {
    return this.#notes.caughtUp;
  }

  /** Gives back what an earlier run of this machine had, which cannot begin a session any more. */
  async begin(): Promise<void> {
    await this.#changes.run(() => this.#set(() => this.#used));
  }

  /** Sessions that this machine has or is starting. */
  get used(): number {
    return this.#used;
  }

  /** Slots of all machines together, as far as this one has heard. */
  get taken(): number {
    return this.#others() + this.#own;
  }

  /** Whether a machine that is gone still has slots. */
  holds(machine: string): boolean {
    return (this.#shares.get(machine)?.count ?? 0) > 0;
  }

  /**
   * Takes a slot for one session.
   * @param most sessions of all machines together
   * @returns gives it back
   * @throws {BulkheadError} `busy`; `unavailable` when the servers cannot be asked
   */
  async take(most: number): Promise<() => void> {
    const { slots } = this.#deps;
    if (slots !== null && this.#used >= slots) {
      throw new BulkheadError("busy", `This machine has ${this.#used} sessions, running and waiting, already.`, {
        hint: "Ask another machine, or raise cluster.slots.",
      });
    }
    // Also after the limit was lowered.
    if (this.#used < Math.min(this.#own, most)) this.#used++;
    else await this.#takeBeyond(most);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#used--;
      this.#cancel ??= startBackgroundTimer(() => {
        this.#cancel = null;
        void this.giveBackSpare().catch(() => undefined);
      }, giveBackMs);
    };
  }

  /** Gives back the slots that this machine does not use; returns the number of the note that reports it. */
  async giveBackSpare(): Promise<number> {
    await this.#changes.run(async () => {
      // Its note may also say more than it has: another machine can write it.
      const isWrong = (this.#shares.get(this.#deps.machine)?.count ?? this.#own) !== this.#own;
      if (isWrong || this.#own > this.#used + this.#wanting) await this.#set(() => this.#used + this.#wanting);
    });
    return this.#shares.get(this.#deps.machine)?.seq ?? 0;
  }

  /** Returns what frees the share that a machine has now, once it is sure that the machine begins no more sessions. */
  freeing(machine: string): () => Promise<void> {
    const before = this.#shares.get(machine);
    return async () => {
      if (before === undefined || before.count === 0) return;
      await this.#retrying(async (seq) => {
        // It is back, and has told another share.
        if (this.#shares.get(machine)?.seq !== before.seq) return;
        const stored = await this.#notes.setAfter({ kind, name: machine, text: textOf(0) }, seq);
        this.#note(machine, { count: 0, seq: stored });
      });
    };
  }

  close(): void {
    this.#cancel?.();
  }

  /** Raises the share by one slot for each start that waits, and by some more while many are free; takes one. */
  async #takeBeyond(most: number): Promise<void> {
    this.#wanting++;
    try {
      for (let isAsked = false;; isAsked = true) {
        await this.#changes.run(() => this.#set(() => this.#larger(most))).catch((error: unknown) => {
          throw unavailableError(error);
        });
        if (this.#used < Math.min(this.#own, most)) return void this.#used++;
        if (isAsked) throw fullError(this.taken, most);
        const told = await this.#deps.askForSpare().catch(() => []);
        await this.#freeUnknown();
        await this.#hear(Math.max(0, ...told));
      }
    } finally {
      this.#wanting--;
    }
  }

  /** Frees the shares of machines that never were: each has a log before it takes sessions. */
  async #freeUnknown(): Promise<void> {
    const { machine, sessionsOf, engine } = this.#deps;
    for (const [name, { count }] of this.#shares) {
      if (name === machine || count === 0 || sessionsOf().has(name)) continue;
      const log = await engine.stream(engine.names.log(name)).catch(() => undefined);
      if (log !== null) continue;
      engine.dropped.tell(noteWords(kind), `there is no machine "${name}"`);
      await this.freeing(name)().catch(() => undefined);
    }
  }

  #larger(most: number): number {
    const free = most - this.#others() - this.#own;
    const needed = this.#used + this.#wanting - this.#own;
    if (free <= 0 || needed <= 0) return this.#own;
    const ahead = Math.min(mostAhead, Math.floor((free - needed) / aheadPart));
    return this.#own + Math.min(free, needed + Math.max(0, ahead));
  }

  /** Slots of the other machines; of one whose share the servers have lost, the sessions that it runs. */
  #others(): number {
    const { machine, sessionsOf } = this.#deps;
    const counts = new Map(sessionsOf());
    for (const [name, { count }] of this.#shares) counts.set(name, count);
    counts.delete(machine);
    return [...counts.values()].reduce((sum, count) => sum + count, 0);
  }

  async #set(wanted: () => number): Promise<void> {
    await this.#retrying(async (seq) => {
      const count = wanted();
      if (count === this.#own && count === this.#shares.get(this.#deps.machine)?.count) return;
      // A slot that is given back may belong to another machine now: it is used again only once that is known.
      this.#own = Math.min(this.#own, count);
      const note = { kind, name: this.#deps.machine, text: textOf(count) };
      const stored = await this.#notes.setAfter(note, seq);
      this.#own = count;
      this.#note(this.#deps.machine, { count, seq: stored });
    });
  }

  #note(machine: string, share: Share): void {
    this.#seq = Math.max(this.#seq, share.seq);
    if (share.seq > (this.#shares.get(machine)?.seq ?? 0)) this.#shares.set(machine, share);
  }

  async #retrying(act: (seq: number) => Promise<void>): Promise<void> {
    for (let tries = 0;; tries++) {
      const seq = this.#seq;
      try {
        return await act(seq);
      } catch (error) {
        if (!(error instanceof StaleError) || tries === mostTries) throw error;
        await this.#hear(seq + 1);
      }
    }
  }

  /** Waits, for a while, until a note was heard. */
  async #hear(seq: number): Promise<void> {
    for (const end = performance.now() + hearMs; this.#seq < seq && performance.now() < end;) await sleep(1);
  }
}

function textOf(count: number): string {
  return JSON.stringify({ count });
}

/** Null for what no machine wrote. */
function countIn(text: string): number | null {
  try {
    return countOf(fieldsOrNone(JSON.parse(text))["count"]);
  } catch {
    return null;
  }
}

function fullError(taken: number, most: number): BulkheadError {
  return new BulkheadError("busy", `The machines of the cluster have ${taken} of ${most} sessions already.`, {
    hint: "Try again later, or raise the limit host_sessions on each machine.",
  });
}

function unavailableError(cause: unknown): BulkheadError {
  if (cause instanceof BulkheadError) return cause;
  return new BulkheadError("unavailable", "Cannot start a session: the cluster's servers do not answer.", {
    hint: "Try again when they are back: bulkhead cluster status.",
    cause,
  });
}
