// A host that serves one door while a canary sings beside what its client starts. Its heap is bounded by the caller.
// Usage: streaming-host.mjs <folder> <door>, where the folder holds bulkhead.yaml and the flooding plugin's folder.
// Standard input and output are the door's. Prints on standard error lines of JSON: what a client must know, and last
// what became of the canary and of its own memory.
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

/** How long a client on the other side of the pipes may read nothing. */
const stallMs = 5000;

const [folder, door, prompt] = process.argv.slice(2);
const onDeno = "Deno" in globalThis;
const core = (path) => import(`../../../${onDeno ? "" : "dist/"}core/${path}.${onDeno ? "ts" : "js"}`);

const { createHost } = await core("sessions/host/create-host");
const { loadHostManifest } = await core("packages/manifest/find-host-manifest");
const { startCanary } = await core("kit/attack/canary");
const { standardInput, standardOutput } = await core("ground/platform/terminal/standard-streams");

const stdout = standardOutput();
stdout.giveUpAfter(stallMs);
let peak = 0;
const sampling = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 50);
const tell = (value) => process.stderr.write(`${JSON.stringify(value)}\n`);
const readManifest = () => loadHostManifest({ config: join(folder, "bulkhead.yaml"), from: folder });
const manifest = await readManifest();
const stateDir = join(folder, "state");
const workdir = join(folder, "workdir");
for (const path of [stateDir, workdir]) await mkdir(path, { recursive: true });

const { host, served, end } = await open();
const canary = await startCanary(host, { folder: join(folder, "canary"), workdir });
await served();
const { code, message } = stdout.closed.reason ?? {};
const cutOff = stdout.closed.aborted ? { code, message } : null;
const song = await canary.stop();
await end();
clearInterval(sampling);
tell({ report: { canary: song, peak_rss: peak, cut_off: cutOff } });
process.exit(0);

async function open() {
  if (door === "daemon") return await openDaemon();
  const host = await createHost({ stateDir, bundledDir: null, manifest });
  await host.registry.register(join(folder, "flood"), {});
  return { host, end: () => host.close(), served: () => serve(host) };
}

async function openDaemon() {
  const { startDaemon } = await core("doors/daemon/daemon");
  const daemon = await startDaemon({ createHost, stateDir, bundledDir: null, root: folder, readManifest, port: 0 });
  await daemon.host.registry.register(join(folder, "flood"), {});
  return {
    host: daemon.host,
    end: () => daemon.stop({ drainMs: 0 }),
    served: async () => {
      const { address, token_file } = daemon.record;
      tell({ serves: { address, token: (await readFile(token_file, "utf8")).trim() } });
      for await (const _ of standardInput().chunks());
    },
  };
}

async function serve(host) {
  const wire = { input: standardInput().chunks(), write: (text) => stdout.write(text) };
  const { sessions, workspaces } = host;
  if (door === "mcp") {
    return await (await core("doors/mcp/serve-mcp")).serveMcp({ wire, sessions, workspaces, signal: stdout.closed });
  }
  if (door === "acp") {
    return await (await core("doors/acp/serve-acp")).serveAcp({ wire, sessions, mode: "flood", signal: stdout.closed });
  }
  const session = await host.runSession({ workdir, prompt, retry: "never" }, { adapter: "flood", artifacts: "none" });
  const { outcome, error } = await session.result();
  let read = 0;
  if (door === "late") {
    for await (const { seq } of session.events()) if (seq !== ++read) throw new Error(`no event ${read}`);
  }
  tell({ ended: { outcome, error: error?.message, read } });
}
