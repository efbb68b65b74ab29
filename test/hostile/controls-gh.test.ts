import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { AttackCase, AttackStage } from "../../core/kit/attack/attack-case.ts";
import { filesCases } from "./cases/files.ts";
import { networkCases } from "./cases/network.ts";
import { runCases } from "./cases/run.ts";
import { socketCases } from "./cases/sockets.ts";
import { starvationCases } from "./cases/starvation.ts";
import { textCases } from "./cases/text.ts";

const program = fileURLToPath(new URL("programs/unprotected-broker.mjs", import.meta.url));
const onDeno = "Deno" in globalThis;

/** An attack that has not ended by then holds the host for ever. Milliseconds. */
const patienceMs = 15_000;

const atManifest = "It is refused where the manifest is read, which only this host has.";
const builtHere = "It goes for something that only this host has.";
const measured = "What it costs is measured, and stops no host at once.";

/** Attacks that are not tried without walls, and why. */
const withoutControl: Record<string, string> = {
  "G10 host-state": builtHere,
  "G12 no-watcher": "It looks for something that is not there; a host that has it is no worse for the look.",
  "G14 inner-addresses": "Unsafe to run: it would ask addresses of the network that this machine stands in.",
  "G20 names-as-a-channel": "Unsafe to run: it would ask name servers of others.",
  "G30 request-variables": builtHere,
  "G33 inherited-descriptors":
    "Both runtimes close descriptors of their own at a start; a test of row G33 holds the rest.",
  "G34 value-in-arguments": builtHere,
  "G35 more-rights": "Unsafe to run: where it gets through it is root.",
  "G36 foreign-process": builtHere,
  "G38 false-prompt": builtHere,
  "G44 words-are-not-acts": "No host acts on words; the case holds that this one does not either.",
  "G41 false-level": "An unknown level is an error in any host that catches errors.",
  "H1 busy-processor": measured,
  "H3 dear-calls": measured,
  "H10 output-unread":
    "A program whose pipe is full waits; what would harm is a host that keeps it, which is measured.",
};

const cases = [...filesCases, ...networkCases, ...socketCases, ...runCases, ...textCases, ...starvationCases];
const nameOf = ({ id, name }: AttackCase) => `${id} ${name}`;
const reasonOf = (attack: AttackCase) =>
  attack.name.startsWith("broad-grant") ? atManifest : withoutControl[nameOf(attack)];
const tried = cases.filter((attack) => reasonOf(attack) === undefined);

test("withoutControl names only attacks that are there", () => {
  const names = cases.map(nameOf);
  expect(Object.keys(withoutControl).filter((name) => !names.includes(name))).toEqual([]);
});

test("attacks of groups G and H get through where nothing is checked", async () => {
  const waiting = [...tried];
  const withstood: string[] = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { through, said } = await runUnprotected(next);
      if (!through) withstood.push(`${nameOf(next)}: ${said.slice(0, 600)}`);
    }
  };
  await Promise.all([work(), work()]);
  expect(withstood).toEqual([]);
  expect(tried.length).toBeGreaterThan(cases.length / 2);
}, 240_000);

async function runUnprotected(attack: AttackCase): Promise<{ through: boolean; said: string }> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-control-")));
  const place = { package: join(root, "package"), workdir: join(root, "workdir"), outside: join(root, "outside") };
  for (const folder of [...Object.values(place), join(root, "temp"), join(place.workdir, "data")]) await mkdir(folder);
  await writeFile(join(place.outside, "secret.txt"), "BREACH: the content of a file outside");
  let stage: AttackStage = {};
  let end = () => {};
  try {
    stage = await attack.stage?.(place) ?? {};
    const played = play(attack, { stage, workdir: place.workdir, root });
    end = played.end;
    const { said, ended } = await played.over;
    const reached = await stage.reached?.() ?? null;
    const through = said.includes("BREACH") || said.includes('"code\\":null') || said.includes("\u001b") ||
      said.length > 500_000 || !ended || (reached !== null && !reached.includes("did not"));
    return { through, said };
  } finally {
    end();
    await stage.close?.();
    await endPrograms(place.workdir);
    await rm(root, { recursive: true, force: true });
  }
}

function play(
  { top, body, request }: AttackCase,
  { stage, workdir, root }: { stage: AttackStage; workdir: string; root: string },
): { over: Promise<{ said: string; ended: boolean }>; end(): void } {
  const input = JSON.stringify({ top, body, request, stage: stage.params ?? {}, workdir, root });
  const node = onDeno ? ["run", "-A"] : ["--max-old-space-size=128"];
  // Its own group, so that what it starts can be ended with it.
  const child = spawn("prlimit", ["--core=0", "--nofile=512", process.execPath, ...node, program, input], {
    cwd: root,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const end = () => {
    try {
      process.kill(-child.pid!, "SIGKILL");
    } catch {
      // The whole group is gone.
    }
  };
  const over = new Promise<{ said: string; ended: boolean }>((resolve, reject) => {
    let said = "";
    const take = (piece: string) => void (said.length < 600_000 && (said += piece));
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    const timer = setTimeout(end, patienceMs);
    child.on("error", reject);
    child.on("exit", () => {
      clearTimeout(timer);
      // What was said last may still be on its way; what left the group may hold the pipes for ever.
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
        resolve({ said, ended: said.includes("done\n") });
      }, 50);
    });
  });
  return { over, end };
}

/** Programs of an attack say their numbers in files, since nothing else could find them here. */
async function endPrograms(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((one) => one.startsWith("pid-"))) {
    const pid = Number(await readFile(join(folder, name), "utf8"));
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (pid > 1 && /sleep|sh|yes/.test(command)) process.kill(pid, "SIGKILL");
  }
}
