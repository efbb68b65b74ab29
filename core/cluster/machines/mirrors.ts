import type { LogRecord } from "../../ground/log/log-record.ts";
import { mkdir } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import type { SessionRecord } from "../../records/journal/session-record.ts";
import type { Engine } from "../engine/engine.ts";
import { Mirror } from "../log/mirror.ts";
import { mostMachines } from "./presence.ts";

interface MirrorsDeps {
  engine: Engine;
  /** This machine: its own log needs no copy. */
  machine: string;
  folder: string;
  /** Called for each machine that has a log. */
  onFound(machine: string): void;
  writeLog(record: LogRecord): void;
}

/** How often a machine looks for logs of others that it has not heard. Milliseconds. */
const lookMs = 5000;

/** The copies of the other machines' logs on this one. */
export class Mirrors {
  readonly #deps: MirrorsDeps;
  readonly #opening = new Map<string, Promise<Mirror>>();
  readonly #open = new Map<string, Mirror>();
  readonly #watchers = new Set<() => void>();
  /** Logs that there were at the last look. */
  #seen = 0;
  #isClosed = false;
  /** Whether there were more machines than may be. */
  #isFull = false;

  constructor(deps: MirrorsDeps) {
    this.#deps = deps;
  }

  all(): Mirror[] {
    return [...this.#open.values()];
  }

  get(machine: string): Mirror | undefined {
    return this.#open.get(machine);
  }

  /** Returns a session of another machine; null for any other. */
  async record(sessionId: string): Promise<SessionRecord | null> {
    for (const { journal } of this.#open.values()) {
      const record = await journal.session(sessionId);
      if (record !== null) return record;
    }
    return null;
  }

  /** Calls back when there is another copy. */
  watch(callback: () => void): () => void {
    this.#watchers.add(callback);
    return () => this.#watchers.delete(callback);
  }

  /** Copies a machine's log from now on. Never rejects. */
  async add(machine: string): Promise<void> {
    const { engine, machine: own, folder, writeLog } = this.#deps;
    if (machine === own || this.#opening.has(machine) || this.#isClosed) return;
    if (this.#opening.size >= mostMachines) return this.#refuse(machine);
    const place = join(folder, machine);
    const opening = mkdir(place, { recursive: true, mode: 0o700 }).then(() =>
      Mirror.open({ engine, machine, file: join(place, "journal.db"), logs: () => this.#logs, writeLog })
    );
    this.#opening.set(machine, opening);
    try {
      this.#open.set(machine, await opening);
      for (const watcher of this.#watchers) watcher();
    } catch (error) {
      this.#opening.delete(machine);
      writeLog({ level: "error", message: `Cannot keep a copy of the log of "${machine}": ${String(error)}` });
    }
  }

  get #logs(): number {
    return Math.max(this.#seen, this.#opening.size);
  }

  /** Says once that there are too many. */
  #refuse(machine: string): void {
    if (this.#isFull) return;
    this.#isFull = true;
    const message = `Cannot keep a copy of the log of "${machine}": ${mostMachines} machines have one already. ` +
      "Delete the streams of machines that are gone for good.";
    this.#deps.writeLog({ level: "error", message });
  }

  async look(): Promise<void> {
    const { engine, machine: own, onFound } = this.#deps;
    const logs = await engine.logs();
    this.#seen = logs.length;
    for (const { name } of logs) {
      const machine = engine.names.machineOf(name);
      if (machine === null || machine === own) continue;
      await this.add(machine);
      if (this.#open.has(machine)) onFound(machine);
    }
  }

  /** Looks again and again, until the signal aborts. */
  async keepLooking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await wait(lookMs, signal);
      if (!signal.aborted) await this.look().catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await Promise.allSettled(this.#opening.values());
    await Promise.all(opened.map((one) => one.status === "fulfilled" ? one.value.close() : undefined));
  }
}
