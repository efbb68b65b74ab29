import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { rename } from "../../ground/platform/files/files.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { Journal } from "../../records/journal/journal.ts";
import { type Engine, StaleError } from "../engine/engine.ts";
import { patiently } from "../engine/patiently.ts";
import { heldEntries } from "./held-entries.ts";
import { DivergedError, LogCopy } from "./log-copy.ts";
import { type LogPosition, logStart } from "./log-entry.ts";
import { MachineLog, makeLog } from "./machine-log.ts";
import { PositionFile } from "./position-file.ts";
import { SharedJournal } from "./shared-journal.ts";

interface TakeOwnLogOptions {
  engine: Engine;
  machine: string;
  /** File of the local copy. */
  file: string;
  /** Opens the local copy; called again after a copy was set aside. */
  open(): Promise<Journal>;
  writeLog(record: LogRecord): void;
}

/** A journal whose events go to the cluster. */
export interface TakenLog {
  journal: SharedJournal;
  log: MachineLog;
}

/** Makes this machine the writer of its own log: reads what the copy lacks, begins a term, offers what is missing. */
export async function takeOwnLog(options: TakeOwnLogOptions): Promise<TakenLog> {
  const { engine, machine, file, writeLog } = options;
  const position = new PositionFile(`${file}.position`);
  await makeLog(engine, machine);
  let own = await options.open();
  const catchUp = async (): Promise<LogPosition> => {
    try {
      const from = await position.read();
      return await patiently(`read the log of "${machine}"`, () => {
        return readLog(engine, { machine, journal: own, from }).catch(passDiverged);
      });
    } catch (error) {
      const diverged = error instanceof BulkheadError ? error.cause : error;
      if (!(diverged instanceof DivergedError)) throw error;
      await own.close();
      const aside = `${file}.${new Date().toISOString().replace(/[:.]/g, "-")}`;
      await rename(file, aside);
      writeLog({
        level: "error",
        message: `Read the journal again from the cluster: ${diverged.message}. See "${aside}".`,
      });
      own = await options.open();
      return await readLog(engine, { machine, journal: own, from: logStart });
    }
  };
  try {
    const terms = { engine, machine, by: machine, journal: () => own, writeLog };
    const log = await beginTerm(terms, catchUp);
    position.note(log.position);
    return { journal: new SharedJournal({ engine, machine, own, log, position }), log };
  } catch (error) {
    await own.close();
    throw error;
  }
}

interface BeginTermOptions {
  engine: Engine;
  /** The machine whose log it is. */
  machine: string;
  /** The machine that will write it. */
  by: string;
  /** The local copy. */
  journal(): Journal;
  writeLog(record: LogRecord): void;
}

/** Most attempts to begin a term, against others that begin one too. */
const mostTries = 20;

/**
 * Begins a term of a machine's log after its last message.
 * @param catchUp brings the local copy up to the log's end, and returns that position
 */
async function beginTerm(
  { engine, machine, by, journal, writeLog }: BeginTermOptions,
  catchUp: () => Promise<LogPosition>,
): Promise<MachineLog> {
  const held = (after: number) => heldEntries(journal(), after);
  for (let tries = 1;; tries++) {
    const position = await catchUp();
    try {
      return await patiently(`write the log of "${machine}"`, async () => {
        try {
          return await MachineLog.begin({ engine, machine, by, held, writeLog }, position);
        } catch (error) {
          // The log has gone on, or its last entry is a mark of this very attempt: the position is read again.
          if (error instanceof StaleError) throw staleError(machine, error);
          throw error;
        }
      });
    } catch (error) {
      const isStale = error instanceof BulkheadError && error.cause instanceof StaleError;
      if (!isStale || tries === mostTries) throw error;
    }
  }
}

/** Retrying does not mend a copy that differs. */
function passDiverged(error: unknown): never {
  if (!(error instanceof DivergedError)) throw error;
  throw new BulkheadError("journal_error", `Cannot use the local copy of the log: ${error.message}.`, { cause: error });
}

function staleError(machine: string, cause: StaleError): BulkheadError {
  return new BulkheadError("busy", `Cannot write the log of "${machine}": another machine writes it.`, {
    hint: "Give each machine its own cluster.name in bulkhead.yaml.",
    cause,
  });
}

/** Brings a journal up to the end of a machine's log. */
async function readLog(
  engine: Engine,
  { machine, journal, from }: { machine: string; journal: Journal; from: LogPosition },
): Promise<LogPosition> {
  const stream = engine.names.log(machine);
  const { lastSeq = 0 } = await engine.stream(stream) ?? {};
  // A position beyond the end is of a log that the servers have lost.
  const copy = new LogCopy(journal, { machine, position: from.seq > lastSeq ? logStart : from });
  if (copy.position.seq >= lastSeq) return copy.position;
  const { signal } = new AbortController();
  const fromSeq = copy.position.seq + 1;
  for await (const message of engine.read({ stream, fromSeq, toSeq: lastSeq, signal })) {
    await copy.take(message).catch((error: unknown) => {
      // What another machine wrote here must not keep this one from starting. An event that cannot be stored must.
      if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error;
      engine.dropped.tell(`An entry of the log of machine "${machine}"`, error.message);
    });
  }
  return { ...copy.position, seq: lastSeq };
}
