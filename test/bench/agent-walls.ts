import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { createHost, type Host } from "bulkhead";
import { aimed, type Figure, quantile } from "./measure.ts";

const adapter = join(process.cwd(), "test/bench/agent-adapter");
const megabytes = 256;
/** Pause before a session that people start one by one. Milliseconds. */
const pauseMs = 250;

/** Reads an answer to its end, with a second argument through the proxy, and prints the bytes a second. */
const download = `
const started = Date.now();
let bytes = 0;
const [,, url, through] = process.argv;
const proxy = through === undefined ? null : new URL(process.env.HTTP_PROXY);
const headers = proxy === null ? {} : {
  "Proxy-Authorization": "Basic " + Buffer.from(proxy.username + ":" + proxy.password).toString("base64"),
};
const { hostname, port, pathname } = new URL(url);
require("node:http").get({
  host: proxy?.hostname ?? hostname,
  port: proxy?.port ?? port,
  path: proxy === null ? pathname : url,
  headers,
}, (answer) => {
  answer.on("data", (piece) => { bytes += piece.length; });
  answer.on("end", () => console.log(Math.round(bytes / (Date.now() - started) * 1000)));
});
`;

/** Serves so many megabytes to each client, and prints its port. */
const serve = `
const server = require("node:http").createServer((_, response) => {
  const piece = Buffer.alloc(1024 * 1024);
  let left = Number(process.argv[1]);
  const write = () => {
    while (left-- > 0) if (!response.write(piece)) return void response.once("drain", write);
    response.end();
  };
  write();
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

/**
 * An agent's program inside its walls beside the same program without: the time to its first output, and what it reads
 * from a server of this machine, where the walls put relay and proxy in between.
 */
export async function agentWalls({ quick }: { quick: boolean }): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  const workdir = join(folder, "work");
  await mkdir(workdir);
  await writeFile(join(workdir, "download.cjs"), download);
  // In a process of its own, as every place that an agent calls: the host's process has the proxy's work alone.
  const server = spawn(process.execPath, ["-e", serve, String(megabytes)], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(server.stdout, "data") as [Uint8Array];
  const port = Number(String(line));
  const hosts = {
    free: await hostOf(folder, { name: "free", port }),
    held: await hostOf(folder, { name: "held", port }),
  };
  try {
    const starts = { free: [] as number[], held: [] as number[], heldAtOnce: [] as number[] };
    const rates = { free: [] as number[], held: [] as number[], asked: [] as number[] };
    const rounds = quick ? 10 : 40;
    for (let round = -2; round < rounds; round++) {
      for (const name of ["free", "held"] as const) {
        await pause(pauseMs);
        const { first } = await run(hosts[name], { workdir, command: "echo ready" });
        if (round >= 0) starts[name].push(first);
      }
    }
    for (let round = -2; round < rounds; round++) {
      const { first } = await run(hosts.held, { workdir, command: "echo ready" });
      if (round >= 0) starts.heldAtOnce.push(first);
    }
    for (let round = -1; round < (quick ? 3 : 9); round++) {
      for (const name of ["free", "held", "asked"] as const) {
        const command = `node download.cjs http://127.0.0.1:${port}/${name === "asked" ? " proxy" : ""}`;
        const { output } = await run(name === "free" ? hosts.free : hosts.held, { workdir, command });
        if (round >= 0) rates[name].push(Number(output) / 1024 / 1024);
      }
    }
    const p50 = (values: number[]) => quantile(values, 0.5);
    return [
      { name: "agent_walls.first_output.free", value: p50(starts.free), unit: "ms" },
      { name: "agent_walls.first_output.contained", value: p50(starts.held), unit: "ms" },
      aimed({ name: "agent_walls.start_up", value: p50(starts.held) - p50(starts.free), unit: "ms" }, { most: 60 }),
      {
        name: "agent_walls.start_up.one_after_the_other",
        value: p50(starts.heldAtOnce) - p50(starts.free),
        unit: "ms",
      },
      { name: "agent_walls.start_up.p95", value: quantile(starts.held, 0.95) - p50(starts.free), unit: "ms" },
      { name: "agent_walls.megabytes.direct", value: p50(rates.free), unit: "per_second" },
      { name: "agent_walls.megabytes.proxied", value: p50(rates.held), unit: "per_second" },
      { name: "agent_walls.megabytes.proxied_by_request", value: p50(rates.asked), unit: "per_second" },
      ...([["proxy", rates.held], ["proxy.by_request", rates.asked]] as const).map(([name, values]) =>
        aimed({ name: `agent_walls.${name}`, value: p50(values) / p50(rates.free), unit: "ratio" }, { least: 0.5 })
      ),
    ];
  } finally {
    for (const host of Object.values(hosts)) await host.close();
    server.kill();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function hostOf(root: string, { name, port }: { name: "free" | "held"; port: number }): Promise<Host> {
  const host = await createHost({ bundledDir: null, stateDir: join(root, name), root });
  await host.registry.register(adapter, {
    grant: { run: [{ binary: "sh", args: ["-c {*}"] }], net: [`127.0.0.1:${port}`] },
    ...(name === "free" ? { os_walls: { agents: "off" as const } } : {}),
  });
  return host;
}

async function run(
  host: Host,
  { workdir, command }: { workdir: string; command: string },
): Promise<{ first: number; output: string }> {
  const session = await host.runSession({ workdir, prompt: command, retry: "never" }, {
    adapter: "bench-agent",
    artifacts: "none",
  });
  let first = NaN;
  for await (const { event } of session.events()) {
    if (event.type === "progress" && Number.isNaN(first)) first = Number(event.message);
  }
  const { outcome, output, error } = await session.result();
  if (outcome !== "completed") throw new Error(`A session ended as ${outcome}: ${error?.message}`);
  return { first, output };
}
