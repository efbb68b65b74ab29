import { type DiskOverrun, watchDisks } from "../../ground/platform/processes/disk-watch.ts";
import { writtenBytes } from "../../ground/platform/processes/process-memory.ts";
import { processesOf, type ProcessFamily, watchProcesses } from "../../ground/platform/processes/process-watch.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";
import { wallsFolder } from "./session-walls.ts";

/** A bound that a session's programs have passed together. */
export interface Overuse {
  /** The bound, as the journal names it. */
  target: string;
  /** Their use and the bound, in words. */
  because: string;
  details: Record<string, number | string>;
  /** Whether the session is over; otherwise its programs alone are. */
  endsSession: boolean;
}

/** Options of {@link watchBounds}. */
interface WatchBoundsOptions extends ProcessFamily {
  options: Pick<SessionBrokerOptions, "limits" | "tempDir" | "workdir">;
  onOver(overuse: Overuse): void;
  /** Called twice a second. */
  onLook(): void;
}

const megabyte = 1024 * 1024;

/**
 * Bounds the processes, the memory and the disk space of a session's programs: they use them without asking the broker.
 * @returns ends it
 */
export function watchBounds({ options, roots, mark, onOver, onLook }: WatchBoundsOptions): () => void {
  const { limits, tempDir, workdir } = options;
  const family = { roots, mark };
  const stops = [
    watchProcesses({
      ...family,
      onLook,
      most: limits.processes,
      mostBytes: limits.agent_memory_mb * megabyte,
      onOver: ({ bound, used, most }) => onOver(bound === "memory" ? tooMuchMemory(used, most) : tooMany(used, most)),
    }),
    watchDisks({
      folders: [tempDir, wallsFolder(tempDir)],
      places: [tempDir, workdir],
      most: { bytes: limits.agent_disk_mb * megabyte, files: limits.agent_files },
      floorBytes: limits.disk_floor_mb * megabyte,
      written: async () => await writtenBytes(await processesOf(family) ?? []),
      onOver: (over) => onOver(diskOveruse(over)),
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

function tooMany(count: number, most: number): Overuse {
  return {
    target: `more than ${most} processes`,
    because: `the session's programs had ${count} processes, and may have ${most}; all were ended`,
    details: { processes: most },
    endsSession: false,
  };
}

function tooMuchMemory(used: number, most: number): Overuse {
  return inMegabytes("agent_memory_mb", { used, most, what: "of memory" });
}

function diskOveruse(over: DiskOverrun): Overuse {
  if (over.bound === "bytes") {
    return inMegabytes("agent_disk_mb", { ...over, what: "in their home and temporary files" });
  }
  if (over.bound === "files") {
    const { used, most } = over;
    return {
      target: `more than ${most} files`,
      because: `the session's programs had ${used} files in their home and temporary folder, and may have ${most} ` +
        "(agent_files); all were ended",
      details: { agent_files: most, used },
      endsSession: true,
    };
  }
  const [free, floor, grown] = [over.free, over.floor, over.grown].map(megabytes);
  return {
    target: `a disk with less than ${floor} MB free`,
    because: `the disk of "${over.place}" had ${free} MB left, the host keeps ${floor} MB free (disk_floor_mb), and ` +
      `the session's programs wrote the most, ${grown} MB; all were ended`,
    details: { disk_floor_mb: floor!, free_mb: free!, grown_mb: grown! },
    endsSession: true,
  };
}

function inMegabytes(
  limit: "agent_memory_mb" | "agent_disk_mb",
  { used, most, what }: { used: number; most: number; what: string },
): Overuse {
  const [had, may] = [megabytes(used), megabytes(most)];
  return {
    target: `more than ${may} MB ${what}`,
    because: `the session's programs had ${had} MB ${what}, and may have ${may} MB (${limit}); all were ended`,
    details: { [limit]: may, used_mb: had },
    endsSession: true,
  };
}

/** At least 1, so that a small use does not look like none. */
function megabytes(bytes: number): number {
  return Math.max(1, Math.round(bytes / megabyte));
}
