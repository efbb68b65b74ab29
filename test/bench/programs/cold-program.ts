import process from "node:process";
import { createHost } from "bulkhead";

// A program's first session: prints the time from the start of createHost() to the agent's first event, in milliseconds.
const [isolation = "process", adapterFolder = "", workdir = "", stateDir = ""] = process.argv.slice(2);
const started = performance.now();
const host = await createHost({ bundledDir: null, stateDir, warm: isolation === "process" });
await host.registry.register(adapterFolder, {
  trusted: isolation === "thread",
  isolation: isolation as "thread" | "process",
});
const session = await host.runSession({ workdir, prompt: "single 5", retry: "never" }, {
  adapter: "bench",
  artifacts: "none",
});
for await (const { source } of session.events()) {
  if (source !== "agent") continue;
  process.stdout.write(`${performance.now() - started}\n`);
  break;
}
await session.result();
await host.close();
