// A host in a process of its own: prints each event of its session as a line, then what it is told to do at the end.
import process from "node:process";

// From one build: what ends the process has to know of the threads that the host starts.
const isDeno = "Deno" in globalThis;
const from = (path) => import(isDeno ? `../../../${path}.ts` : `../../../dist/${path}.js`);
const { createHost } = await from("core/mod");
const { openTerminal } = await from("core/ground/platform/terminal/terminal");

const { stateDir, folder, settings, workdir, prompt, end, request } = JSON.parse(process.argv[2]);
const host = await createHost({ stateDir, bundledDir: null, writeLog: (record) => say({ log: record.message }) });
const plugin = await host.registry.register(folder, settings);
const session = await host.runSession({ workdir, prompt, ...request }, { adapter: plugin.id, artifacts: "none" });
const over = session.result().then((result) => say({ result }));
for await (const envelope of session.events()) {
  say({ envelope });
  // Interrupts when the adapter says so.
  if (end === "close" && envelope.event.type === "progress") break;
}
if (end === "close") await host.close();
await over;
say({ closed: true });
// As the command line ends.
openTerminal().exit(0);

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
