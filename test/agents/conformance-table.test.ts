import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type Column, columns, conformanceTable, tableBegin, tableEnd } from "./conformance-table.ts";
import { readReport } from "./proving-ground/report.ts";
import { reasons } from "./reasons.ts";
import { caseNames, cases } from "./proving-ground/cases.ts";

test("agents.md's table is that of the kept report", async () => {
  const page = await readFile(new URL("../../.github/docs/agents.md", import.meta.url), "utf8");
  const table = page.slice(page.indexOf(tableBegin), page.indexOf(tableEnd) + tableEnd.length);
  expect(table).toBe(conformanceTable(await readReport(), reasons));
});

test("every agent has a reason for each thing that it cannot, and for nothing else", async () => {
  const report = await readReport();
  for (const [agent, why] of Object.entries(reasons)) {
    const runs = report[agent]!;
    const lacking = (Object.keys(columns) as Column[]).filter((column) => columns[column](runs) === null);
    expect.soft(Object.keys(why).sort(), agent).toEqual([...lacking].sort());
    for (const reason of Object.values(why)) expect.soft(reason).toMatch(/^[A-Z].*\.$/);
  }
});

test("the agents are seen side by side, in each case", async () => {
  const report = await readReport();
  const sections = caseNames.map((name) => {
    const rows = Object.entries(report).flatMap(([agent, runs]) => {
      const run = runs.cases[name];
      return run ? [`  ${agent.padEnd(18)} ${run.stop_reason.padEnd(12)} ${run.kinds || "nothing"}`] : [];
    });
    return [`${name} (${cases[name].scenario})`, ...rows, ""].join("\n");
  });
  await expect(sections.join("\n")).toMatchFileSnapshot("./side-by-side.txt");
});
