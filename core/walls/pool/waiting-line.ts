import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";

/** An entry of a {@link WaitingLine}. */
export interface Waiting {
  /** The client: each one has its turn, however many entries it has waiting. */
  readonly client: string;
  /** Called with the position, from 1, when it moved. */
  onMoved(position: number): void;
}

interface WaitingLineOptions {
  /** Maximum length of the line. */
  most: number;
  /** Calls back once after a time; returns a function that cancels it. */
  startTimer?(callback: () => void, delayMs: number): () => void;
}

/**
 * Minimum time between reports of positions: a long line would otherwise report every step to everyone. Milliseconds.
 */
const tellEveryMs = 1000;
/** A client may have so many times more waiting than there is room left, so that there is always room for another. */
const share = 9;

/**
 * A line that is fair between clients: they take turns, and each client's entries are served first come, first served.
 */
export class WaitingLine<W extends Waiting> {
  readonly #most: number;
  readonly #startTimer: (callback: () => void, delayMs: number) => () => void;
  /** In the order of their turns; none is empty. */
  readonly #clients = new Map<string, W[]>();
  readonly #told = new Map<W, number>();
  #size = 0;
  #cancelTelling: (() => void) | null = null;

  constructor({ most, startTimer = startBackgroundTimer }: WaitingLineOptions) {
    this.#most = most;
    this.#startTimer = startTimer;
  }

  get size(): number {
    return this.#size;
  }

  /** True when a client may wait: if one client could fill the line, all others would be refused. */
  hasRoom(client: string): boolean {
    const free = this.#most - this.#size;
    return free > 0 && (this.#clients.get(client)?.length ?? 0) < share * free;
  }

  /** Adds an entry behind the others of its client, and returns its position. */
  add(waiter: W): number {
    const own = this.#clients.get(waiter.client) ?? [];
    own.push(waiter);
    this.#clients.set(waiter.client, own);
    this.#size++;
    this.#moved();
    return this.#positionOf(waiter.client, own.length - 1);
  }

  /** Records the position that an entry was told when it was added. */
  told(waiter: W, position: number): void {
    this.#told.set(waiter, position);
  }

  /** Removes and returns the entry whose turn it is. */
  next(): W | undefined {
    const [first] = this.#clients;
    if (first === undefined) return undefined;
    const [client, own] = first;
    const waiter = own.shift();
    this.#clients.delete(client);
    if (own.length > 0) this.#clients.set(client, own);
    if (waiter !== undefined) this.#left(waiter);
    return waiter;
  }

  /** Removes an entry at any position; false when it does not wait. */
  remove(waiter: W): boolean {
    const own = this.#clients.get(waiter.client);
    const at = own?.indexOf(waiter) ?? -1;
    if (own === undefined || at < 0) return false;
    own.splice(at, 1);
    if (own.length === 0) this.#clients.delete(waiter.client);
    this.#left(waiter);
    return true;
  }

  /** All entries, in the order in which they are served if no more are added. */
  inOrder(): W[] {
    const lists = [...this.#clients.values()];
    const rounds = Math.max(0, ...lists.map((own) => own.length));
    return Array.from({ length: rounds }, (_, round) => lists.flatMap((own) => own.slice(round, round + 1))).flat();
  }

  #positionOf(client: string, round: number): number {
    let before = 0;
    let passed = false;
    for (const [other, own] of this.#clients) {
      if (other === client) passed = true;
      before += Math.min(own.length, passed ? round : round + 1);
    }
    return before + 1;
  }

  #left(waiter: W): void {
    this.#size--;
    this.#told.delete(waiter);
    this.#moved();
  }

  #moved(): void {
    if (this.#size === 0) {
      this.#cancelTelling?.();
      this.#cancelTelling = null;
      return;
    }
    this.#cancelTelling ??= this.#startTimer(() => {
      this.#cancelTelling = null;
      this.#tell();
    }, tellEveryMs);
  }

  #tell(): void {
    for (const [index, waiter] of this.inOrder().entries()) {
      const position = index + 1;
      if (this.#told.get(waiter) === position) continue;
      this.#told.set(waiter, position);
      waiter.onMoved(position);
    }
  }
}
