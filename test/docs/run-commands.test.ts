import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createProgram } from "../../core/doors/cli/program.ts";
import type { Daemon } from "../../core/doors/daemon/daemon.ts";
import { fakeHost } from "../doors/cli/fake-host.ts";
import { fakeTerminal } from "../doors/cli/fake-terminal.ts";
import { root } from "../structure/source.ts";
import { asideFor, prepared, standsFor, unlike, withDaemon } from "./command-lists.ts";
import { type CommandWorld, exampleSession, openCommandWorld } from "./command-world.ts";
import {
  alternativesOf,
  disarm,
  documentCommands,
  filled,
  printedCommands,
  refusalOf,
  wordsOf,
} from "./typed-commands.ts";

let world: CommandWorld;
beforeAll(async () => {
  world = await openCommandWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** Lines that a person can type as they stand, by their words, each once. */
async function wholeLines(): Promise<string[][]> {
  const program = await createProgram({
    terminal: fakeTerminal({ cwd: tmpdir() }),
    createHost: fakeHost().create,
    exit: { code: 0 },
    whole: true,
  });
  disarm(program);
  const all = [...documentCommands(), ...printedCommands()].flatMap(({ text }) => alternativesOf(wordsOf(text)));
  const distinct = new Map(all.map(([, ...words]) => [words.join(" "), words]));
  const whole: string[][] = [];
  for (const words of distinct.values()) {
    // A sentence may name a command without what it needs; the parser says so.
    if (words[0] !== filled && await refusalOf(program, words, { isNamed: false }) === null) whole.push(words);
  }
  return whole;
}

/** Puts what the world has where a line leaves a place, or names what a reader has. */
function inWorld(words: readonly string[]): string[] {
  const [group = "", act = ""] = words;
  return words.map((word, at) => {
    const before = words[at - 1] ?? "";
    if (at > 0 && (word === filled && before !== "--to" || /^<.+>$/.test(word))) return placeOf([group, act], before);
    if (word === "NAME") return placeOf([group, act], before);
    const isAgent = ["run", "loop"].includes(group) && at === 1 || ["--agent", "--agents"].includes(before);
    if (!isAgent) return word.replace("$HOME", process.env["HOME"] ?? "");
    return word.split(",").map((one) => standsFor[one] ?? one).join(",");
  });
}

function placeOf([group, act]: [string, string], before: string): string {
  if (before === "--as") return "another";
  if (before === "--scope") return "run";
  if (group === "plugin" && ["test", "check", "pack", "dev"].includes(act)) return "./my-plugin";
  return { session: exampleSession, help: "run", secret: "API_KEY", token: "ci" }[group] ?? "my-agent";
}

const lineOf = (words: readonly string[]) => words.join(" ");
/** Why a line is not run here; the longest beginning counts. */
const asideOf = (line: string) =>
  Object.keys(asideFor).filter((one) => one.endsWith("$") ? `${line}$` === one : `${line} `.startsWith(`${one} `))
    .toSorted((a, b) => b.length - a.length)[0];

const isRunHere = (line: string) => (asideFor[asideOf(line) ?? ""] ?? "") === "";

const whole = await wholeLines();
/** Lines as they are run here: those that differ in their prompt alone are one. */
const here = new Map(
  whole.filter((words) => isRunHere(words.join(" "))).map((words) => {
    const line = inWorld(words);
    return [line.map((word) => /[ …]/.test(word) ? "…" : word).join(" "), line];
  }),
);
test("each line that is not run here is one that there is, and the test that runs it is there", () => {
  const used = new Set(whole.map((words) => asideOf(lineOf(words))));
  expect(Object.keys(asideFor).filter((one) => !used.has(one))).toEqual([]);
  const files = Object.values(asideFor).flatMap((why) => /^test\/\S+\.ts/.exec(why)?.[0] ?? []);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(here.size).toBeGreaterThan(100);
});

test.each([...here.values()].map((words) => [lineOf(words), words] as const))(
  "bulkhead %s does what it is printed for",
  { timeout: 60_000 },
  async (line, words) => {
    const first = Object.entries(prepared).find(([one]) => `${line} `.startsWith(`${one} `))?.[1] ?? [];
    for (const [at, before] of first.entries()) {
      expect(await world.run(wordsOf(before), { again: at === 0 })).toMatchObject({ code: 0 });
    }
    const { code, out, err } = await world.run(words, { again: first.length === 0 });
    const { code: ends, says } = unlike[line] ?? { code: 0, says: "" };
    expect({ code, told: code === ends ? says : out + err }).toEqual({ code: ends, told: says });
    expect(err).toContain(says);
  },
);

describe("while a daemon runs", () => {
  let daemon: Daemon;
  beforeAll(async () => {
    daemon = await world.startDaemon();
  });
  afterAll(() => daemon?.stop({ drainMs: 0 }));

  test.each(whole.map(lineOf).filter((line) => asideFor[asideOf(line) ?? ""] === withDaemon))(
    "bulkhead %s does what it is printed for",
    { timeout: 60_000 },
    async (line) => {
      expect(await world.run(line.split(" "), { again: false })).toMatchObject({ code: 0, err: "" });
    },
  );
});
