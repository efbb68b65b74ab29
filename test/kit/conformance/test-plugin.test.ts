import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type KitHost, openKitHost } from "../../../core/kit/conformance/kit-host.ts";
import type { ConformanceReport } from "../../../core/kit/conformance/report.ts";
import { rules } from "../../../core/kit/conformance/rules/all.ts";
import { testPlugin } from "../../../core/kit/conformance/test-plugin.ts";
import { childrenLeft } from "../../sessions/host/test-host.ts";
import { type Defect, defects, sound, writeDefect } from "./defects.ts";

const atOnce = 4;

let root: string;
let kit: KitHost;
const reports = new Map<Defect, ConformanceReport>();

// In threads of one process, for time; plugins behind process walls are tried beside this, in files of their own.
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-defects-")));
  kit = await openKitHost();
  const waiting: Defect[] = [...defects, ...sound];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const folder = join(root, String(waiting.length));
      await writeDefect(folder, `made-${waiting.length}`, next);
      reports.set(next, await testPlugin(folder, { kit, isolation: "thread" }));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}, 600_000);

afterAll(async () => {
  await kit[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
  expect(await childrenLeft()).toEqual([]);
});

describe("testPlugin", () => {
  test.each(defects)("finds by the rule $rule: $name", (defect) => {
    expect(faultsOf(reports.get(defect)!)).toEqual([
      [defect.rule, defect.rule === "permission-unused" ? "noted" : "failed", expect.any(Array)],
    ]);
  });

  test.each([
    [
      "a recording that is not there",
      "conformance.yaml:3:46 programs[0].answers[0].stdout_file: expected a file of the",
    ],
    [
      "arguments of a program",
      'It starts "tool" with arguments that its manifest does not allow (it allows: none).',
    ],
    ["a program that is started and nobody scripts", 'conformance.yaml scripts no program "tool".'],
    ["throws", /^The session ended as fatal, expected completed\.\nmod\.\w+:\d+:\d+: no$/],
    ["output without data", "output needs data (string)."],
    [
      "a call that it does not await",
      'ctx.kv.set("last") was not settled when the session was over. Put await before it.',
    ],
    ["turns that it never asks for", "Ask ctx.turns for the next one after the last word."],
    ["turns that no session shows", "Add one with messages: [{ text: ..., delivery: queue }]."],
    ["knows one turn alone", /^Turn 2 ended as fatal\.\n.*it is over$/],
    ["keeps a word to itself", 'Yield { type: "message", message_id, state } first'],
    ["hears no stop", "When turn.signal aborts, end the turn with a last word and ask ctx.turns for the next one."],
    ["speaks when it has asked", "the adapter yields thinking. Ask once the turn's last event is yielded"],
  ])("says of %s what to mend, once", (name, message) => {
    const [defect] = defects.filter((one) => one.name === name);
    const said = faultsOf(reports.get(defect!)!).flatMap(([, , findings]) => findings);
    expect(said).toEqual([
      expect.objectContaining({
        message: typeof message === "string" ? expect.stringContaining(message) : expect.stringMatching(message),
      }),
    ]);
  });

  test.each(sound)("passes one that $name", (defect) => {
    expect(faultsOf(reports.get(defect)!)).toEqual([]);
  });

  test("has a defect for every rule, and each rule once", () => {
    // The defects of "wire" need a record: they stand in wire.test.ts.
    const covered = new Set(["wire", ...defects.map(({ rule }) => rule)]);
    expect(rules.map(({ id }) => id).filter((id) => !covered.has(id))).toEqual([]);
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
  });
});

function faultsOf({ rules }: ConformanceReport): [string, string, unknown[]][] {
  return rules.filter(({ outcome }) => outcome === "failed" || outcome === "noted").map((
    { rule, outcome, findings },
  ) => [rule, outcome, findings]);
}
