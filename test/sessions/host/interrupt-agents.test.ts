import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { checkSession } from "../session/session-rules.ts";
import { adapterCode, completed, openHost, until } from "./test-host.ts";

/**
 * An agent as bad as real ones together: it and its helpers ignore SIGTERM, each SIGTERM makes it launch itself anew in a
 * session of its own, and one helper has lost its parent. `$1` marks all of them.
 */
const agent = `relaunch() { setsid sh "$0" "$1" again > /dev/null 2>&1 & }
trap 'relaunch "$1"' TERM
if [ "$2" != again ]; then
  setsid sh -c 'trap "" TERM; while :; do sleep 0.2; done' "$1" > /dev/null 2>&1 &
  (setsid sh -c 'trap "" TERM HUP; while :; do sleep 0.2; done' "$1" > /dev/null 2>&1 &)
fi
echo running
while :; do sleep 0.2; done
`;

test("an agent that ignores SIGTERM, launches itself anew and hides its children in sessions of their own is gone", async () => {
  const made = await openHost();
  const mark = `agent-${randomUUID()}`;
  const code = adapterCode(`    const child = await ctx.run("/bin/sh", [ctx.plugin_dir + "/agent.sh", "${mark}"]);
    for await (const text of child.stdout) yield { type: "progress", message: text };
    await child.exit;
    yield ${completed};`);
  const manifest = `permissions:\n  run:\n    - binary: /bin/sh\n      args: ["{} {}"]`;
  await made.add("agent", { files: { "mod.js": code, "agent.sh": agent }, manifest }, {
    grant: { run: [{ binary: "/bin/sh" }] },
    limits: { agent_grace_ms: 500, teardown_timeout_ms: 300 },
  });
  const session = await made.host.runSession({ workdir: made.workdir, prompt: "go", retry: "never" }, {
    adapter: "agent",
    artifacts: "none",
  });
  const events: Envelope[] = [];
  const reading = (async () => {
    for await (const envelope of session.events()) events.push(envelope);
  })();
  await until(async () => events.some(({ event }) => event.type === "progress") && (await running(mark)).length >= 3);
  expect((await session.interrupt()).stop_reason).toBe("interrupted");
  await reading;
  expect(checkSession(events)).toEqual([]);
  expect(events.map(({ event }) => event.type)).toContain("process_exited");
  // A process that was just killed is in the table for a moment more.
  await until(async () => (await running(mark)).length === 0);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await running(mark)).toEqual([]);
});

/** Command lines of live processes that hold the mark, but for the one that looks. */
async function running(mark: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "stat=,args="]);
  return stdout.split("\n").filter((line) => line.includes(mark) && !line.startsWith("Z"));
}
