import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import type { Engine } from "../engine/engine.ts";
import type { MachineFacts } from "./machine.ts";
import { parseFacts } from "./machine-facts.ts";

interface PresenceDeps {
  engine: Engine;
  name: string;
  heartbeatMs: number;
  silentMs: number;
  facts(): MachineFacts;
  /** Called when a machine is heard for the first time. */
  onHeard(name: string): void;
  /** Called, again and again, for a machine that has been silent for too long. */
  onSilent(name: string): void;
  /** Called when another process uses this machine's name. */
  onDouble(other: MachineFacts): void;
  now?(): number;
}

/** A machine that was heard. */
export interface HeardMachine {
  facts: MachineFacts;
  /** Milliseconds since it was heard last. */
  silentMs: number;
  /** Its clock less this one's, without the time on the way. Milliseconds. */
  skewMs: number;
}

/** Heartbeats after which a machine that was not heard counts as silent. */
export const missedBeats = 2.5;

/** Machines of one cluster, at most: each keeps a copy of the sessions of all others. */
export const mostMachines = 256;

interface Known {
  facts: MachineFacts;
  at: number;
  skewMs: number;
}

/** Knows the machines that are present by their heartbeats. Only a machine's log decides whether it may write. */
export class Presence {
  readonly #deps: PresenceDeps;
  readonly #known = new Map<string, Known>();
  readonly #expected = new Set<string>();
  readonly #now: () => number;
  readonly #stops: (() => void)[] = [];
  /** When this machine could last hear the others: during an outage no machine counts as silent. */
  #hearingSince: number;
  #cancel: (() => void) | null = null;

  constructor(deps: PresenceDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
    this.#hearingSince = this.#now();
  }

  start(): void {
    const { engine } = this.#deps;
    this.#stops.push(
      engine.listen(engine.names.allPresence, (said) => this.#hear(said)),
      engine.listen(engine.names.hello, () => this.speak()),
      engine.onConnection((connected) => {
        this.#hearingSince = this.#now();
        if (connected) this.speak();
      }),
    );
    engine.say(engine.names.hello, "");
    this.#beat();
  }

  /** Returns the machines that were heard and have not left, this one left out. */
  heard(): HeardMachine[] {
    const now = this.#now();
    return [...this.#known.values()].map(({ facts, at, skewMs }) => ({ facts, silentMs: now - at, skewMs }));
  }

  /** Returns the last heartbeat of a machine that is still there, even of one that takes no more sessions. */
  present(name: string): MachineFacts | null {
    const known = this.#known.get(name);
    return known === undefined || known.facts.gone || this.silentMs(name) >= this.#deps.silentMs ? null : known.facts;
  }

  /** Returns the facts of the other machines that are there. */
  others(): MachineFacts[] {
    return [...this.#known.values()].map(({ facts }) => facts).filter(({ name }) => this.present(name) !== null);
  }

  /** Whether a machine was heard a moment ago, so that it will answer at once. */
  isLively(name: string): boolean {
    return this.present(name) !== null && this.silentMs(name) <= missedBeats * this.#deps.heartbeatMs;
  }

  /** How long a machine has not been heard, while this one could hear. Milliseconds. */
  silentMs(name: string): number {
    return this.#now() - Math.max(this.#known.get(name)?.at ?? 0, this.#hearingSince);
  }

  /** Watches for a machine that was there before this one came. */
  expect(name: string): void {
    if (!this.#known.has(name)) this.#expected.add(name);
  }

  speak(terms: { gone?: boolean } = {}): void {
    const { engine, name, facts } = this.#deps;
    engine.say(engine.names.presence(name), JSON.stringify({ ...facts(), gone: terms.gone ?? false }));
  }

  /** Says goodbye, and is quiet from then on. */
  stop(): void {
    if (this.#cancel === null) return;
    this.#cancel();
    this.#cancel = null;
    this.speak({ gone: true });
    for (const stop of this.#stops.splice(0)) stop();
  }

  #beat(): void {
    const { heartbeatMs, silentMs, engine, onSilent } = this.#deps;
    const begun = this.#now();
    this.#cancel = startBackgroundTimer(() => {
      // A loop that stood still has heard no machine, although they may have spoken.
      if (this.#now() - begun > 2 * heartbeatMs) this.#hearingSince = this.#now();
      this.#beat();
      if (!engine.isConnected) return;
      this.speak();
      for (const name of new Set([...this.#known.keys(), ...this.#expected])) {
        if (this.silentMs(name) >= silentMs) onSilent(name);
      }
    }, heartbeatMs);
  }

  #hear({ subject, text }: { subject: string; text: string }): void {
    const facts = parseFacts(text);
    const { engine, name, onHeard, onDouble } = this.#deps;
    // The servers let each machine speak on its own subject alone: none may speak for another.
    if (facts === null || subject !== engine.names.presence(facts.name)) {
      const why = facts === null ? "it is none that this version knows" : "it names another machine";
      return engine.dropped.tell(`A heartbeat on "${subject.slice(0, 256)}"`, why);
    }
    if (facts.name === name) {
      if (facts.run !== this.#deps.facts().run && !facts.gone) onDouble(facts);
      return;
    }
    const isNew = !this.#known.has(facts.name);
    if (isNew && this.#known.size >= mostMachines && !this.#forgetOne()) return;
    this.#known.set(facts.name, { facts, at: this.#now(), skewMs: Date.parse(facts.said_at) - Date.now() });
    this.#expected.delete(facts.name);
    if (isNew) onHeard(facts.name);
  }

  /** Forgets a machine that has left; false when all are still there. */
  #forgetOne(): boolean {
    const left = [...this.#known.values()].find(({ facts }) => facts.gone);
    return left !== undefined && this.#known.delete(left.facts.name);
  }
}
