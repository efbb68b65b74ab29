// A host in a process of its own, whose agents run the scripts that a test sends. Reads orders and prints events, a line each.
import process from "node:process";
import { createInterface } from "node:readline";

const from = (path) => import("Deno" in globalThis ? `../../../../${path}.ts` : `../../../../dist/${path}.js`);
const { createHost } = await from("core/mod");

const { stateDir, root, folder } = JSON.parse(process.argv[2]);
const host = await createHost({ root, stateDir, bundledDir: null, writeLog: ({ message }) => say({ log: message }) });
const { id } = await host.registry.register(folder, { grant: { run: [{ binary: "/bin/sh" }] } });
// Those of earlier hosts as well: a session that a killed one left has its end from this one.
const heard = new AbortController();
const printing = print();
say({ isOpen: true });
for await (const line of createInterface({ input: process.stdin })) {
  const { begin, answer } = JSON.parse(line);
  if (begin === undefined) await (await host.sessions.open(answer.session)).answer(answer.request, answer.script);
  else {
    const request = { workdir: begin.workdir, prompt: "go", retry: "never", answer_timeout_ms: 600_000 };
    const session = await host.runSession(request, { adapter: id, artifacts: "none" });
    say({ order: begin.order, session: session.id });
  }
}
heard.abort();
await printing;
await host.close();

async function print() {
  const { signal } = heard;
  for await (const { session_id: session, event } of host.events({ after: 0, signal })) say({ session, event });
}

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
