import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Engine } from "../../core/cluster/engine/engine.ts";
import { defaultClusterSettings } from "../../core/ground/config/cluster-settings.ts";
import { type TakenLog, takeOwnLog } from "../../core/cluster/log/take-log.ts";
import { Mirror } from "../../core/cluster/log/mirror.ts";
import { openJournal } from "../../core/records/journal/open-journal.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import type { NatsServers } from "./nats-servers.ts";

/** A machine without a host: its connection, its log and its copies. */
export interface LogMachine {
  name: string;
  engine: Engine;
  said: string[];
  take(): Promise<TakenLog>;
  mirror(machine: string): Promise<Mirror>;
  close(): Promise<void>;
}

/** Opens a machine on servers. */
export async function logMachine(name: string, { urls }: Pick<NatsServers, "urls">): Promise<LogMachine> {
  const folder = await mkdtemp(join(tmpdir(), "bh-log-"));
  const settings = { ...defaultClusterSettings, servers: urls, name, replicas: urls.length };
  const noSecrets = () => Promise.reject(new Error("There are no secrets."));
  const said: string[] = [];
  const writeLog = ({ message }: { message: string }) => void said.push(message);
  const engine = await Engine.open(settings, noSecrets, writeLog);
  const closing: (() => Promise<void>)[] = [];
  return {
    name,
    engine,
    said,
    take: async () => {
      const file = join(folder, "journal.db");
      const taken = await takeOwnLog({ engine, machine: name, file, open: () => openJournal(file), writeLog });
      closing.push(() => taken.journal.close());
      return taken;
    },
    mirror: async (machine) => {
      const mirror = await Mirror.open({ engine, machine, file: join(folder, `${machine}.db`), writeLog });
      closing.push(() => mirror.close());
      return mirror;
    },
    close: async () => {
      for (const close of closing.reverse()) await close();
      await engine.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Makes consecutive envelopes of one session; the first of all opens it. */
export function envelopesOf(
  session_id: string,
  { gseq, seq = 1, count = 1, data = "x" }: { gseq: number; seq?: number; count?: number; data?: string },
): Envelope[] {
  return Array.from({ length: count }, (_, at): Envelope => ({
    v: 1,
    seq: seq + at,
    gseq: gseq + at,
    ts: "2026-01-01T00:00:00.000Z",
    session_id,
    attempt: 1,
    adapter: { id: "a", version: "1.0.0" },
    source: "agent",
    event: { type: "output", stream: "stdout", data: `${data}${gseq + at}` },
  }));
}

/** Reads the numbers of all events that a journal holds. */
export async function numbersIn(journal: { read: Mirror["journal"]["read"] }): Promise<number[]> {
  const numbers: number[] = [];
  for (;;) {
    const page = await journal.read({ after: numbers.at(-1) ?? 0 });
    if (page.length === 0) return numbers;
    numbers.push(...page.map(({ gseq }) => gseq));
  }
}

/** Returns 1 to a number. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}
