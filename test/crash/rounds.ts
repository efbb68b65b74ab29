import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RemoteHost } from "../../core/doors/client/mod.ts";
import { readNumber } from "../../core/records/journal/journal-schema.ts";
import { verifyJournal } from "../../core/records/journal/verify-journal.ts";
import { listAll } from "./processes.ts";
import {
  type Lane,
  type LaneDaemon,
  napOf,
  recordedChildren,
  startDaemon,
  startProgram,
  writeManifest,
} from "./lane.ts";
import { putUnderLoad, type Shown } from "./load.ts";
import { makeOlder } from "./older-journal.ts";
import { faultsOfNumbers, lookInto, lostEvents } from "./read-journal.ts";

/** When in its life a daemon is killed. */
export const moments = ["start", "append", "compaction", "migration", "shutdown"] as const;

/** A member of {@link moments}. */
export type Moment = (typeof moments)[number];

/** What came of one round. */
export interface Round {
  moment: Moment;
  /** Events that clients were shown. */
  shown: number;
  /**
   * Whether it was killed while its start, or the migration, was under way; true for all other moments, null where it was
   * killed before either on purpose.
   */
  within: boolean | null;
  faults: string[];
}

/** Longest that a daemon may take to start, on a machine with much else to do. */
const startMs = 120_000;

/** Starts a daemon, puts it under load, kills it at its moment and looks at what it left. */
export async function playRound(lane: Lane, moment: Moment, random: () => number): Promise<Round> {
  const shown: Shown = new Map();
  await writeManifest(lane, { compacts: moment === "compaction" });
  const migrates = moment === "migration" && await makeOlder(lane.journal);
  const daemon = startDaemon(lane);
  const kill = () => daemon.child.kill("SIGKILL");
  let within: Round["within"] = true;
  if (moment === "start" || moment === "migration") {
    within = await killWhileItOpens(lane, daemon, { migrates, random });
  } else {
    const remote = await withDeadline(lane, daemon);
    await work(remote, { lane, moment, random, shown, end: () => daemon.child.kill("SIGTERM") });
    kill();
  }
  await daemon.exited;
  if (moment === "compaction") await killCompaction(lane, random);
  const faults = await faultsIn(lane, shown);
  return { moment, shown: [...shown.values()].flat().length, within, faults };
}

/**
 * What the longest delay of a kill is multiplied with, so that five of six are met in the middle on any machine: a late
 * one halves it, because few rounds may be left to learn from.
 */
const after = { within: 1.15, beyond: 0.5 };

/**
 * Kills a daemon at any moment between the lock of its state folder and readiness, or while it migrates its journal; now
 * and then before either. True where that was under way, null where it was killed before.
 */
async function killWhileItOpens(
  lane: Lane,
  daemon: LaneDaemon,
  { migrates, random }: { migrates: boolean; random(): number },
): Promise<boolean | null> {
  const kill = () => daemon.child.kill("SIGKILL");
  const { atMost } = lane;
  if (random() < 0.1) {
    await sleep(random() * lane.bootMs);
    kill();
    await daemon.exited;
    return null;
  }
  await daemon.locked;
  if (!migrates) {
    const killed = sleep(random() * atMost.startMs).then(kill);
    const within = await daemon.ready === null;
    await killed;
    atMost.startMs *= within ? after.within : after.beyond;
    return within;
  }
  await untilOpened(lane, daemon);
  await sleep(random() * atMost.migrationMs);
  kill();
  await daemon.exited;
  const version = await lookInto(
    lane.journal,
    (database) => readNumber(database, "PRAGMA user_version", "user_version"),
  );
  const within = version === 1;
  atMost.migrationMs *= within ? after.within : after.beyond;
  return within;
}

/** The journal that waits for its migration has no write-ahead log before its host opens it. */
async function untilOpened({ journal }: Lane, { exited }: LaneDaemon): Promise<void> {
  let hasEnded = false;
  void exited.then(() => (hasEnded = true));
  while (!hasEnded && !(await stat(`${journal}-wal`).then(() => true, () => false))) await sleep(1);
}

