import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RemoteHost } from "../../core/doors/client/mod.ts";
import type { ConversationReport } from "../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { processStart } from "../../core/ground/platform/processes/process-rows.ts";
import { closeLane, type Lane, type LaneDaemon, openLane, recordedChildren, startDaemon } from "./lane.ts";
import { agentKinds, writeAgents, writeTalkManifest } from "./talk-agents.ts";
import { type Asked, faultsOfTalk, type SentMessage, shortOf } from "./talk-outcomes.ts";

/** A lane with the agents that talk, and its daemon. */
export interface TalkLane {
  lane: Lane;
  daemon: LaneDaemon;
  remote: RemoteHost;
  /** Number of its host manifest. */
  edits: number;
  /** Resolves when a daemon takes requests again. */
  up: Promise<void>;
}

/** What came of the schedules of a round. */
export interface TalkRound {
  faults: string[];
  /** Messages by their outcome as the conversation tells it, and those that went on to another session. */
  told: Record<string, number>;
  /** Processes that were killed, and daemons that ended in order. */
  kills: Partial<Record<Victim, number>>;
}

/** What a schedule ends while clients talk. */
export type Victim = "agent" | "warden" | "worker" | "host" | "host in order";

type Random = () => number;

/** Longest that anything may take, on a machine with much else to do. */
const longestMs = 30_000;

/** Makes a lane with a daemon. */
export async function openTalkLane(number: number): Promise<TalkLane> {
  const lane = await openLane(number, { startMs: 0, migrationMs: 0 });
  await writeAgents(lane);
  return { lane, edits: 0, up: Promise.resolve(), ...await started(lane) };
}

/** Ends the daemon and removes the lane. */
export async function closeTalkLane({ lane, daemon }: TalkLane): Promise<void> {
  daemon.child.kill("SIGTERM");
  await Promise.race([daemon.exited, sleep(10_000, null, { ref: false })]);
  await closeLane(lane);
}

/** Plays schedules side by side, one conversation each, while the same kills meet all of them. */
export async function playTalks(talk: TalkLane, seeds: readonly number[], randomFrom: (seed: number) => Random) {
  const round: TalkRound = { faults: [], told: {}, kills: {} };
  let isOver = false;
  const killing = killAround(talk, { random: randomFrom(seeds[0]! ^ 0x5bd1), round, isOver: () => isOver });
  const talks = await Promise.all(seeds.map((seed) => playClients(talk, seed, randomFrom(seed))));
  isOver = true;
  await killing;
  for (const one of talks) {
    const faults = one === null ? [] : await faultsIn(talk, one, round).catch((cause: unknown) => {
      const { pid, exitCode, signalCode } = talk.daemon.child;
      const state = `process ${pid}, exit ${exitCode}, signal ${signalCode}; it said: ${
        talk.daemon.said().slice(-4000)
      }`;
      throw new Error(`The daemon did not answer for schedule ${one.seed}: ${state}`, { cause });
    });
    round.faults.push(...faults.map((fault) => `schedule ${one!.seed} (${one!.kind}): ${fault}`));
  }
  return round;
}

interface Talk {
  seed: number;
  kind: string;
  id: string;
  workdir: string;
  sent: SentMessage[];
}

/** Starts a conversation and has two clients talk at once; null where the daemon was killed before it began. */
async function playClients(talk: TalkLane, seed: number, random: Random): Promise<Talk | null> {
  const kind = agentKinds[Math.floor(random() * agentKinds.length)]!;
  const workdir = join(talk.lane.folder, `work-${seed}`);
  await mkdir(workdir);
  const request = {
    workdir,
    prompt: "say:first:1:4",
    retry: "never" as const,
    keep_ms: random() < 0.8 ? 30_000 : 0,
    ...(random() < 0.5 ? { resume: "after_restart" as const } : {}),
  };
  const started = await attempt(() => talk.remote.start(request, { adapter: kind, artifacts: "none" }));
  if (started === null) return null;
  const made: Talk = { seed, kind, id: started.id, workdir, sent: [] };
  await Promise.all(["a", "b"].map((client) => playClient(talk, made, { client, random })));
  return made;
}

async function playClient(
  talk: TalkLane,
  made: Talk,
  { client, random }: { client: string; random: Random },
): Promise<void> {
  for (let at = 0; at < 7; at++) {
    await sleep(random() * 300);
    await talk.up;
    const act = random();
    const own = made.sent.filter(({ answer }) => answer === "accepted");
    const one = own[Math.floor(random() * own.length)];
    if (act < 0.68 || one === undefined) await say(talk, made, { id: `${client}${at}`, random });
    else if (act < 0.78) await edit(talk, made, one);
    else if (act < 0.86) await withdraw(talk, made, one);
    else if (act < 0.94) await attempt(() => talk.remote.conversations.stop(made.id, { drop_pending: random() < 0.2 }));
    else await writeTalkManifest(talk.lane.folder, ++talk.edits);
  }
}

const partsOf = (
  id: string,
  version: number,
  more = "3",
) => [{ type: "text" as const, text: `say:${id}:${version}:${more}` }];

async function say(talk: TalkLane, made: Talk, { id, random }: { id: string; random: Random }): Promise<void> {
  const draw = random();
  const delivery = draw < 0.5 ? "queue" : draw < 0.85 ? "steer" : "interrupt";
  const steps = Math.floor(random() * 6);
  const content = partsOf(id, 1, random() < 0.05 ? `${steps}:fail` : `${steps}`);
  const message: SentMessage = { id, delivery, ...asked(), edits: [], isWithdrawn: false };
  made.sent.push(message);
  // A client that does not know repeats it now and then, with the same id.
  for (let tries = random() < 0.6 ? 3 : 1; tries > 0 && message.answer === "unknown"; tries--) {
    try {
      await talk.remote.conversations.say(made.id, { message_id: id, content, delivery });
      answered(message, "accepted");
    } catch (error) {
      if (isRefusal(error)) answered(message, "refused");
      else await talk.up;
    }
  }
}

