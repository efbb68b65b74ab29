import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { daemonFiles } from "../../../core/doors/daemon/daemon-files.ts";
import { inspectDaemon } from "../../../core/doors/daemon/inspect-daemon.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { fakeTerminal } from "../cli/fake-terminal.ts";

/** `npm run test:locks` has 50. */
const rounds = Number(process.env["BULKHEAD_LOCK_ROUNDS"] ?? 2);
const seed = Number(process.env["BULKHEAD_LOCK_SEED"] ?? 42);

const root = fileURLToPath(new URL("../../../", import.meta.url));
const onDeno = "Deno" in globalThis;
const program = onDeno ? ["run", "-A", join(root, "core/doors/cli/main.ts")] : [join(root, "dist/bundle/cli.js")];

let home = "";
const children: ChildProcess[] = [];
beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-two-")));
  await writeFile(join(home, "bulkhead.yaml"), "bulkhead: 1\nplugins: {}\ndaemon: { port: 0 }\n");
});
afterEach(async () => {
  await Promise.all(children.splice(0).map(killed));
  await rm(home, { recursive: true, maxRetries: 3 });
});

/** What a daemon's process has said: where it is up, or why it could not start. */
interface Answer {
  box: string;
  child: ChildProcess;
  daemon?: { pid: number; address: string };
  error?: { code: string; message: string; hint: string };
}

/** Starts a daemon in a container: process ids, a host name and a runtime folder of its own, and the folders of this machine. */
async function startIn(box: string, stateDir: string): Promise<Answer> {
  const runtimeDir = join(home, box);
  await mkdir(runtimeDir, { recursive: true, mode: 0o700 });
  const { PATH = "", HOME = "", DENO_DIR } = process.env;
  const space = ["--unshare-pid", "--unshare-uts", "--hostname", box, "--die-with-parent", "--proc", "/proc"];
  const command = [process.execPath, ...program, "up", "--json", "--state-dir", stateDir];
  const child = spawn("bwrap", ["--bind", "/", "/", "--dev-bind", "/dev", "/dev", ...space, "--", ...command], {
    cwd: home,
    env: {
      PATH,
      HOME,
      XDG_CONFIG_HOME: home,
      XDG_DATA_HOME: home,
      XDG_RUNTIME_DIR: runtimeDir,
      ...(DENO_DIR ? { DENO_DIR } : {}),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  let said = "";
  child.stderr!.resume();
  for await (const piece of child.stdout!) {
    said += String(piece);
    if (said.includes("\n")) break;
  }
  return { box, child, ...JSON.parse(said) as Pick<Answer, "daemon" | "error"> };
}

/** Ends a container with all in it. */
async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

async function cli(...args: string[]): Promise<{ code: number; said: string }> {
  const terminal = fakeTerminal({ args, cwd: home });
  return { code: await runCli(terminal), said: terminal.out() + terminal.err() };
}

test(
  `of two daemons in two containers on one state folder one serves, and the other names it (seed ${seed})`,
  async (context) => {
    await needsWall(context, "bubblewrap");
    for (let round = 0; round < rounds; round++) {
      const stateDir = join(home, `state-${round}`);
      // Every other round in the same millisecond.
      const delays = [0, 1].map((at) => round % 2 === 0 ? 0 : ((seed + 2 * round + at) * 7919) % 300);
      const answers = await Promise.all(["box-a", "box-b"].map(async (box, at) => {
        await new Promise((resolve) => setTimeout(resolve, delays[at]));
        return await startIn(box, stateDir);
      }));
      const [first, second] = answers.filter(({ daemon }) => daemon !== undefined);
      const refused = answers.find(({ error }) => error !== undefined)!;
      expect([first?.daemon?.pid, second?.box, refused?.error?.code]).toEqual([expect.any(Number), undefined, "busy"]);
      const who = `process ${first!.daemon!.pid} in another container ("${first!.box}")`;
      const message = `Cannot start the daemon: ${who} is the daemon of this state folder already.`;
      expect(refused.error).toMatchObject({ message, hint: expect.stringMatching(/^Stop it there, or name another/) });
      const reason = `The daemon of this state folder is ${who}.`;
      expect(await inspectDaemon(stateDir)).toMatchObject({ state: "elsewhere", reason });
      const { record, log } = daemonFiles(stateDir);
      expect(JSON.parse(await readFile(record, "utf8"))).toEqual(first!.daemon);
      if (round === 0) await tellTheTruth(stateDir, who);
      await killed(first!.child);
      await expect.poll(async () => (await inspectDaemon(stateDir)).state).toBe("killed");
      const next = await startIn(refused.box, stateDir);
      expect(next.error).toBeUndefined();
      const left = first!.box === refused.box ? `process ${first!.daemon!.pid},` : `${who}, ended without a shutdown`;
      expect(await readFile(log, "utf8")).toContain(JSON.stringify(`The previous daemon, ${left}`).slice(1, -1));
      await killed(next.child);
    }
  },
  30_000 + rounds * 20_000,
);

/** What commands say of a daemon that they cannot reach. */
async function tellTheTruth(stateDir: string, who: string): Promise<void> {
  const place = ["--state-dir", stateDir];
  for (const args of [["stop"], ["stop", "--now"], ["restart"], ["start"]]) {
    const { code, said } = await cli(...args, ...place);
    expect([code, said]).toEqual([
      expect.any(Number),
      expect.stringContaining(`the daemon of this state folder is ${who}`),
    ]);
    expect(code).not.toBe(0);
    expect(said).toContain("Stop it there");
  }
  const { said } = await cli("status", "--json", ...place);
  expect(JSON.parse(said)).toMatchObject({ state: "elsewhere", ready: false, address: null });
  expect((await cli("reload", ...place)).said).toContain("Do it there.");
  const alone = `The daemon of this state folder is ${who}. Commands here run on their own`;
  const listings = [await cli("session", "list", ...place), await cli("session", "list", ...place)];
  expect(listings.map(({ code, said }) => [code, said.includes(alone)])).toEqual([[0, true], [0, false]]);
  expect((await cli("doctor", ...place)).said.replaceAll(/\s+/g, " ")).toContain(who);
  expect(await inspectDaemon(stateDir)).toMatchObject({ state: "elsewhere" });
}
