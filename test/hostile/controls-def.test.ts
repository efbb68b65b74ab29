import { spawn, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { AttackCase } from "../../core/kit/attack/attack-case.ts";
import { escapeCases } from "./cases/escape.ts";
import { leakCases } from "./cases/leaks.ts";
import { protocolCases } from "./cases/protocol.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";

const program = fileURLToPath(new URL("programs/unprotected-realm.mjs", import.meta.url));
const onDeno = "Deno" in globalThis;
const patienceMs = 15_000;

const copied = "Any host that copies once before it looks holds; the case holds that this one does.";
const newer = "The engines under test do not know this form yet; the case holds that it is refused once they do.";

/** Attacks that are not tried without walls, or come to nothing there, and why. */
const withoutControl: Record<string, string> = {
  "D3 arguments-change": copied,
  "D6 deep-event": "Whether writing it overflows depends on the engine's stack; the case holds that it is cut before.",
  "D6 large-results": "What the host holds is measured by the case, and harms no host at once.",
  "D6 long-key": "What it holds is measured, and harms no host at once.",
  "D8 deceiving-text": "It is data in any host; the case holds that it stays data here.",
  "D9 live-objects":
    "What it would be worth depends on a host's way to carry objects; the case holds that none are carried.",
  "D22 open-questions": "It fills a host only over minutes; the case holds that the questions are capped.",
  "D25 path-in-error": "It throws on what the unprotected host does not have.",
  "E3 streams-survive": "Its program outlives the control as well, which is too short to see it.",
  "E8 nan-bits": "Both runtimes clear new memory; the case holds that no endowment hands out other memory.",
  "E9 log-of-another": "It shows in a log, which the unprotected host has not.",
  "F4 import-defer": newer,
  "F4 import-source": newer,
  "F4 import-options": newer,
  "F4 import-escaped":
    "It is wrong in any engine; the case holds that no reader of source takes it for something else.",
  "F5 import-meta": "It is wrong outside a module, which the unprotected host does not load.",
  "F8 html-comment": copied,
  "F26 transform-blind-spots":
    "It shows what a rewriter of source gets wrong, and the unprotected host rewrites nothing.",
  "F27 own-compartment": "There is no compartment to use.",
  "G37 mcp-steal": "The unprotected host has no MCP servers to hand on.",
};

const cases = [...protocolCases, ...leakCases, ...escapeCases];
const nameOf = ({ id, name }: AttackCase) => `${id} ${name}`;
const tried = cases.filter((attack) => !attack.files && withoutControl[nameOf(attack)] === undefined);

test("withoutControl names only attacks that are there", () => {
  const names = cases.map(nameOf);
  expect(Object.keys(withoutControl).filter((name) => !names.includes(name))).toEqual([]);
});

test("attacks of groups D, E and F get through where an adapter runs in the host's own realm", async () => {
  const waiting = [...tried];
  const withstood: string[] = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const said = await runUnprotected(next);
      if (!gotThrough(next, said)) {
        withstood.push(`${nameOf(next)}: ${said.done ? "done" : "not done"} ${said.text.slice(0, 300)}`);
      }
    }
  };
  await Promise.all([work(), work()]);
  expect(withstood.sort()).toEqual([]);
  expect(tried.length).toBeGreaterThan(cases.length / 2);
  console.info(`${tried.length} of ${cases.length} attacks got through without walls.`);
}, 300_000);

interface Said {
  text: string;
  events: Envelope[];
  done: boolean;
}

/** It said so itself, or left what a check finds, or took the host down (F9 its own functions), or was let do what the walls end it for. */
function gotThrough({ id, expected, check }: AttackCase, { text, events, done }: Said): boolean {
  if (text.includes("BREACH")) return true;
  if (id === "F9") return !done;
  if (expected.kind === "harmless") return done && check !== undefined && check({ events, result: null }) !== null;
  return expected.kind === "refused" ? done : done || expected.kind !== "any" || text === "";
}

async function runUnprotected(
  { top, members, body, request, before, stage, interruptAfterMs }: AttackCase,
): Promise<Said> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-control-")));
  const place = { package: join(root, "package"), workdir: join(root, "workdir"), outside: join(root, "outside") };
  for (const folder of Object.values(place)) await mkdir(folder);
  await writeFile(join(place.outside, "secret.txt"), "BREACH: the content of a file outside");
  const staged = await stage?.(place) ?? {};
  try {
    const input = {
      top,
      members,
      body,
      request,
      before,
      stage: staged.params,
      workdir: place.workdir,
      interruptAfterMs,
    };
    const [file, ...args] = [...limited, process.execPath, ...runtimeArgs, program, JSON.stringify(input)];
    const child = spawn(file!, args, {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env["PATH"], HOME: root },
    });
    let text = "";
    let tail = "";
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      tail = (tail + piece).slice(-10);
      if (text.length < 2_000_000) text += piece;
    });
    child.stderr.resume();
    const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
    await new Promise((resolve) => child.once("close", resolve));
    clearTimeout(timer);
    return { text, events: envelopesOf(text), done: tail.endsWith("done\n") };
  } finally {
    await staged.close?.();
    await rm(root, { recursive: true, force: true });
  }
}

function envelopesOf(text: string): Envelope[] {
  return text.split("\n").flatMap((line, index): Envelope[] => {
    try {
      const event = JSON.parse(line) as Envelope["event"];
      return [{
        v: 1,
        seq: index + 1,
        gseq: index + 1,
        ts: "",
        session_id: "s",
        attempt: 1,
        adapter: { id: "a", version: "1" },
        source: "agent",
        event,
      }];
    } catch {
      return [];
    }
  });
}

const runtimeArgs = onDeno
  ? ["run", "-A", "--no-config", "--v8-flags=--max-old-space-size=128"]
  : ["--max-old-space-size=128", "--no-warnings"];

const limited = spawnSync("prlimit", ["--version"]).status === 0
  ? ["prlimit", "--core=0", onDeno ? `--data=${2 ** 31}` : `--as=${2 ** 33}`]
  : [];
