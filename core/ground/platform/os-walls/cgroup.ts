import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { sleep } from "../engine/wait.ts";
import { randomId } from "../files/hash.ts";
import type { Command, Confinement, OsWall, ProbedWall, WrappedCommand } from "./os-wall.ts";
import { tryProgram } from "./try-program.ts";

/** A control group of version 2 for each warden (Linux: Documentation/admin-guide/cgroup-v2.rst). */
export const cgroup: OsWall = {
  name: "cgroup",
  does: "Caps memory, processes and share of the processor of all that it holds together.",
  lacks: "Without it, only the memory and the processes that the host counts are bounded, a moment later.",
  probe: () => probeCgroup({ root: "/sys/fs/cgroup", ownGroup: "/proc/self/cgroup" }),
};

interface CgroupPlaces {
  /** Mount point of the hierarchy. */
  root: string;
  /** File that says which group this process is in. */
  ownGroup: string;
}

const shell = "/bin/sh";
/** Enters the group and becomes the program: no part of it ever runs outside. */
const enter = 'echo $$ > "$0" && exec "$@"';
/** Processes and threads, of which a runtime with two workers has about 25. */
const mostTasks = 256;
/** A tenth of the default of every other group. */
const cpuWeight = 10;
const remedy = "Give the host a delegated cgroup: systemd-run --user --scope -p Delegate=yes bulkhead …";

/** Tries to make a group with limits, put a process into it and remove it again. Never throws. */
export async function probeCgroup(places: CgroupPlaces): Promise<ProbedWall> {
  const none = (reason: string): ProbedWall => ({ active: false, reason, remedy });
  // Only a version 2 hierarchy has `cgroup.controllers`.
  if (await read(join(places.root, "cgroup.controllers")) === null) {
    return none(`There is no cgroup version 2 hierarchy at ${places.root}.`);
  }
  const parent = await findParent(places);
  if (parent === null) return none("No group above the host hands on the memory and pids controllers to this user.");
  try {
    const group = await makeGroup(parent, { rssMb: 64 });
    const trial = await tryProgram(shell, ["-c", enter, join(group, "cgroup.procs"), shell, "-c", ":"]);
    await removeGroup(group);
    if (!trial.works) return none(`A process could not enter a group: ${trial.why}.`);
  } catch (error) {
    return none(`A group could not be made: ${error instanceof Error ? error.message : String(error)}.`);
  }
  return { active: true, wrap: (command, confinement) => wrap(command, confinement, { parent }) };
}

/** The nearest group, from the host's own upwards, whose children have the controllers. */
async function findParent({ root, ownGroup }: CgroupPlaces): Promise<string | null> {
  const own = /^0::(\/.*)$/m.exec(await read(ownGroup) ?? "")?.[1];
  if (own === undefined) return null;
  for (let group = resolve(root, `.${own}`);; group = dirname(group)) {
    const handedOn = (await read(join(group, "cgroup.subtree_control")))?.trim().split(/\s+/) ?? [];
    if (handedOn.includes("memory") && handedOn.includes("pids")) return group;
    if (group === root || group === dirname(group)) return null;
  }
}

async function wrap(
  command: Command,
  { rssMb }: Confinement,
  { parent }: { parent: string },
): Promise<WrappedCommand> {
  const group = await makeGroup(parent, { rssMb });
  const args = ["-c", enter, join(group, "cgroup.procs"), command.file, ...command.args];
  return { command: { ...command, file: shell, args }, release: () => removeGroup(group) };
}

async function makeGroup(parent: string, { rssMb }: { rssMb: number }): Promise<string> {
  const group = join(parent, `bulkhead-${randomId()}`);
  await mkdir(group);
  try {
    await writeFile(join(group, "memory.max"), String(rssMb * 1024 * 1024));
    await writeFile(join(group, "pids.max"), String(mostTasks));
    // Without swap and cpu controllers these files are missing, and the limits above apply all the same.
    await writeFile(join(group, "memory.swap.max"), "0").catch(() => {});
    await writeFile(join(group, "cpu.weight"), String(cpuWeight)).catch(() => {});
    return group;
  } catch (error) {
    await removeGroup(group);
    throw error;
  }
}

/**
 * Kills the remaining processes of a group and removes it; the kernel may need a moment to release the last process.
 */
async function removeGroup(group: string): Promise<void> {
  await writeFile(join(group, "cgroup.kill"), "1").catch(() => {});
  for (let tries = 0; tries < 20; tries++) {
    const removed = await rmdir(group).then(() => true, (error: { code?: string }) => error.code === "ENOENT");
    if (removed) return;
    await sleep(10);
  }
}

async function read(file: string): Promise<string | null> {
  return await readFile(file, "utf8").catch(() => null);
}
