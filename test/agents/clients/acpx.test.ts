import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Ran, Served } from "./served.ts";

let served: Served;
beforeAll(async () => {
  served = await Served.open();
});
afterAll(() => served[Symbol.asyncDispose]());

/** Runs acpx with `bulkhead acp` as its agent. */
function acpx(...args: string[]): Promise<Ran> {
  const agent = served.door("acp", "--embedded").join(" ");
  const own = ["--agent", agent, "--cwd", served.workdir];
  return served.client(join(served.modules, "acpx/dist/cli.js"), [...own, ...args]);
}

test("acpx runs a prompt, and shows nothing but messages of the protocol", async () => {
  const { status, stdout } = await acpx("--format", "json", "exec", "--config-option", "model=small", "hello there");
  expect(status).toBe(0);
  const messages = stdout.trim().split("\n").map((line) => JSON.parse(line) as { result?: object });
  expect(messages.every((message) => "jsonrpc" in message)).toBe(true);
  expect(messages.at(-1)).toMatchObject({ result: { stopReason: "end_turn" } });
  expect(stdout).toContain("echo hello there [small]");
}, 120_000);

test("acpx gives and denies permission", async () => {
  const ask = (policy: string) => acpx(policy, "--format", "quiet", "exec", "permission please");
  expect(await ask("--approve-all")).toMatchObject({ status: 0, stdout: "choice yes [-]\n" });
  const denied = await ask("--deny-all");
  expect(denied).toMatchObject({ status: 5, stdout: "choice no [-]\n" });
  expect(denied.stderr).toContain("PERMISSION_DENIED");
}, 120_000);

test("acpx keeps a session over processes, sets its model, cancels a prompt and goes on", async () => {
  const quiet = ["--format", "quiet", "--ttl", "60"];
  expect(await acpx("sessions", "new")).toMatchObject({ status: 0 });
  // The process of the agent that made the session is gone, and it never had a prompt.
  expect(await acpx("set", "model", "big")).toMatchObject({ status: 0 });
  expect(await acpx(...quiet, "prompt", "first")).toMatchObject({ status: 0, stdout: "echo first [big]\n" });
  const waiting = acpx("--format", "json", "--ttl", "60", "prompt", "wait");
  const cancelled = async () => (await acpx("--format", "json", "cancel")).stdout.includes('"cancelled":true');
  await expect.poll(cancelled, { timeout: 60_000 }).toBe(true);
  expect((await waiting).stdout).toContain('"stopReason":"cancelled"');
  expect(await acpx(...quiet, "prompt", "second")).toMatchObject({ status: 0, stdout: "echo second [big]\n" });
  const { stdout } = await acpx("--format", "json", "sessions", "list");
  const [newest] = (JSON.parse(stdout) as { sessions: object[] }).sessions;
  expect(newest).toMatchObject({ cwd: served.workdir, title: "first" });
  expect(await acpx("sessions", "close")).toMatchObject({ status: 0 });
}, 120_000);
