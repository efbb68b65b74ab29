import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Served } from "./served.ts";

/** What the client of tasks printed. */
interface Got {
  kind: string;
  reference: { taskId: string } | null;
  asked: string[];
  states: string[];
  outcome: { status: string; result?: { isError?: boolean; structuredContent: Record<string, unknown> } } | null;
}

let served: Served;
beforeAll(async () => {
  served = await Served.open();
});
afterAll(() => served[Symbol.asyncDispose]());

test(
  "the official client of tasks has one asked and answered, and reads another after the daemon was killed",
  async () => {
    const tell = async (...words: string[]) => (await served.run(served.door(...words))).stdout.trim();
    const status = async () => JSON.parse(await tell("status", "--json")) as { address: string; pid: number };
    const file = fileURLToPath(new URL("tasks-client.mjs", import.meta.url));
    const client = async (action: object): Promise<Got> => {
      const { address } = await status();
      const ran = await served.client(file, [served.modules, `${address}/mcp`, token, JSON.stringify(action)]);
      expect(ran, ran.stderr).toMatchObject({ status: 0 });
      return JSON.parse(ran.stdout) as Got;
    };
    const asking = (prompt: string) => ({ workdir: served.workdir, prompt, adapter: "echo", approval: "ask" });
    await tell("start");
    let token = "";
    try {
      token = await tell("token", "create", "tasks", "--scope", "run");
      const done = await client({ call: asking("permission please") });
      expect(done).toMatchObject({
        kind: "task",
        asked: ["The agent asks to use write: Write a.txt?"],
        outcome: {
          status: "completed",
          result: { structuredContent: { success: true, data: { output: "choice yes [-]" } } },
        },
      });
      expect(done.states).toContain("input_required");
      const left = await client({ call: asking("wait"), detach: true });
      expect(left).toMatchObject({ kind: "task", outcome: null });

      process.kill((await status()).pid, "SIGKILL");
      await tell("start");
      expect((await client({ resume: done.reference! })).outcome).toMatchObject({
        status: "completed",
        result: done.outcome!.result,
      });
      expect((await client({ resume: left.reference! })).outcome).toMatchObject({
        status: "completed",
        result: { isError: true, structuredContent: { data: { stop_reason: "host_restarted" } } },
      });
    } finally {
      await tell("stop", "--now");
    }
  },
  120_000,
);
