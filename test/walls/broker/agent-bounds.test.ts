import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import type { SessionBrokerOptions } from "../../../core/walls/broker/session-broker.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { smallDisk } from "../../records/git/small-disk.ts";
import { anyShell, capabilities, errorOf, makeBroker, readAll, runShell } from "./broker-fixture.ts";
import { skipBecause } from "../../skip-because.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function bounded(limits: Partial<typeof defaultLimits>, changes: Partial<SessionBrokerOptions> = {}) {
  const ends: ErrorData[] = [];
  const fixture = await makeBroker({
    permissions: { run: [anyShell] },
    containPrograms: true,
    limits: { ...defaultLimits, agent_grace_ms: 60_000, ...limits },
    endSession: (error) => void ends.push(error),
    ...changes,
  });
  return { ...fixture, ends };
}

async function ended({ broker }: Awaited<ReturnType<typeof bounded>>, script: string) {
  const { process_id } = await runShell(broker, script);
  return await broker.call("process_wait", { process_id });
}

test.for(["$HOME", "/tmp", "/dev/shm"])(
  "a session that fills %s is ended with the limit and what it used",
  async (place, context) => {
    await needsWall(context, "bubblewrap");
    const fixture = await bounded({ agent_disk_mb: 30 });
    const flood = `i=0; while head -c 4000000 /dev/zero > "${place}/f$i"; do i=$((i+1)); sleep 0.02; done; sleep 60`;
    expect(await ended(fixture, flood)).toMatchObject({ signal: "SIGKILL" });
    expect(fixture.ends).toEqual([{
      code: "limit_exceeded",
      message: expect.stringMatching(/^Cannot go on: .* had \d+ MB .* may have 30 MB \(agent_disk_mb\)/),
      details: { agent_disk_mb: 30, used_mb: expect.any(Number) },
    }]);
    expect(capabilities(fixture.events).at(-1)).toMatchObject({ permission: "run", decision: "denied" });
    expect(await errorOf(runShell(fixture.broker, "true"))).toMatchObject({ code: "limit_exceeded" });
  },
);

test("a session that makes too many files is ended", async (context) => {
  await needsWall(context, "bubblewrap");
  const fixture = await bounded({ agent_files: 2000 });
  const flood = "i=0; while :; do mkdir /tmp/d$i; (cd /tmp/d$i; seq 300 | xargs touch); i=$((i+1)); done";
  expect(await ended(fixture, flood)).toMatchObject({ signal: "SIGKILL" });
  expect(fixture.ends).toMatchObject([{ code: "limit_exceeded", details: { agent_files: 2000 } }]);
});

test("on a disk that fills up the session that writes is ended, and the others go on", async (context) => {
  await needsWall(context, "bubblewrap");
  const root = await mkdtemp(join(tmpdir(), "bulkhead-bounds-"));
  folders.push(root);
  using disk = smallDisk(join(root, "disk"), 80 * 1024);
  if (disk === null) return skipBecause(context, "this user may not mount a file system");
  const place = (name: string) => {
    const [tempDir, workdir] = [join(disk.folder, name, "temp"), join(disk.folder, name, "work")];
    mkdirSync(workdir, { recursive: true });
    return { tempDir, workdir };
  };
  for (const target of ["/tmp/f", "$PWD/f", "$HOME/f"]) {
    const [hog, canary] = await Promise.all([bounded({}, place("hog")), bounded({}, place("canary"))]);
    const quiet = runShell(canary.broker, "echo some > /tmp/some; sleep 3; exit 7");
    const flood = `while :; do head -c 1000000 /dev/zero; sleep 0.01; done > ${target}; sleep 60`;
    expect(await ended(hog, flood)).toMatchObject({ signal: "SIGKILL" });
    expect(hog.ends).toMatchObject([{ code: "limit_exceeded", details: { disk_floor_mb: 8 } }]);
    const { process_id } = await quiet;
    expect(await canary.broker.call("process_wait", { process_id })).toMatchObject({ exit_code: 7 });
    expect(canary.ends).toEqual([]);
    await Promise.all([hog.broker.close(), canary.broker.close()]);
    for (const { workdir } of [hog, canary]) await rm(join(workdir, ".."), { recursive: true, force: true });
  }
});

/** A process whose files in memory no process maps, by the numbers of the call on x64 and arm64. */
const heldInFiles = `perl -e 'my $name = "some"; my $n = syscall(${process.arch === "arm64" ? 279 : 319}, $name, 0);
  open(my $file, ">&=", $n); print $file "x" x 1e6 for 1..300; sleep 61'`;

test.for([
  [
    "in several processes",
    `${"head -c 60000000 /dev/zero | tail -c 60000000 | (sleep 61; cat) >/dev/null & ".repeat(6)} sleep 61`,
  ],
  ["in a file that none of them maps", heldInFiles],
])("a session that has too much memory is ended: %s", async ([, script], context) => {
  await needsWall(context, "bubblewrap");
  const fixture = await bounded({ agent_memory_mb: 200 });
  expect(await ended(fixture, script!)).toMatchObject({ signal: "SIGKILL" });
  expect(fixture.ends).toMatchObject([{ code: "limit_exceeded", details: { agent_memory_mb: 200 } }]);
});

test("a session within its bounds goes on", async () => {
  const fixture = await bounded({ agent_memory_mb: 500, agent_disk_mb: 50 }, { containPrograms: false });
  const script =
    "head -c 20000000 /dev/zero > $TMPDIR/f; head -c 40000000 /dev/zero | tail -c 40000000 | wc -c; sleep 1.5";
  expect(await ended(fixture, script)).toMatchObject({ exit_code: 0 });
  expect(fixture.ends).toEqual([]);
});

/** Instances of inotify that a program of two hundred tries gets, by the numbers of the call on x64 and arm64. */
const manyWatches = `perl -e 'my $n = 0; $n++ while $n < 200 && syscall(${
  process.arch === "arm64" ? 26 : "294"
}, 0) >= 0; print $n'`;

test("contained programs take a part of the user's inotify, few open files, and are ended first", async (context) => {
  await needsWall(context, "bubblewrap");
  const { broker } = await bounded({ agent_open_files: 500 }, { programNet: [] });
  const { stdout } = await runShell(broker, `${manyWatches}; echo; ulimit -Hn; cat /proc/self/oom_score_adj`);
  const [watches, files, score] = (await readAll(broker, stdout)).split("\n");
  expect([Number(watches) > 0, Number(watches) <= 32, files, score]).toEqual([true, true, "500", "500"]);
  expect(readFileSync("/proc/sys/user/max_inotify_instances", "utf8").trim()).toBe(ofMachine);
});

const ofMachine = readFileSync("/proc/sys/user/max_inotify_instances", "utf8").trim();

test("contained programs can write nothing in /dev but their own shared memory", async (context) => {
  await needsWall(context, "bubblewrap");
  const { broker, root } = await bounded({});
  const script = "for f in /dev/x /dev/pts/x; do (echo x > $f) 2>/dev/null && echo wrote $f; done; " +
    "echo x > /dev/shm/x && cat /dev/shm/x; echo x > /dev/null && echo ok";
  const { stdout } = await runShell(broker, script);
  expect(await readAll(broker, stdout)).toBe("x\nok\n");
  await broker.close();
  expect(existsSync(join(root, "state", "temp-walls"))).toBe(false);
});
