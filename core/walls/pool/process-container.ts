import { checksByType } from "../../ground/checks/lazy-check.ts";
import { encodeFrame, FrameReader } from "../../ground/checks/frames.ts";
import { wardenReportSchemas } from "../channel/message-schemas.ts";
import { MessageReader } from "../channel/messages.ts";
import { protocolVersion, type WardenCommand, type WardenReport } from "../channel/protocol.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { ChildLedger } from "../../ground/platform/processes/child-ledger.ts";
import { tellingLine } from "../../ground/log/telling-line.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import {
  type BytePipe,
  type GuardedProcess,
  startGuarded,
  type ThreadPipe,
} from "../../ground/platform/processes/guarded-process.ts";
import type { OsWallUses } from "../../ground/platform/os-walls/os-wall.ts";
import { runtimeName } from "../../ground/platform/engine/platform.ts";
import { within } from "../../ground/platform/engine/within.ts";
import { HostTime } from "./host-time.ts";
import type { Container, LaneEnd, LaneTransport } from "./lane-transport.ts";

const reportChecks = checksByType(wardenReportSchemas);

/** JSON values in one report of a warden. */
const maxReportValues = 1000;

/** Number of messages, each of `message_bytes`, that may wait for a process to read them. */
const maxUnreadMessages = 8;

type ProcessExit = Awaited<GuardedProcess["exited"]>;

/** Pipes for each worker that may run at a time: workers that replace others in the same process get the rest. */
const pipesPerWorker = 2;
const mostPipes = 32;

interface OpenLane {
  take: (payload: Uint8Array) => void;
  end: (end: LaneEnd) => void;
  /** Settles when all that its thread has sent was read. */
  read: Promise<void>;
  /** Set when the warden has said that it ended. */
  isClosing: boolean;
  cpuMs: number;
}

/**
 * Starts a warden: a child process without permissions that holds the plugin's threads.
 * @throws {BulkheadError} `unavailable` when a wall of the operating system is required and missing
 */
export async function startProcessContainer(
  wardenFile: string,
  { limits, osWalls, children }: { limits: Limits; osWalls: OsWallUses; children?: ChildLedger | undefined },
): Promise<Container> {
  const { rss_mb: rssMb, open_files: openFiles, workers } = limits;
  const confinement = { rssMb, openFiles, workers };
  const threadPipes = Math.min(pipesPerWorker * workers, mostPipes);
  const child = await startGuarded({ file: wardenFile, keepText: 4096, osWalls, confinement, threadPipes, children });
  return new ProcessContainer(child, limits);
}

/** A warden's process, with its lanes: each on a pipe of its own or, when those are used up, on the one they share. */
class ProcessContainer implements Container {
  readonly #child: GuardedProcess;
  readonly #limits: Limits;
  readonly #lanes = new Map<number, OpenLane>();
  readonly #messages: MessageReader;
  readonly #hostTime: HostTime;
  /** Pipes that no lane has had. */
  readonly #freePipes: ThreadPipe[];
  readonly #readPipes: BytePipe[] = [];
  readonly #busy = { since: performance.now(), cpuMs: 0, at: performance.now() };
  readonly ended: Promise<void>;
  #nextLane = 1;
  #verdict: LaneEnd | null = null;

  constructor(child: GuardedProcess, limits: Limits) {
    this.#child = child;
    this.#limits = limits;
    this.#messages = new MessageReader(limits.frame_bytes, maxReportValues);
    this.#hostTime = new HostTime({
      perSecond: limits.host_ms_per_second,
      take: (lane, payload) => this.#take(lane, payload),
      onFault: (error) => this.#condemnFor(error),
      hold: (isHeld) => {
        for (const pipe of this.#readPipes) pipe.hold(isHeld);
      },
    });
    this.#freePipes = [...child.threadPipes];
    this.#readFrames(child, (lane, payload) => this.#hostTime.push(lane, payload));
    // A process that ends closes the pipe a moment earlier; one that lives on without it is useless.
    child.onClosed(() =>
      startBackgroundTimer(
        () => this.#condemn("exit", "The plugin's process closed its channel."),
        limits.warden_grace_ms,
      )
    );
    this.ended = child.exited.then((exit) => this.#endLanes(exit));
  }

  get pid(): number {
    return this.#child.pid;
  }

  get condemned(): boolean {
    return this.#verdict !== null;
  }

