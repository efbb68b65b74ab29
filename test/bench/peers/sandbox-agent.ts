import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { ChildProcess } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { questions } from "./bare-client.ts";
import { type OpenPeer, type Peer, type PeerPlace, PieceCount, type RunTimes } from "./peer.ts";
import { endServer, freePort, startServer } from "./server-process.ts";
import { Wire } from "./wire.ts";

/** The server of `sandbox-agent`, whose built-in test agent is the stub's program. */
export const sandboxAgent: Peer = {
  name: "sandbox_agent",
  async open(place) {
    const port = await freePort();
    const home = join(place.state, "home");
    const launchers = join(home, ".local/share/sandbox-agent/bin/agent_processes");
    await mkdir(launchers, { recursive: true });
    await symlink(place.agent, join(launchers, "mock-acp")).catch(() => {});
    const program = join(place.programs, "node_modules/@sandbox-agent/cli-linux-x64/bin/sandbox-agent");
    const flags = ["server", "--no-token", "--no-telemetry", "--port", String(port)];
    const child = startServer([program, ...flags], {
      cwd: place.workdir,
      env: { PATH: process.env["PATH"], HOME: home },
    });
    child.stdout?.resume();
    for (let n = 0; n < 100 && !await answers(port); n++) await pause(20);
    return new SandboxAgent(child, { place, port });
  },
};

class SandboxAgent implements OpenPeer {
  readonly root: number | null;
  readonly #child: ChildProcess;
  readonly #place: PeerPlace;
  readonly #wire: Wire;
  #sessions = 0;

  constructor(child: ChildProcess, { place, port }: { place: PeerPlace; port: number }) {
    this.#child = child;
    this.root = child.pid ?? null;
    this.#place = place;
    this.#wire = new Wire(port);
  }

  async run(prompt: string): Promise<RunTimes> {
    const count = new PieceCount();
    await this.#follow(await this.#start(), { prompt, until: isAnswer, take: (data) => count.take(data) });
    return count.end();
  }

  async hold(): Promise<void> {
    await this.#follow(await this.#start(), { prompt: "[wait]", until: (data) => data.includes('"waiting"') });
  }

  async readTogether(prompt: string, readers: number): Promise<number> {
    const path = await this.#start();
    const count = new PieceCount();
    const streams = await Promise.all(Array.from({ length: readers }, () => this.#wire.events(path)));
    const reading = streams.map((stream) => readUntil(stream, { until: isAnswer, take: (data) => count.take(data) }));
    await this.#ask(path, prompt);
    await Promise.all(reading);
    return count.pieces;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#wire.close();
    await endServer(this.#child);
  }

  /** A server of its own keeps its agent until it is deleted, which waits for an agent that was not told to end. */
  async #start(): Promise<string> {
    const path = `/v1/acp/bench-${this.#sessions++}`;
    await this.#wire.post(`${path}?agent=mock`, questions(this.#place.workdir, "")[0]);
    return path;
  }

  async #follow(path: string, { prompt, until, take }: { prompt: string } & Reading): Promise<void> {
    const stream = await this.#wire.events(path);
    const asked = this.#ask(path, prompt);
    // The answer to a prompt that waits never comes.
    asked.catch(() => {});
    await readUntil(stream, take === undefined ? { until } : { until, take });
    if (take !== undefined) await asked;
  }

  async #ask(path: string, prompt: string): Promise<void> {
    for (const question of questions(this.#place.workdir, prompt).slice(1)) await this.#wire.post(path, question);
  }
}

interface Reading {
  until: (data: string) => boolean;
  take?: (data: string) => void;
}

async function readUntil(stream: AsyncIterable<string[]>, { until, take }: Reading): Promise<void> {
  for await (const all of stream) {
    for (const data of all) {
      JSON.parse(data);
      take?.(data);
      if (until(data)) return;
    }
  }
}

/** The answer to the prompt ends a turn. */
function isAnswer(data: string): boolean {
  return data.includes('"stopReason"');
}

async function answers(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/v1/health`).then(({ ok }) => ok, () => false);
}
