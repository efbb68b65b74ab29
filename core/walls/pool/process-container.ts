import { checksByType } from "../../ground/checks/checks-by-type.ts";
import { encodeFrame, FrameReader } from "../../ground/checks/frames.ts";
import { wardenReportSchemas } from "../channel/message-schemas.ts";
import { MessageReader } from "../channel/messages.ts";
import { protocolVersion, type WardenCommand, type WardenReport } from "../channel/protocol.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { ChildLedger } from "../../ground/runtime/child-ledger.ts";
import { cleanLine } from "../../ground/log/terminal-text.ts";
import { startBackgroundTimer } from "../../ground/runtime/background-timer.ts";
import { startGuarded } from "../../ground/runtime/guarded-process.ts";
import type { OsWallUses } from "../../ground/runtime/os-walls/os-wall.ts";
import { runtimeName } from "../../ground/runtime/platform.ts";
import { HostTime } from "./host-time.ts";
import type { Container, LaneEnd, LaneTransport } from "./lane-transport.ts";

const reportChecks = checksByType(wardenReportSchemas);

/** JSON values in one report of a warden. */
const maxReportValues = 1000;

/** Number of messages, each of `message_bytes`, that may wait for a process to read them. */
const maxUnreadMessages = 8;

interface OpenLane {
  take: (payload: Uint8Array) => void;
  end: (end: LaneEnd) => void;
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
  const child = await startGuarded({ file: wardenFile, keepText: 4096, osWalls, confinement, children });
  const lanes = new Map<number, OpenLane>();
  const frames = new FrameReader(limits.frame_bytes);
  const messages = new MessageReader(limits.frame_bytes, maxReportValues);
  const busy = { since: performance.now(), cpuMs: 0, at: performance.now() };
  let nextLane = 1;
  let verdict: LaneEnd | null = null;

  const condemnFor = (error: unknown) =>
    condemn("error", error instanceof Error ? error.message : "The warden broke the protocol.");

  const hostTime = new HostTime({
    perSecond: limits.host_ms_per_second,
    take(lane, payload) {
      if (lane !== 0) return lanes.get(lane)?.take(payload);
      takeReport(messages.read(payload)?.message);
    },
    onFault: condemnFor,
    hold: (isHeld) => child.hold(isHeld),
  });

  child.onBytes((bytes) => {
    try {
      frames.push(bytes, ({ lane, payload }) => hostTime.push(lane, payload));
    } catch (error) {
      condemnFor(error);
    }
  });

  // A process that ends closes the pipe a moment earlier; one that lives on without it is useless.
  child.onClosed(() =>
    startBackgroundTimer(() => condemn("exit", "The plugin's process closed its channel."), limits.warden_grace_ms)
  );

  const ended = child.exited.then(({ exit_code, signal }) => {
    hostTime.finish();
    const printed = child.printed();
    const oom = /heap out of memory|out of memory/i.test(printed);
    const end: LaneEnd = verdict ?? {
      reason: oom ? "out_of_memory" : "exit",
      message: oom
        ? "The plugin's process ran out of memory."
        : `The plugin's process ended (${signal ?? `exit code ${exit_code}`}).${lastLine(printed)}`,
    };
    verdict = end;
    for (const lane of lanes.values()) lane.end(end);
    lanes.clear();
  });

  return {
    openLane,
    pid: child.pid,
    ended,
    close,
    get condemned() {
      return verdict !== null;
    },
  };

  function openLane(): LaneTransport {
    const id = nextLane++;
    let end!: (end: LaneEnd) => void;
    const laneEnded = new Promise<LaneEnd>((resolve) => (end = resolve));
    const lane: OpenLane = { take: () => {}, end, cpuMs: 0 };
    lanes.set(id, lane);
    if (verdict) end(verdict);
    command({ type: "open_lane", lane: id, heap_mb: limits.heap_mb });
    return {
      id,
      post,
      onPayload: (take) => (lane.take = take),
      ended: laneEnded,
      heldMs: () => hostTime.heldMs,
      charge: (ms) => hostTime.charge(ms),
      cpuMs: () => lane.cpuMs,
      kill: (why, { gently }) => killLane(id, { why, gently }),
    };
  }

  function post(frame: Uint8Array): void {
    // The pipe does not slow this side down: unread messages would pile up in the host.
    if (child.unread() > maxUnreadMessages * limits.message_bytes) {
      condemn("error", "The plugin's process does not read.");
    } else child.write(frame);
  }

  function killLane(id: number, { why, gently }: { why: string; gently: boolean }): void {
    const lane = lanes.get(id);
    if (!lane) return;
    // On Deno terminating a thread only settles its promise: the thread itself lives on and keeps its core busy.
    if (runtimeName === "deno" && !(gently && lanes.size > 1)) return condemn("closed", why);
    command({ type: "close_lane", lane: id });
    const timer = setTimeout(() => lanes.has(id) && condemn("closed", why), limits.warden_grace_ms / 2);
    timer.unref?.();
  }

  function takeReport(report: unknown): void {
    const type = typeof report === "object" && report !== null && "type" in report ? String(report.type) : "";
    if (!reportChecks.get(type)?.Check(report)) return condemn("error", "The warden sent an unknown report.");
    const known = report as WardenReport;
    if (known.type === "stats") return watchUsage(known);
    if (known.type === "ready" && known.protocol !== protocolVersion) {
      return condemn("error", `The warden speaks protocol ${known.protocol} and not ${protocolVersion}.`);
    }
    if (known.type !== "lane_closed") return;
    lanes.get(known.lane)?.end({ reason: known.reason, message: known.message });
    lanes.delete(known.lane);
  }

  /** A heartbeat alone detects neither a loop of timers nor memory outside V8's heap. */
  function watchUsage({ rss_bytes, cpu_ms }: { rss_bytes: number; cpu_ms: number }): void {
    const now = performance.now();
    const share = (cpu_ms - busy.cpuMs) / Math.max(now - busy.at, 1);
    if (share < 0.9) busy.since = now;
    // Only the whole process can be measured: charge all its threads alike.
    for (const lane of lanes.values()) lane.cpuMs += Math.max(cpu_ms - busy.cpuMs, 0) / lanes.size;
    busy.cpuMs = cpu_ms;
    busy.at = now;
    if (rss_bytes > limits.rss_mb * 1024 * 1024) {
      condemn("out_of_memory", `The plugin's process took more than ${limits.rss_mb} MB of memory.`);
    } else if (now - busy.since > limits.cpu_burst_ms) {
      condemn("error", `The plugin kept a processor core busy for more than ${limits.cpu_burst_ms} ms.`);
    }
  }

  function condemn(reason: LaneEnd["reason"], message: string): void {
    verdict ??= { reason, message };
    child.kill();
    // None of its threads may get work while it dies.
    for (const lane of lanes.values()) lane.end(verdict);
  }

  function command(message: WardenCommand): void {
    child.write(encodeFrame(0, JSON.stringify(message)));
  }

  async function close(): Promise<void> {
    verdict ??= { reason: "closed", message: "The plugin was stopped." };
    command({ type: "stop" });
    const timer = setTimeout(() => child.kill(), limits.warden_grace_ms);
    await ended;
    clearTimeout(timer);
  }
}

function lastLine(printed: string): string {
  const line = printed.trimEnd().split("\n").at(-1)?.trim();
  return line ? ` It printed last: ${cleanLine(line, 300)}` : "";
}