  openLane(): LaneTransport {
    const id = this.#nextLane++;
    let end!: (end: LaneEnd) => void;
    const ended = new Promise<LaneEnd>((resolve) => (end = resolve));
    const own = this.#freePipes.shift();
    const read = own ? new Promise<void>((resolve) => own.onClosed(resolve)) : Promise.resolve();
    const lane: OpenLane = { take: () => {}, end, read, isClosing: false, cpuMs: 0 };
    this.#lanes.set(id, lane);
    if (this.#verdict) end(this.#verdict);
    // The number of the lane in its frames is not believed: a thread speaks for itself alone.
    if (own) this.#readFrames(own, (_, payload) => this.#hostTime.push(id, payload));
    const { heap_mb } = this.#limits;
    this.#command({ type: "open_lane", lane: id, heap_mb, ...(own && { descriptor: own.descriptor }) });
    const pipe = own ?? this.#child;
    return {
      id,
      post: (frame) => this.#post(pipe, frame),
      onPayload: (take) => (lane.take = take),
      ended,
      heldMs: () => this.#hostTime.heldMs,
      charge: (ms) => this.#hostTime.charge(ms),
      cpuMs: () => lane.cpuMs,
      kill: (why, { gently }) => this.#killLane(id, { why, gently }),
    };
  }

  async close(): Promise<void> {
    this.#verdict ??= { reason: "closed", message: "The plugin was stopped." };
    this.#command({ type: "stop" });
    const timer = setTimeout(() => this.#child.kill(), this.#limits.warden_grace_ms);
    await this.ended;
    clearTimeout(timer);
  }

  #readFrames(pipe: BytePipe, take: (lane: number, payload: Uint8Array) => void): void {
    const frames = new FrameReader(this.#limits.frame_bytes);
    this.#readPipes.push(pipe);
    pipe.onBytes((bytes) => {
      try {
        frames.push(bytes, ({ lane, payload }) => take(lane, payload));
      } catch (error) {
        this.#condemnFor(error);
      }
    });
    if (this.#hostTime.isHeld) pipe.hold(true);
  }

  #take(lane: number, payload: Uint8Array): void {
    if (lane !== 0) return this.#lanes.get(lane)?.take(payload);
    this.#takeReport(this.#messages.read(payload)?.message);
  }

  #takeReport(report: unknown): void {
    const type = typeof report === "object" && report !== null && "type" in report ? String(report.type) : "";
    if (!reportChecks.get(type)?.Check(report)) return this.#condemn("error", "The warden sent an unknown report.");
    const known = report as WardenReport;
    if (known.type === "stats") return this.#watchUsage(known);
    if (known.type === "ready" && known.protocol !== protocolVersion) {
      return this.#condemn("error", `The warden speaks protocol ${known.protocol} and not ${protocolVersion}.`);
    }
    if (known.type === "lane_closed") void this.#laneClosed(known);
  }

  /** A thread's last messages may still be in its pipe, or wait for the host's time. */
  async #laneClosed({ lane: id, reason, message }: Extract<WardenReport, { type: "lane_closed" }>): Promise<void> {
    const lane = this.#lanes.get(id);
    // A warden that says it again and again would leave a timer each time.
    if (!lane || lane.isClosing) return;
    lane.isClosing = true;
    // One that died before it opened its pipe never closes it.
    await within(lane.read, this.#limits.warden_grace_ms / 4);
    this.#hostTime.after(() => {
      lane.end({ reason, message });
      this.#lanes.delete(id);
    });
  }

  /** A heartbeat alone detects neither a loop of timers nor memory outside V8's heap. */
  #watchUsage({ rss_bytes, cpu_ms }: { rss_bytes: number; cpu_ms: number }): void {
    const { rss_mb, cpu_burst_ms } = this.#limits;
    const busy = this.#busy;
    const now = performance.now();
    const share = (cpu_ms - busy.cpuMs) / Math.max(now - busy.at, 1);
    if (share < 0.9) busy.since = now;
    // Only the whole process can be measured: charge all its threads alike.
    for (const lane of this.#lanes.values()) lane.cpuMs += Math.max(cpu_ms - busy.cpuMs, 0) / this.#lanes.size;
    busy.cpuMs = cpu_ms;
    busy.at = now;
    if (rss_bytes > rss_mb * 1024 * 1024) {
      this.#condemn("out_of_memory", `The plugin's process took more than ${rss_mb} MB of memory.`);
    } else if (now - busy.since > cpu_burst_ms) {
      this.#condemn("error", `The plugin kept a processor core busy for more than ${cpu_burst_ms} ms.`);
    }
  }

  #post(pipe: BytePipe, frame: Uint8Array): void {
    // The pipe does not slow this side down: unread messages would pile up in the host.
    if (pipe.unread() > maxUnreadMessages * this.#limits.message_bytes) {
      this.#condemn("error", "The plugin's process does not read.");
    } else pipe.write(frame);
  }

  #command(message: WardenCommand): void {
    this.#child.write(encodeFrame(0, JSON.stringify(message)));
  }

  #killLane(id: number, { why, gently }: { why: string; gently: boolean }): void {
    const lanes = this.#lanes;
    if (!lanes.has(id)) return;
    // On Deno terminating a thread only settles its promise: the thread itself lives on and keeps its core busy.
    if (runtimeName === "deno" && !(gently && lanes.size > 1)) return this.#condemn("closed", why);
    this.#command({ type: "close_lane", lane: id });
    const timer = setTimeout(() => lanes.has(id) && this.#condemn("closed", why), this.#limits.warden_grace_ms / 2);
    timer.unref?.();
  }

  #condemnFor(error: unknown): void {
    this.#condemn("error", error instanceof Error ? error.message : "The warden broke the protocol.");
  }

  #condemn(reason: LaneEnd["reason"], message: string): void {
    this.#verdict ??= { reason, message };
    this.#child.kill();
    // None of its threads may get work while it dies.
    for (const lane of this.#lanes.values()) lane.end(this.#verdict);
  }

  #endLanes(exit: ProcessExit): void {
    this.#hostTime.finish();
    const end = this.#verdict ?? endOf(exit, this.#child.printed());
    this.#verdict = end;
    for (const lane of this.#lanes.values()) lane.end(end);
    this.#lanes.clear();
  }
}

/** Guesses from its last output why a process ended that the host did not stop. */
function endOf({ exit_code, signal }: ProcessExit, printed: string): LaneEnd {
  if (/heap out of memory|out of memory/i.test(printed)) {
    return { reason: "out_of_memory", message: "The plugin's process ran out of memory." };
  }
  const how = signal ?? `exit code ${exit_code}`;
  const line = tellingLine(printed, { of: "tail", most: 300 });
  return { reason: "exit", message: `The plugin's process ended (${how}).${line && ` It printed: ${line}`}` };
}
