import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { runtimeName } from "./platform.ts";

/** One thing that can contain a plugin on this machine. */
export interface WallReport {
  name: string;
  /** `used` for every plugin, `present` but not used, or `missing`. */
  state: "used" | "present" | "missing";
  /** One sentence: what it does, or why it is missing. */
  detail: string;
}

/** Longest run of a program that only shows whether it works. */
const tryTimeoutMs = 3000;

/** The walls that are used on this runtime and system, and those that are there without being used. */
export async function probeWalls(): Promise<WallReport[]> {
  const [prlimit, bwrap, cgroup] = await Promise.all([probePrlimit(), probeBwrap(), probeCgroup()]);
  return [
    wall("compartment", "used", "No ambient authority, fresh for each session."),
    wall("worker thread", "used", "Heap limit; ended when it does not answer."),
    wall("process per plugin", "used", "Memory and crashes stay with the plugin."),
    runtimeName === "deno"
      ? wall("Deno permissions", "used", "The process may read its own code alone.")
      : wall("Node permission model", "used", "It may read its own code, and start nothing."),
    prlimit,
    bwrap,
    cgroup,
  ];
}

function wall(name: string, state: WallReport["state"], detail: string): WallReport {
  return { name, state, detail };
}

async function probePrlimit(): Promise<WallReport> {
  const works = await runs("prlimit", ["--version"]);
  return wall(
    "prlimit",
    works ? "present" : "missing",
    works ? "It could limit a process's memory." : "It was not found.",
  );
}

async function probeBwrap(): Promise<WallReport> {
  if (!await runs("bwrap", ["--version"])) return wall("bubblewrap", "missing", "bwrap was not found.");
  const works = await runs("bwrap", ["--ro-bind", "/", "/", "--unshare-net", "--unshare-pid", "true"]);
  return works
    ? wall("bubblewrap", "present", "It could hide files, network and other processes.")
    : wall("bubblewrap", "missing", "bwrap is installed, but this system does not let it make namespaces.");
}

async function probeCgroup(): Promise<WallReport> {
  const root = "/sys/fs/cgroup";
  // `cgroup.controllers` stands only in a version 2 hierarchy (Linux: Documentation/admin-guide/cgroup-v2.rst).
  const version2 = await allows(`${root}/cgroup.controllers`, constants.R_OK);
  if (!version2) return wall("cgroup v2", "missing", "There is no cgroup version 2 hierarchy.");
  return await allows(root, constants.W_OK)
    ? wall("cgroup v2", "present", "It could limit memory and processes of a whole tree.")
    : wall("cgroup v2", "missing", "There is one, but this user may not make groups in it.");
}

function runs(program: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: tryTimeoutMs, killSignal: "SIGKILL" }, (error) => resolve(error === null));
  });
}

async function allows(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode);
    return true;
  } catch {
    return false;
  }
}
