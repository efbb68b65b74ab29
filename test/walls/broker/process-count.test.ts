import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { anyShell, capabilities, errorOf, makeBroker, runShell } from "./broker-fixture.ts";

const limits = { ...defaultLimits, agent_grace_ms: 60_000, processes: 12 };

/** Starts 30 programs at once; how they leave their parent is up to `before`. */
const many = (before: string) => `i=0; while [ $i -lt 30 ]; do ${before} sleep 61.7 & i=$((i+1)); done; wait`;

test.each([
  ["children", many("")],
  ["sessions of their own", many("setsid")],
  ["daemons without a parent", `${many("setsid").replace("; wait", "")}; sleep 61.7`],
])("programs that become too many are ended with all of them, without grace: %s", async (_, script) => {
  const { broker, events } = await makeBroker({ permissions: { run: [anyShell] }, limits });
  const { process_id } = await runShell(broker, script);
  expect(await broker.call("process_wait", { process_id })).toEqual({ exit_code: null, signal: "SIGKILL" });
  expect(capabilities(events).at(-1)).toMatchObject({ decision: "denied", target: "more than 12 processes" });
  const error = await errorOf(runShell(broker, "true"));
  expect(error).toMatchObject({ code: "limit_exceeded", details: { processes: 12 } });
  expect(error.message).toMatch(/had \d\d processes, and may have 12; all were ended/);
  await broker.close();
  expect(await sleepers()).toEqual([]);
});

test("programs within the number go on", async () => {
  const { broker } = await makeBroker({ permissions: { run: [anyShell] }, limits });
  const started = await Promise.all([1, 2].map(() => runShell(broker, "sleep 0.1 & sleep 0.1 & sleep 1.4")));
  for (const { process_id } of started) {
    expect(await broker.call("process_wait", { process_id })).toEqual({ exit_code: 0, signal: null });
  }
});

async function sleepers(): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return commands.filter((command) => command.includes("sleep\x0061.7"));
}