function asked(): Asked {
  return { answer: "unknown", began: performance.now(), ended: Infinity };
}

function answered(one: Asked, answer: "accepted" | "refused"): void {
  Object.assign(one, { answer, ended: performance.now() });
}

async function edit(talk: TalkLane, made: Talk, message: SentMessage): Promise<void> {
  const one = asked();
  const version = message.edits.push(one) + 1;
  try {
    await talk.remote.conversations.edit(made.id, message.id, partsOf(message.id, version));
    answered(one, "accepted");
  } catch (error) {
    // It waits no more; or the connection broke.
    if (isRefusal(error)) answered(one, "refused");
  }
}

async function withdraw(talk: TalkLane, made: Talk, message: SentMessage): Promise<void> {
  const withdrawn = await attempt(() => talk.remote.conversations.withdraw(made.id, message.id));
  if (withdrawn !== null) message.isWithdrawn = true;
}

/** The host has looked at the call and said no. */
function isRefusal(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? "";
  return ["conflict", "idempotency_conflict", "limit_exceeded", "busy", "invalid_request"].includes(code);
}

async function attempt<T>(act: () => Promise<T>): Promise<T | null> {
  return await act().catch(() => null);
}

/**
 * Kills agents, wardens, the worker processes in their walls, and the daemon, which is started again, until the clients are
 * done. Now and then the daemon ends in order.
 */
async function killAround(
  talk: TalkLane,
  { random, round, isOver }: { random: Random; round: TalkRound; isOver(): boolean },
): Promise<void> {
  while (!isOver()) {
    await sleep(200 + random() * 1000);
    const what = random();
    if (what < 0.3) {
      const isInOrder = what < 0.06;
      talk.daemon.child.kill(isInOrder ? "SIGTERM" : "SIGKILL");
      tally(round, isInOrder ? "host in order" : "host");
      await (talk.up = startAgain(talk));
      continue;
    }
    const victimRole = what < 0.42 ? "warden" : what < 0.56 ? "worker" : "agent";
    const role = victimRole === "worker" ? "warden" : victimRole;
    const there = (await recordedChildren(talk.lane)).filter((one) =>
      one.role === role && processStart(one.pid) === one.start
    );
    const one = there[Math.floor(random() * there.length)];
    if (one === undefined) continue;
    try {
      process.kill(victimRole === "worker" ? await innermost(one.pid) : one.pid, "SIGKILL");
      tally(round, victimRole);
    } catch {
      // It has ended meanwhile.
    }
  }
}

function tally({ kills }: TalkRound, what: Victim): void {
  kills[what] = (kills[what] ?? 0) + 1;
}

/** The process in the walls of one that was started with them; itself where it has none. */
async function innermost(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  const [child] = children.trim().split(" ");
  return child === undefined || child === "" ? pid : await innermost(Number(child));
}

async function startAgain(talk: TalkLane): Promise<void> {
  await talk.daemon.exited;
  Object.assign(talk, await started(talk.lane));
}

async function started(lane: Lane): Promise<{ daemon: LaneDaemon; remote: RemoteHost }> {
  const daemon = startDaemon(lane);
  const remote = await Promise.race([daemon.ready, sleep(longestMs, null, { ref: false })]);
  if (remote === null) throw new Error(`The daemon did not start. It said: ${daemon.said()}`);
  return { daemon, remote };
}

/** Ends a conversation and looks at what became of each message. */
async function faultsIn(talk: TalkLane, { id, sent, workdir }: Talk, round: TalkRound): Promise<string[]> {
  const { remote } = talk;
  const report = await untilEnded(remote, id);
  const events = await eventsOf(remote, report ?? await remote.conversations.get(id));
  const seen = (await readFile(join(workdir, "seen.txt"), "utf8").catch(() => "")).split("\n").filter((line) =>
    line !== ""
  );
  if (report === null) {
    const is = JSON.stringify(await remote.conversations.get(id));
    return [`it never came to rest: ${is}`, `seen: ${seen.join(", ")}`, ...events.map(shortOf)];
  }
  for (const { state, reason } of await remote.conversations.messages(id)) {
    const outcome = reason ?? state;
    round.told[outcome] = (round.told[outcome] ?? 0) + 1;
  }
  const moves = events.filter(({ event }) => event.type === "message_dropped" && event.reason === "moved").length;
  round.told["moved on"] = (round.told["moved on"] ?? 0) + moves;
  return faultsOfTalk(events, { sent, seen });
}

/** The events of a conversation's sessions; of one that goes on, those so far. */
async function eventsOf(remote: RemoteHost, { sessions }: ConversationReport): Promise<Envelope[]> {
  const events: Envelope[] = [];
  for (const { session_id, state } of sessions) {
    const more = state === "ended" ? {} : { signal: AbortSignal.timeout(2000) };
    try {
      for await (const envelope of (await remote.open(session_id)).events(more)) events.push(envelope);
    } catch (error) {
      if (more.signal?.aborted !== true) throw error;
    }
  }
  return events;
}

/** Waits until nothing waits any more, and ends what is kept. */
async function untilEnded(remote: RemoteHost, id: string) {
  for (const end = performance.now() + longestMs; performance.now() < end; await sleep(30)) {
    const report = await remote.conversations.get(id);
    if (report.state === "ended") return report;
    if (report.state === "kept" && report.pending.length === 0) {
      await attempt(async () => await (await remote.open(report.head)).interrupt());
    }
  }
  return null;
}