/** Kills the command that compacts a journal without a daemon, or lets it end when it is quick. */
async function killCompaction(lane: Lane, random: () => number): Promise<void> {
  const compaction = startProgram(lane, ["journal", "compact"]);
  const killed = sleep(random() * (lane.bootMs + lane.openMs)).then(() => compaction.child.kill("SIGKILL"));
  await Promise.all([compaction.exited, killed]);
}

/** The daemon is killed when this resolves. */
async function work(
  remote: RemoteHost,
  { lane, moment, random, shown, end }: {
    lane: Lane;
    moment: Moment;
    random: () => number;
    shown: Shown;
    end(): void;
  },
): Promise<void> {
  const adapters = moment === "compaction"
    ? ["brief", "brief", "brief", "chatter"]
    : ["chatter", "chatter", "brief", "spawner"];
  const { sessions, over } = await putUnderLoad(remote, lane, { shown, adapters });
  over.catch(() => undefined);
  await untilTheyTalk(shown, sessions.filter((_, at) => adapters[at] !== "brief"));
  if (moment === "append") return void await sleep(random() * 400);
  if (moment === "shutdown") {
    await sleep(random() * 150);
    end();
    return void await sleep(random() * 900);
  }
  // What is forgotten, by request or because nothing is kept, is not looked for afterwards.
  const brief = sessions.slice(0, 3);
  await Promise.allSettled(brief.map((session) => session.result()));
  for (const { id } of brief) {
    shown.delete(id);
    void remote.delete(id).catch(() => undefined);
  }
  // A host looks after a second for what it need not keep.
  await sleep(random() * 1300);
  for (const { id } of brief) shown.delete(id);
}

/** Each has said something, or begun to do something, beside what the host says of every session. */
async function untilTheyTalk(shown: Shown, sessions: readonly { id: string }[]): Promise<void> {
  const talks = ({ id }: { id: string }) =>
    shown.get(id)?.some((text) => /"type":"(output|progress)"/.test(text)) ?? false;
  for (const end = performance.now() + startMs; performance.now() < end;) {
    if (sessions.every(talks)) return;
    await sleep(5);
  }
  throw new Error("The sessions did not begin to talk.");
}

/** Looks into the journal as the daemon has left it. */
async function faultsIn(lane: Lane, shown: Shown): Promise<string[]> {
  try {
    return await lookInto(lane.journal, (database) => [...faultsOfNumbers(database), ...lostEvents(database, shown)]);
  } catch (error) {
    // A daemon that was killed at its very first start has made no table or no file yet.
    if (shown.size === 0 && error instanceof Error && /no such table|ENOENT/.test(error.message)) return [];
    return [`the journal cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** Starts a last daemon and looks whether it has cleaned up after all that were killed; then stops it in order. */
export async function playEnd(lane: Lane): Promise<string[]> {
  const before = await recordedChildren(lane);
  const daemon = startDaemon(lane);
  const remote = await withDeadline(lane, daemon);
  const faults: string[] = [];
  const running = await remote.list({ state: "running", limit: 500 });
  faults.push(...running.map(({ session_id }) => `${session_id} was never ended`));
  const ended = await remote.list({ outcome: "error", limit: 500 });
  if (!ended.some(({ stop_reason }) => stop_reason === "host_restarted")) {
    faults.push("no session ended as host_restarted");
  }
  daemon.child.kill("SIGTERM");
  await daemon.exited;
  const { problems } = await verifyJournal(lane.journal);
  faults.push(...problems.map((problem) => `the journal does not verify: ${JSON.stringify(problem)}`));
  const left = (await listAll()).filter(({ pid, start, command }) =>
    command.includes(napOf(lane.number)) || before.some((one) => one.pid === pid && one.start === start)
  );
  faults.push(...left.map(({ pid, command }) => `process ${pid} was left behind: ${command.slice(0, 120)}`));
  return faults;
}

async function withDeadline(lane: Lane, { ready, said }: LaneDaemon): Promise<RemoteHost> {
  const late = sleep(startMs, null, { ref: false });
  const remote = await Promise.race([ready, late]);
  if (remote !== null) return remote;
  const log = await readFile(join(lane.stateDir, "daemon.log"), "utf8").catch(() => "");
  throw new Error(`The daemon did not start. It said: ${said()}\nIts log ends with: ${log.slice(-2000)}`);
}
