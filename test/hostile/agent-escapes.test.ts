import { describe, expect, test } from "vitest";
import { agentEscapes } from "./cases/agent.ts";
import { runAgentEscapes } from "../../core/kit/attack/run-agent-escapes.ts";
import { needsWall } from "../ground/platform/os-walls/needs-wall.ts";
import { skipBecause } from "../skip-because.ts";

const controls = agentEscapes.filter(({ control }) => control);

test("there are at least sixty escapes, each with a name of its own, and a third of them prove that they can succeed", () => {
  expect(agentEscapes.length).toBeGreaterThanOrEqual(60);
  expect(new Set(agentEscapes.map(({ id }) => id)).size).toBe(agentEscapes.length);
  expect(new Set(agentEscapes.map(({ name }) => name)).size).toBe(agentEscapes.length);
  expect(controls.length).toBeGreaterThan(agentEscapes.length / 3);
});

describe("an agent's program inside its walls", () => {
  test.for(agentEscapes)("$id does not get at $name", async (escape, context) => {
    await needsWall(context, "bubblewrap");
    const [report] = await runAgentEscapes([escape], { contain: "on" });
    if (report?.outcome === "skipped") skipBecause(context, report.detail);
    expect(report).toMatchObject({ outcome: "held" });
  });
});

describe("the same program with contain: off", () => {
  test.for(controls)("$id gets at $name", async (escape, context) => {
    const [report] = await runAgentEscapes([escape], { contain: "off" });
    if (report?.outcome === "skipped") skipBecause(context, report.detail);
    expect(report).toMatchObject({ outcome: "escaped" });
  });
});
