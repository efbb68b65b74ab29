import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { type OpenPeer, type Peer, type PeerPlace, PieceCount, type RunTimes } from "./peer.ts";
import { ProgramPeer } from "./program-peer.ts";
import { endServer, startServer } from "./server-process.ts";
import { Wire } from "./wire.ts";

const program = "Deno" in globalThis
  ? [process.execPath, "run", "-A", join(process.cwd(), "core/doors/cli/main.ts")]
  : [process.execPath, join(process.cwd(), "dist/bundle/cli.js")];

/** What a way goes without that ours has by default. */
interface Without {
  artifacts?: true;
  agentWalls?: true;
}

/** Our daemon over HTTP: with all it does, and without some of it, as the peers are. */
export const bulkheadDaemons: readonly Peer[] = [
  { name: "bulkhead", open: (place) => openDaemon(place, {}) },
  { name: "bulkhead_no_artifacts", open: (place) => openDaemon(place, { artifacts: true }) },
  { name: "bulkhead_no_walls", open: (place) => openDaemon(place, { artifacts: true, agentWalls: true }) },
];

/** Our command line, whose sessions a daemon runs, or a host of its own. */
export const bulkheadPrograms: readonly Peer[] = [
  {
    name: "bulkhead_run_daemon",
    async open(place) {
      const daemon = await startDaemon(place, {});
      return new ProgramPeer(runCall(place), () => endServer(daemon.child));
    },
  },
  {
    name: "bulkhead_run",
    async open(place) {
      await writeManifest(place, {});
      return new ProgramPeer(runCall(place));
    },
  },
];

class BulkheadDaemon implements OpenPeer {
  readonly root: number | null;
  readonly #child: ChildProcess;
  readonly #request: object;
  readonly #wire: Wire;

  constructor({ child, wire }: { child: ChildProcess; wire: Wire }, request: object) {
    this.#child = child;
    this.root = child.pid ?? null;
    this.#wire = wire;
    this.#request = request;
  }

  async run(prompt: string): Promise<RunTimes> {
    const count = new PieceCount();
    const stream = await this.#wire.events(await this.#start(prompt));
    await readToEnd(stream, (data) => count.take(data));
    return count.end();
  }

  async hold(): Promise<void> {
    for await (const all of await this.#wire.events(await this.#start("[wait]"))) {
      if (all.some((data) => data.includes('"waiting"'))) return;
    }
  }

  async readTogether(prompt: string, readers: number): Promise<number> {
    const count = new PieceCount();
    const path = await this.#start(prompt);
    const streams = await Promise.all(Array.from({ length: readers }, () => this.#wire.events(path)));
    await Promise.all(streams.map((stream) => readToEnd(stream, (data) => count.take(data))));
    return count.pieces;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#wire.close();
    await endServer(this.#child);
  }

  async #start(prompt: string): Promise<string> {
    const body = { ...this.#request, prompt };
    const { session_id: id } = await this.#wire.post("/v1/sessions", body) as { session_id: string };
    return `/v1/sessions/${id}/events`;
  }
}

async function openDaemon(place: PeerPlace, without: Without): Promise<OpenPeer> {
  const { child, port, token } = await startDaemon(place, without);
  const wire = new Wire(port, { authorization: `Bearer ${token}` });
  const artifacts = without.artifacts ? "none" : "git";
  return new BulkheadDaemon({ child, wire }, { workdir: place.workdir, adapter: "acp", artifacts });
}

async function startDaemon(
  place: PeerPlace,
  without: Without,
): Promise<{ child: ChildProcess; port: number; token: string }> {
  const config = await writeManifest(place, without);
  const flags = ["up", "--port", "0", "--json", "--config", config, "--state-dir", join(place.state, "state")];
  const child = startServer([...program, ...flags], { cwd: place.state });
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout! }), "line"),
    once(child, "exit").then(() => Promise.reject(new Error("The daemon did not start."))),
  ]) as string[];
  const { daemon } = JSON.parse(line ?? "") as { daemon: { address: string; token_file: string } };
  const token = (await readFile(daemon.token_file, "utf8")).trim();
  return { child, port: Number(new URL(daemon.address).port), token };
}

/** Writes the host manifest and returns its path. All limits are the default ones but that on requests a second. */
async function writeManifest({ agent, state }: PeerPlace, { agentWalls }: Without): Promise<string> {
  await mkdir(state, { recursive: true });
  const acp = { config: { command: agent }, grant: { run: [{ binary: agent }] } };
  const manifest = {
    bulkhead: 1,
    plugins: { acp: agentWalls ? { ...acp, os_walls: { agents: "off" } } : acp },
    limits: { http_requests_per_second: 1_000_000 },
    daemon: { drain_ms: 0 },
  };
  const path = join(state, "bulkhead.yaml");
  await writeFile(path, JSON.stringify(manifest));
  return path;
}

function runCall({ workdir, state }: PeerPlace): { command: string[]; cwd: string } {
  const flags = ["--config", join(state, "bulkhead.yaml"), "--state-dir", join(state, "state"), "--json"];
  return { command: [...program, "run", "acp", ...flags], cwd: workdir };
}

async function readToEnd(stream: AsyncIterable<string[]>, take: (data: string) => void): Promise<void> {
  for await (const all of stream) {
    for (const data of all) {
      JSON.parse(data);
      take(data);
      if (data.includes('"session_ended"')) return;
    }
  }
}
