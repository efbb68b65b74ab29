import { setTimeout as sleep } from "node:timers/promises";
import type { RemoteHost } from "../../core/client/mod.ts";
import { listAll } from "./processes.ts";
import { type Lane, napOf, recordedChildren, startDaemon, startProgram, writeManifest } from "./lane.ts";
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
  /** The daemon took requests before it was killed. */
  was_ready: boolean;
  faults: string[];
}

/** Longest that a daemon may take to start, on a machine with much else to do. */
const startMs = 60_000;

/** Starts a daemon, puts it under load, kills it at its moment and looks at what it left. */
export async function playRound(lane: Lane, moment: Moment, random: () => number): Promise<Round> {
  const shown: Shown = new Map();
  await writeManifest(lane, { compacts: moment === "compaction" });
  if (moment === "migration") await makeOlder(lane.journal);
  const daemon = startDaemon(lane);
  const kill = () => daemon.child.kill("SIGKILL");
  let wasReady = false;
  if (moment === "start" || moment === "migration") {
    const killed = sleep(random() * 1.3 * lane.startedInMs).then(kill);
    wasReady = await daemon.ready !== null;
    await killed;
  } else {
    const remote = await withDeadline(daemon.ready, daemon.said);
    wasReady = true;
    await work(remote, { lane, moment, random, shown, end: () => daemon.child.kill("SIGTERM") });
    kill();
  }
  await daemon.exited;
  if (moment === "compaction") await killCompaction(lane, random);
  const faults = await faultsIn(lane, shown);
  return { moment, shown: [...shown.values()].flat().length, was_ready: wasReady, faults };
}

/** Kills the command that compacts a journal without a daemon, or lets it end when it is quick. */
async function killCompaction(lane: Lane, random: () => number): Promise<void> {
  const compaction = startProgram(lane, ["journal", "compact"]);
  const killed = sleep(random() * lane.startedInMs).then(() => compaction.child.kill("SIGKILL"));
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
  const remote = await withDeadline(daemon.ready, daemon.said);
  const faults: string[] = [];
  const running = await remote.list({ state: "running", limit: 500 });
  faults.push(...running.map(({ session_id }) => `${session_id} was never ended`));
  const ended = await remote.list({ outcome: "error", limit: 500 });
  if (!ended.some(({ stop_reason }) => stop_reason === "host_restarted")) {
    faults.push("no session ended as host_restarted");
  }
  daemon.child.kill("SIGTERM");
  await daemon.exited;
  const left = (await listAll()).filter(({ pid, start, command }) =>
    command.includes(napOf(lane.number)) || before.some((one) => one.pid === pid && one.start === start)
  );
  faults.push(...left.map(({ pid, command }) => `process ${pid} was left behind: ${command.slice(0, 120)}`));
  return faults;
}

async function withDeadline(ready: Promise<RemoteHost | null>, said: () => string): Promise<RemoteHost> {
  const late = sleep(startMs, null, { ref: false });
  const remote = await Promise.race([ready, late]);
  if (remote === null) throw new Error(`The daemon did not start. It said: ${said()}`);
  return remote;
}
