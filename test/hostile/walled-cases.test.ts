import process from "node:process";
import { describe, expect, test } from "vitest";
import { runWalledCases } from "../../core/kit/attack/run-walled-cases.ts";
import { caseActors, guardedThings, readWalledCases, type WalledCase } from "../../core/kit/attack/walled-case.ts";
import { agentEscapes } from "./cases/agent.ts";
import { needsWall } from "../ground/platform/os-walls/needs-wall.ts";
import { skipBecause } from "../skip-because.ts";

const { cases, notTried } = await readWalledCases();

/** A case of one contained program and one of the person, which nothing but `steps` tells apart. */
const made = (steps: WalledCase["steps"], untouched: string[] = []): WalledCase => ({
  id: "X1",
  name: "made for this test",
  thing: "keys in the home",
  actors: ["first"],
  steps,
  untouched,
});

test("readWalledCases gives each form as a case, with an id of its own, and names what no case tries", () => {
  expect(cases.length).toBeGreaterThan(100);
  const ids = [...agentEscapes, ...cases].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(cases.filter(({ id }) => id.startsWith("S1.")).every(({ form }) => form !== undefined)).toBe(true);
  expect(notTried.length).toBeGreaterThan(0);
});

test("each actor is tried against each kind of guarded thing, or a reason says why not", () => {
  const cells = guardedThings.flatMap((thing) => caseActors.map((actor) => ({ thing, actor })));
  const isTried = ({ thing, actor }: typeof cells[number]) =>
    cases.some((one) => one.thing === thing && one.actors.includes(actor));
  const isExplained = ({ thing, actor }: typeof cells[number]) =>
    notTried.some((one) => one.things.includes(thing) && one.actors.includes(actor));
  expect(cells.filter((cell) => !isTried(cell) && !isExplained(cell))).toEqual([]);
  expect(cells.filter((cell) => isTried(cell) && isExplained(cell))).toEqual([]);
  const acts = (one: WalledCase, actor: string) =>
    one.steps.some((step) => actor in step || (actor === "person" && "outside" in step));
  expect(cases.filter((one) => !one.actors.every((actor) => acts(one, actor))).map(({ id }) => id)).toEqual([]);
});

describe("runWalledCases says that a case", () => {
  test.for<[string, WalledCase["steps"], string]>([
    ["fell where a secret was seen", [{ first: "echo CAN''ARY" }], "first saw a secret"],
    ["fell where the person's command ran the agent's program", [{ first: "echo 'touch $MARK' > x" }, {
      person: ". ./x",
    }], "ran outside"],
    [
      "fell where a file is another",
      [{ first: "true" }, { outside: "echo x > $ROOT/other/main.c" }],
      "other/main.c was changed",
    ],
    ["fell where somebody says so", [{ next: "true" }, { person: "echo ESCA''PED" }], "person says so"],
    [
      "fell where nothing was told of what the person finds",
      [{ first: "mkdir sub; echo x > sub/plain" }, { person: "found sub/plain" }],
      "sub/plain was changed and not told",
    ],
    [
      "fell where what was told is another program's",
      [{ first: "mkdir sub; echo x > sub/.envrc" }, { person: "found sub/.envrc" }],
      "sub/.envrc was changed and not told",
    ],
    [
      "fell where a host that starts could not run its program",
      [{ repository: "echo broken: { > bulkhead.yaml" }, { start: "true" }],
      "the host that starts did not run its program",
    ],
  ])("%s", async ([, steps, detail], context) => {
    await needsWall(context, "bubblewrap");
    const [report] = await runWalledCases([made(steps, ["other/main.c"])]);
    expect(report).toMatchObject({ outcome: "escaped", detail: expect.stringContaining(detail) });
  });

  test("held where nothing of that is so, was skipped where it cannot be tried, and that actors heard each other", async (context) => {
    await needsWall(context, "bubblewrap");
    const talk = { first: "say one; hear two; echo first-heard", outside: "hear one; say two; echo outside-heard" };
    const [held, skipped] = await runWalledCases([
      made([talk], ["other/main.c"]),
      { ...made([talk]), needs: { script: "false", or: "nothing is there" } },
    ]);
    expect(held).toMatchObject({ outcome: "held", detail: expect.stringContaining("first-heard") });
    expect(held?.detail).toContain("outside-heard");
    expect(skipped).toMatchObject({ outcome: "skipped", detail: "nothing is there" });
  });
});

test("runWalledCases says that a case was told where the host named what starts the file that an agent left", async (context) => {
  await needsWall(context, "bubblewrap");
  const left: WalledCase["steps"] = [{ first: "mkdir sub; echo x > sub/CLAUDE.md" }, { person: "found sub/CLAUDE.md" }];
  const [report] = await runWalledCases([{ ...made(left), starts: { "sub/CLAUDE.md": "coding agents" } }]);
  expect(report).toMatchObject({ outcome: "told" });
});

test("runWalledCases runs the program of a host that starts, with the manifest that it finds", async (context) => {
  await needsWall(context, "bubblewrap");
  const open = "printf 'bulkhead: 1\\nos_walls: { agents: off }\\n' > bulkhead.yaml";
  const [held, escaped] = await runWalledCases([
    made([{ start: "echo started; cat $STAGE_HOME/project/.env" }]),
    made([{ repository: open }, { start: "cat $STAGE_HOME/project/.env" }]),
  ]);
  expect(held).toMatchObject({ outcome: "held", detail: expect.stringContaining("started") });
  expect(escaped).toMatchObject({ outcome: "escaped", detail: expect.stringContaining("start saw a secret") });
});

/** The walls are the same programs on both runtimes: the second one of `.ci/run` tries every third case. */
const tried = cases.filter((_, at) => process.env["BULKHEAD_HOSTILE"] !== "short" || at % 3 === 0);

describe("an agent's walls", () => {
  test.for(tried)("$id hold: $name", { timeout: 60_000 }, async (one, context) => {
    await needsWall(context, "bubblewrap");
    const [report] = await runWalledCases([one]);
    if (report?.outcome === "skipped") skipBecause(context, report.detail);
    expect(report).toMatchObject({
      outcome: one.starts === undefined ? "held" : expect.stringMatching(/^(held|told)$/),
    });
  });
});
