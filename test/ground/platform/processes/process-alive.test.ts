import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import process, { pid as ownPid } from "node:process";
import { afterEach, expect, test } from "vitest";
import { isAlive } from "../../../../core/ground/platform/state/lock-holder.ts";
import { processIsAlive } from "../../../../core/ground/platform/processes/process-alive.ts";
import { skipBecause } from "../../../skip-because.ts";

let parent: ChildProcess | undefined;
afterEach(async () => {
  if (!parent) return;
  const gone = once(parent, "exit");
  parent.kill("SIGKILL");
  await gone;
  parent = undefined;
});

test("processIsAlive() finds this process", () => {
  expect(processIsAlive(ownPid)).toBe(true);
});

test("processIsAlive() and isAlive() take a zombie for ended", async (context) => {
  if (process.platform !== "linux") skipBecause(context, "only Linux shows what a zombie is");
  // The shell becomes sleep, which never collects a child. The child ends only after that: a shell would collect it.
  const script = "until grep -q sleep /proc/$$/comm; do :; done & echo $!; exec sleep 60";
  parent = spawn("/bin/sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"] });
  const [printed] = await once(parent.stdout!, "data");
  const pid = Number(String(printed));
  await expect.poll(() => stateOf(pid), { timeout: 10_000 }).toBe("Z");
  expect(processIsAlive(pid)).toBe(false);
  expect(isAlive({ pid, start: null })).toBe(false);
});

async function stateOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2)[0];
}
