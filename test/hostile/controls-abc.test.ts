import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AttackCase } from "../../core/kit/attack/attack-case.ts";
import { crashCases } from "./cases/crash.ts";
import { hangCases } from "./cases/hang.ts";
import { memoryCases } from "./cases/memory.ts";

const program = fileURLToPath(new URL("programs/unprotected-host.mjs", import.meta.url));
const onDeno = "Deno" in globalThis;

/** An attack that has not ended by then hangs. Milliseconds from its beginning. */
const patienceMs = 1500;

const asModule = "It is a module of its own, which the unprotected host does not load.";
const everywhere = "It is an error in any host that catches errors; the case holds that it is no more than that here.";
const measured = "What it holds is measured, and kills no host at once.";
const builtHere = "It goes for something that only this host has.";

/** Attacks that are not tried without walls, or come to nothing there, and why. */
const withoutControl: Record<string, string> = {
  "A4 zero-timers": "The unprotected host waits for it for ever, as it would for work.",
  "A6 looping-type": builtHere,
  "A7 throwing-proxy": everywhere,
  "A8 thrown-object": everywhere,
  "A11 builtin-join": everywhere,
  "A14 giant-string-normalize": "Where memory is short the engine's own library gives up with an error instead.",
  "A21 debugger": "Without an inspector the statement does nothing; the test of row A21 runs with one.",
  "A24 top-level-await": asModule,
  "B5 replace-all": everywhere,
  "B7 buffers": "The limit that keeps the control from taking the machine refuses it as well.",
  "B7 resizable-buffer": everywhere,
  "B9 virtual-buffer": measured,
  "B9 written-buffer": "Unsafe to run: without a limit it takes 8 GiB of the machine.",
  "B13 large-event": measured,
  "B13 giant-event": everywhere,
  "B13 giant-argument": measured,
  "B14 nesting-1000": measured,
  "B14 nesting-10000": everywhere,
  "B14 nesting-million": everywhere,
  "B15 stack-recursion": everywhere,
  "B15 stack-to-string": everywhere,
  "B15 stack-parser": everywhere,
  "B15 stack-expression-parser": everywhere,
  "B15 stack-function-parser": everywhere,
  "B18 printed-text": measured,
  "B18 open-tool-calls": measured,
  "B18 claimed-files": measured,
  "C2 kill": "Unsafe to run: it would kill the test that runs it.",
  "C3 builtin-import": asModule,
  "C3 native-addon": asModule,
  "C3 require-of-a-builtin": "A bundler resolves it, and the unprotected host has none.",
  "C6 rejected-after-the-end": builtHere,
  "C8 throwing-members": everywhere,
  "C8 cause-cycle": everywhere,
  "C8 million-errors": everywhere,
  "C8 giant-message": everywhere,
  "C9 yielded-bigint": everywhere,
  "C9 yielded-cycle": everywhere,
  "C9 yielded-hostile-key": everywhere,
  "C9 yielded-invalid-date": everywhere,
  "C9 yielded-nothing": everywhere,
  "C9 yielded-strange-type": everywhere,
  "C9 hostile-arguments": builtHere,
  "C11 write-to-dead-child": builtHere,
  "C11 write-while-child-dies": builtHere,
  "C12 death-while-writing": builtHere,
  "C13 dump-on-out-of-memory": builtHere,
};

const cases = [...hangCases, ...memoryCases, ...crashCases];
const nameOf = ({ id, name }: AttackCase) => `${id} ${name}`;
const tried = cases.filter((attack) => !attack.files && withoutControl[nameOf(attack)] === undefined);

let folder = "";
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-control-")));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("withoutControl names only attacks that are there", () => {
  const names = cases.map(nameOf);
  expect(Object.keys(withoutControl).filter((name) => !names.includes(name))).toEqual([]);
});

test("attacks of groups A, B and C get through where there are no walls", async () => {
  const waiting = [...tried];
  const withstood: string[] = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const end = await runUnprotected(next);
      if (end.startsWith("withstood")) withstood.push(`${nameOf(next)}: ${end}`);
    }
  };
  await Promise.all([work(), work()]);
  expect(withstood).toEqual([]);
  expect(tried.length).toBeGreaterThan(cases.length / 2);
  console.info(`${tried.length} of ${cases.length} attacks got through without walls.`);
}, 300_000);

/** How the unprotected host ended: `died`, `hung`, `breached`, or that it withstood the attack. */
async function runUnprotected({ top, members, body, interruptAfterMs }: AttackCase): Promise<string> {
  const attack = JSON.stringify({ top, members, body, interruptAfterMs });
  const [file, ...args] = [...limited, process.execPath, ...runtimeArgs, program, attack];
  const child = spawn(file!, args, {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env["PATH"], HOME: folder },
  });
  let printed = "";
  let hung = false;
  let patience: ReturnType<typeof setTimeout> | undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed = (printed + text).slice(-10_000);
    patience ??= setTimeout(() => {
      hung = true;
      child.kill("SIGKILL");
    }, patienceMs);
  });
  // A start that never comes is no proof of anything.
  const start = setTimeout(() => child.kill("SIGKILL"), 30_000);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  clearTimeout(start);
  clearTimeout(patience);
  if (!printed.startsWith("begun")) return "withstood: it never began";
  if (hung) return "hung";
  if (printed.includes("BREACH")) return "breached";
  return code === 0 && printed.includes("done") ? `withstood: ${printed.replaceAll("\n", " ")}` : "died";
}

const runtimeArgs = onDeno
  ? ["run", "-A", "--no-config", "--v8-flags=--max-old-space-size=64"]
  : ["--max-old-space-size=64", "--no-warnings"];

/** So that an attack takes no more of the machine than a control is worth: address space on Node, data on Deno. */
const limited = spawnSync("prlimit", ["--version"]).status === 0
  ? ["prlimit", "--core=0", onDeno ? `--data=${2 ** 31}` : `--as=${2 ** 31}`]
  : [];
