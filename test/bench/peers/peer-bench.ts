import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { type Figure, quantile, timed } from "../measure.ts";
import type { OpenPeer, Peer, PeerPlace } from "./peer.ts";
import { treeCpuMs, treeMemory } from "./processes.ts";

/** How much of it is done: `quick` to see that all of it works, the middle for a look, `long` for what is published. */
export interface Amount {
  shortRounds: number;
  longRounds: number;
  longPieces: number;
  atOnceRounds: number;
  /** Also what takes a minute for one figure: a hundred programs at once. */
  programsAtOnce: boolean;
  live: number[];
}

/** Sessions that start together. */
const atOnce = 100;
const readers = 100;
const readPieces = 1000;

/**
 * Time after which a server has nothing to do: what made a plugin's script has ended, and an engine collects what is left
 * after about nine seconds. Milliseconds.
 */
const restMs = 12_000;

/** The parts of the bench, which share what the peers work with. */
export class PeerBench {
  readonly #place: PeerPlace;
  readonly #amount: Amount;
  #opened = 0;

  constructor(place: PeerPlace, amount: Amount) {
    this.#place = place;
    this.#amount = amount;
  }

  /** A session of a hundred pieces: what a person waits for the first word, and for the end. */
  async shortSessions(all: readonly Peer[]): Promise<Figure[]> {
    const first = new Series("first_event", "ms");
    const whole = new Series("short_session", "ms");
    await this.#interleaved(all, { rounds: this.#amount.shortRounds, warm: 2 }, async (name, peer) => {
      const times = await peer.run("[chunks 100]");
      return () => {
        first.add(name, times.first);
        whole.add(name, times.total);
      };
    });
    return [...first.figures(), ...whole.figures()];
  }

  /** A session with many pieces: how fast they come, how many are lost, and what all processes together work for them. */
  async longSessions(all: readonly Peer[]): Promise<Figure[]> {
    const { longPieces, longRounds } = this.#amount;
    const rate = new Series(`pieces_${longPieces}`, "per_second");
    const lost = new Series(`lost_of_${longPieces}`, "count");
    const cpu = new Series(`cpu_of_10000_in_${longPieces}`, "ms");
    // A process that only a start needs would end in a measured round, whose processor time would then lack what it took.
    await this.#interleaved(all, { rounds: longRounds, warm: 3, rest: restMs }, async (name, peer) => {
      const before = await treeCpuMs(process.pid);
      const { total, pieces } = await peer.run(`[chunks ${longPieces}]`);
      const used = await treeCpuMs(process.pid) - before;
      return () => {
        rate.add(name, pieces / total * 1000);
        lost.add(name, longPieces - pieces);
        cpu.add(name, used / longPieces * 10_000);
      };
    });
    return [...rate.figures(), ...lost.figures(), ...cpu.figures()];
  }

  /** A hundred sessions that start together. */
  async manyAtOnce(all: readonly Peer[]): Promise<Figure[]> {
    const whole = new Series("at_once", "ms");
    const cpu = new Series("at_once.cpu_of_a_session", "ms");
    for (let round = 0; round < this.#amount.atOnceRounds; round++) {
      for (const peer of all) {
        told(`round ${round + 1} of ${this.#amount.atOnceRounds}, ${peer.name}`);
        await using open = await this.#open(peer);
        await open.run("[chunks 2]");
        const before = await treeCpuMs(process.pid);
        whole.add(peer.name, await timed(() => Promise.all(times(atOnce, () => open.run("[chunks 2]")))));
        cpu.add(peer.name, (await treeCpuMs(process.pid) - before) / atOnce);
      }
    }
    return [...whole.figures(), ...cpu.figures()];
  }

  /** What a server holds while it has nothing to do, and with sessions whose agents wait; agents left out. */
  async memory(servers: readonly Peer[]): Promise<Figure[]> {
    const figures: Figure[] = [];
    for (const peer of servers) {
      for (const live of [0, ...this.#amount.live]) {
        told(`${peer.name} with ${live} sessions`);
        await using open = await this.#open(peer);
        await Promise.all(times(live, () => open.hold()));
        await sleep(restMs);
        const { rss, pss, processes } = await treeMemory(open.root!);
        const name = `peers.${live === 0 ? "idle" : `live_${live}`}`;
        figures.push(
          { name: `${name}.rss.${peer.name}`, value: rss, unit: "mb" },
          { name: `${name}.pss.${peer.name}`, value: pss, unit: "mb" },
          { name: `${name}.processes.${peer.name}`, value: processes, unit: "count" },
        );
      }
    }
    return figures;
  }

  /** One session that a hundred clients read. */
  async readTogether(servers: readonly Peer[]): Promise<Figure[]> {
    const rate = new Series("readers", "per_second");
    const lost = new Series("readers.lost", "count");
    await this.#interleaved(servers, { rounds: this.#amount.longRounds, warm: 1 }, async (name, peer) => {
      const started = performance.now();
      const got = await peer.readTogether!(`[chunks ${readPieces}]`, readers);
      const seconds = (performance.now() - started) / 1000;
      return () => {
        rate.add(name, got / seconds);
        lost.add(name, readPieces * readers - got);
      };
    });
    return [...rate.figures(), ...lost.figures()];
  }

  async #interleaved(
    all: readonly Peer[],
    { rounds, warm, rest = 0 }: { rounds: number; warm: number; rest?: number },
    measure: (name: string, peer: OpenPeer) => Promise<() => void>,
  ): Promise<void> {
    const open: { name: string; peer: OpenPeer }[] = [];
    try {
      for (const peer of all) open.push({ name: peer.name, peer: await this.#open(peer) });
      for (let round = -warm; round < rounds; round++) {
        told(`round ${round + 1} of ${rounds}`);
        if (round === 1 - warm) await sleep(rest);
        for (const { name, peer } of open) {
          const keep = await measure(name, peer);
          if (round >= 0) keep();
        }
      }
    } finally {
      for (const { peer } of open) await peer[Symbol.asyncDispose]();
    }
  }

  /** Opens a peer with a folder of its own. */
  async #open(peer: Peer): Promise<OpenPeer> {
    const state = join(this.#place.state, `${peer.name}-${this.#opened++}`);
    await mkdir(state, { recursive: true });
    return await peer.open({ ...this.#place, state });
  }
}

/** What repetitions measured, for each peer. */
class Series {
  readonly #name: string;
  readonly #unit: Figure["unit"];
  readonly #values = new Map<string, number[]>();

  constructor(name: string, unit: Figure["unit"]) {
    this.#name = name;
    this.#unit = unit;
  }

  add(peer: string, value: number): void {
    this.#values.set(peer, [...this.#values.get(peer) ?? [], value]);
  }

  figures(): Figure[] {
    return [...this.#values].map(([peer, values]) => ({
      name: `peers.${this.#name}.${peer}`,
      value: quantile(values, 0.5),
      unit: this.#unit,
      least: Math.min(...values),
      most: Math.max(...values),
    }));
  }
}

/** Tells on standard error how far it is: a part takes up to minutes, and its figures come at its end. */
export function told(text: string): void {
  process.stderr.write(`peers: ${text}\n`);
}

function times<T>(count: number, make: () => Promise<T>): Promise<T>[] {
  return Array.from({ length: count }, make);
}
