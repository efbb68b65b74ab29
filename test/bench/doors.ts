import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { aimed, type Figure, quantile, timed } from "./measure.ts";

const onDeno = "Deno" in globalThis;
// From the folder that tsc puts it in, as from its source, the project is the folder that node_modules is in.
const root = fileURLToPath(import.meta.resolve("bulkhead/package.json")).replace(/package\.json$/, "");
const program = onDeno ? ["run", "-A", join(root, "core/doors/cli/main.ts")] : [join(root, "dist/bundle/cli.js")];

const clientInfo = { name: "bench", version: "1.0.0" };
const openings = {
  acp: { protocolVersion: 1, clientCapabilities: {} },
  mcp: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
};

/** From the start of `bulkhead acp` and `bulkhead mcp` to the answer to `initialize`, beside the runtime doing nothing. */
export async function doors({ quick }: { quick: boolean }): Promise<Figure[]> {
  const rounds = quick ? 5 : 15;
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  await writeFile(join(folder, "bulkhead.yaml"), "bulkhead: 1\n");
  const times = { idle: [] as number[], acp: [] as number[], mcp: [] as number[] };
  for (let round = -1; round < rounds; round++) {
    const idle = await timed(() => exitOf(spawn(process.execPath, onDeno ? ["eval", "0"] : ["-e", "0"])));
    const [acp, mcp] = [await ready("acp", folder), await ready("mcp", folder)];
    if (round < 0) continue;
    times.idle.push(idle);
    times.acp.push(acp);
    times.mcp.push(mcp);
  }
  await rm(folder, { recursive: true, force: true });
  const base = quantile(times.idle, 0.5);
  return [
    { name: "doors.runtime_alone", value: base, unit: "ms" },
    ...(["acp", "mcp"] as const).flatMap((door): Figure[] => {
      const value = quantile(times[door], 0.5);
      return [
        { name: `doors.${door}.ready`, value, unit: "ms" },
        aimed({ name: `doors.${door}.ratio`, value: value / base, unit: "ratio" }, { most: 4 }),
      ];
    }),
  ];
}

async function ready(door: keyof typeof openings, folder: string): Promise<number> {
  const started = performance.now();
  const args = [...program, door, "--embedded", "--state-dir", join(folder, "state")];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
  const ended = exitOf(child);
  const message = { jsonrpc: "2.0", id: 1, method: "initialize", params: openings[door] };
  child.stdin.write(`${JSON.stringify(message)}\n`);
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const took = performance.now() - started;
  child.stdin.end();
  await ended;
  return took;
}

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on("close", (code) => code === 0 ? resolve() : reject(new Error(`A program exited with code ${code}.`)));
  });
}
