import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { hostVersion } from "../../ground/config/version.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { Journal } from "../../records/journal/journal.ts";
import { endOpenSessions } from "../../sessions/host/state/recover.ts";
import type { AfterRestart, Resumable } from "../../sessions/session/interrupted-session.ts";
import { MergedLog } from "../../sessions/session/merged-log.ts";
import { type Engine, StaleError } from "../engine/engine.ts";
import { MachineLog } from "../log/machine-log.ts";
import type { Mirror } from "../log/mirror.ts";
import { heldEntries } from "../log/held-entries.ts";
import { PositionFile } from "../log/position-file.ts";
import { SharedJournal } from "../log/shared-journal.ts";
import type { Presence } from "./presence.ts";
import type { SessionShares } from "./session-shares.ts";

interface LostMachinesDeps {
  engine: Engine;
  /** This machine. */
  name: string;
  presence: Pick<Presence, "silentMs" | "heard" | "present">;
  silentMs: number;
  mirror(machine: string): Mirror | undefined;
  shares: Pick<SessionShares, "holds" | "freeing">;
  /** Starts a session that continues one of a lost machine, where that can be done here. */
  resume(): ((resumable: Resumable) => Promise<AfterRestart>) | undefined;
  writeLog(record: LogRecord): void;
}

/** How long a machine that ends the sessions of another one is left to it, at least. Milliseconds. */
const leastPatienceMs = 10_000;

/** Ends the sessions of machines that are gone. */
export class LostMachines {
  readonly #deps: LostMachinesDeps;
  /** Terms of other machines that end the sessions of a lost one, and when this machine saw each begin. */
  readonly #left = new Map<string, { term: number; at: number }>();
  /** Machines whose log this one is writing. */
  readonly #writing = new Map<string, Promise<unknown>>();

  /** The last reason why a machine could not be taken over. */
  readonly #said = new Map<string, string>();

  constructor(deps: LostMachinesDeps) {
    this.#deps = deps;
  }

  /** Ends the open sessions of a machine that has been silent for too long. Never rejects. */
  async end(machine: string): Promise<void> {
    const { mirror, shares, writeLog, resume } = this.#deps;
    const copy = mirror(machine);
    if (copy === undefined || this.#writing.has(machine)) return;
    try {
      const isIdle = (await copy.journal.openSessions()).length === 0 && !shares.holds(machine);
      if (isIdle || this.#isLeftToAnother(machine, copy) || !this.#isNearest(machine, copy)) return;
      const free = shares.freeing(machine);
      const end = async (journal: Journal): Promise<number> => {
        // Before its sessions go on elsewhere, which takes slots.
        await free();
        const open = (await journal.openSessions()).length;
        const log = new MergedLog(journal);
        const former = { runtime: null, hostVersion, end: "machine_lost" as const };
        await endOpenSessions({ journal, log, former, resume: resume(), writeLog });
        log.close();
        return open;
      };
      const count = await this.write(machine, end);
      if (count === 0) return;
      const message = `Machine "${machine}" was lost: ended ${count} of its sessions.`;
      writeLog({ level: "warn", message, fields: { machine, sessions: count } });
    } catch (error) {
      // Another machine was faster, or the lost one is back: its log has gone on.
      if (error instanceof StaleError) return;
      const message = `Cannot take over machine "${machine}": ${toErrorData(error).message}`;
      // It is tried at each heartbeat.
      if (this.#said.get(machine) !== message) writeLog({ level: "warn", message });
      this.#said.set(machine, message);
    }
  }

  /**
   * Writes the log of a machine that is away: it begins a term there, so that the machine itself, if it is only slow,
   * is refused from then on.
   * @throws {StaleError} when the log has gone on
   * @throws {BulkheadError} `busy`
   */
  async write<T>(machine: string, act: (journal: Journal) => Promise<T>): Promise<T> {
    const before = this.#writing.get(machine);
    if (before !== undefined) await before.catch(() => undefined);
    const writing = this.#write(machine, act).finally(() => this.#writing.delete(machine));
    this.#writing.set(machine, writing);
    return await writing;
  }

  async #write<T>(machine: string, act: (journal: Journal) => Promise<T>): Promise<T> {
    const { engine, name, mirror, writeLog } = this.#deps;
    const copy = mirror(machine);
    if (copy === undefined) throw new BulkheadError("not_found", `There is no machine "${machine}".`);
    const { journal, position, resume } = await copy.pause();
    try {
      const { lastSeq = 0 } = await engine.stream(engine.names.log(machine)) ?? {};
      if (lastSeq !== position.seq) throw new StaleError();
      const held = (after: number) => heldEntries(journal, after);
      const log = await MachineLog.begin({ engine, machine, by: name, held, writeLog }, position);
      try {
        const noted = new PositionFile(copy.positionPath);
        return await act(new SharedJournal({ engine, machine, own: journal, log, position: noted }));
      } finally {
        log.close();
      }
    } finally {
      await resume();
    }
  }

  /** Whether another live machine has claimed these sessions recently. */
  #isLeftToAnother(machine: string, { position }: Mirror): boolean {
    const { name, presence, silentMs } = this.#deps;
    const { machine: writer, term } = position;
    if (writer === machine || writer === name || presence.present(writer) === null) return false;
    const seen = this.#left.get(machine);
    if (seen?.term !== term) this.#left.set(machine, { term, at: performance.now() });
    return seen?.term !== term || performance.now() - seen.at < Math.max(silentMs, leastPatienceMs);
  }

  /** Whether no other machine that is there has more of the lost one's log. */
  #isNearest(machine: string, { journal }: Mirror): boolean {
    const { presence, silentMs } = this.#deps;
    return presence.heard().every(({ facts, silentMs: since }) =>
      facts.leaving || facts.gone || since >= silentMs || (facts.copies[machine] ?? 0) <= journal.lastGseq
    );
  }
}
