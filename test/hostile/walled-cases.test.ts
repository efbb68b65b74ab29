import { describe, expect, test } from "vitest";
import { runWalledCases } from "../../core/kit/attack/run-walled-cases.ts";
import { readWalledCases, type WalledCase } from "../../core/kit/attack/walled-case.ts";
import { agentEscapes } from "../../core/kit/attack/cases/agent.ts";
import { needsWall } from "../ground/runtime/os-walls/needs-wall.ts";
import { skipBecause } from "../skip-because.ts";

const { cases, notTried } = await readWalledCases();

/** A case of one contained program and one of the person, which nothing but `steps` tells apart. */
const made = (steps: WalledCase["steps"], untouched: string[] = []): WalledCase => ({
  id: "X1",
  name: "made for this test",
  thing: "nothing",
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

describe("an agent's walls", () => {
  test.for([...cases])("$id hold: $name", { timeout: 60_000 }, async (one, context) => {
    await needsWall(context, "bubblewrap");
    const [report] = await runWalledCases([one]);
    if (report?.outcome === "skipped") skipBecause(context, report.detail);
    expect(report).toMatchObject({ outcome: "held" });
  });
});
