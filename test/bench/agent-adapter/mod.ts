import { type AdapterContext, type AdapterEvents, defineAdapter, type SessionRequest } from "bulkhead/plugin-sdk";

/** Starts the prompt as a command; tells the milliseconds to its first output, and the output. */
export default defineAdapter({
  id: "bench-agent",
  name: "Bench agent",
  version: "1.0.0",
  capabilities: {},
  runSession,
});

async function* runSession({ prompt }: SessionRequest, ctx: AdapterContext): AdapterEvents {
  const started = Date.now();
  const child = await ctx.run("sh", ["-c", prompt]);
  for await (const data of child.stdout) {
    yield { type: "progress", message: String(Date.now() - started) };
    yield { type: "output", stream: "stdout", data };
  }
  const { exit_code } = await child.exit;
  yield { type: "completed", success: exit_code === 0, files_changed: [], tokens_used: null, cost: null };
}
