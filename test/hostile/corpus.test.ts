import { expect, test } from "vitest";
import { attackCases } from "./cases/all.ts";
import { type AttackRun, runAttackProgram } from "./attack-program.ts";

const minutes = 60_000;

test("one host holds against the whole corpus, and a session beside it loses nothing", async () => {
  const run = await runAttackProgram(["--parallel", "4"]);
  tell("process isolation", run);

  expectNothingFell(run);
  expect(run.reports.map(nameOf).sort()).toEqual(attackCases.map(nameOf).sort());
  expect(run.summary?.canary).toMatchObject({ lost: 0, duplicated: 0, disordered: 0 });
  expect(run.summary?.canary.events).toBeGreaterThan(100);
  expect(run.summary?.rss_growth_bytes).toBeLessThan(64 * 1024 * 1024);
  expectNothingLeft(run);
}, 10 * minutes);

// On Deno no thread can be ended that does not end by itself, so what is left to try there says little.
if (!("Deno" in globalThis)) {
  test("a host with trusted plugins in threads holds against every attack that a thread can stop", async () => {
    const run = await runAttackProgram(["--isolation", "thread", "--parallel", "4"]);
    tell("thread isolation", run);

    expectNothingFell(run);
    expect(run.reports).toHaveLength(attackCases.length);
    const skipped = run.reports.filter(({ outcome }) => outcome.startsWith("skipped"));
    console.info(
      [...new Set(skipped.map(({ outcome }) => outcome))].map((reason) => {
        return `${reason} (${skipped.filter(({ outcome }) => outcome === reason).map(nameOf).join(", ")})`;
      }).join("\n"),
    );
    expect(skipped.length).toBeLessThan(attackCases.length / 2);
    expect(run.summary?.canary).toMatchObject({ lost: 0, duplicated: 0, disordered: 0 });
    expectNothingLeft(run);
  }, 10 * minutes);
}

function nameOf({ id, name }: { id: string; name: string }): string {
  return `${id} ${name}`;
}

/** That no attack got through, and that nothing kept the host from its end; the message says what did. */
function expectNothingFell({ reports, summary, complaints }: AttackRun): void {
  const got = reports.filter(({ passed }) => !passed).map((report) =>
    `${nameOf(report)}: ${report.outcome}; ${report.problem}`
  );
  if (summary === null) got.push(`The host did not live to the end: ${complaints}`);
  expect(got, got.join("; ")).toEqual([]);
}

function expectNothingLeft({ exitCode, complaints, lingeredMs, files, processes }: AttackRun): void {
  expect(complaints).toBe("");
  expect(exitCode).toBe(0);
  // Its last word comes before the host is closed, which may take as long as its deadline.
  expect(lingeredMs).toBeLessThan(30_000);
  expect(files).toEqual([]);
  expect(processes).toEqual([]);
}

function tell(isolation: string, { reports, summary, lingeredMs }: AttackRun): void {
  const alone = reports.filter(({ first_problem }) => first_problem !== undefined);
  for (const report of alone) console.info(`${nameOf(report)} was run again alone: ${report.first_problem}`);
  const slowest = [...reports].sort((a, b) => b.duration_ms - a.duration_ms).slice(0, 5);
  console.info(
    `${isolation}: ${JSON.stringify(summary)}; ended ${lingeredMs} ms after its last word; slowest: ` +
      slowest.map((report) => `${nameOf(report)} ${report.duration_ms} ms`).join(", "),
  );
}
