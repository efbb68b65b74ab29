import { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { CanaryReport } from "../../core/kit/attack/canary.ts";
import { adapterCode, completed, writePlugin } from "../sessions/host/test-host.ts";

const onDeno = "Deno" in globalThis;
const program = fileURLToPath(new URL("programs/streaming-host.mjs", import.meta.url));

/** Bytes of text in one event of the flood. */
export const eventBytes = 200_000;
/** Megabytes of V8 heap that the host has. */
const heapMb = 256;

/** Needs no permission: it says the same long line as often as its prompt tells it to. */
const flooding = adapterCode(`
  const data = "x".repeat(${eventBytes});
  for (let count = Number(request.prompt); count > 0; count--) yield { type: "output", stream: "stdout", data };
  yield ${completed};`);

/** How long a client of the daemon may leave unread what waits for it. */
export const stallMs = 5000;

/** The limits that the volume, and a machine that does much else, need; all others are the defaults. */
const manifest = `bulkhead: 1
journal: { max_bytes: 4294967296 }
limits: { event_bytes_total: 2147483648, http_stall_timeout_ms: ${stallMs}, heartbeat_timeout_ms: 60000 }
`;

/** What the host says of itself at its end. */
export interface HostReport {
  canary: CanaryReport;
  peak_rss: number;
  /** Why it ended the service of its client; null where the client left. */
  cut_off: { code: string; message: string } | null;
}

/** A host in a process of its own, as its client sees it. */
export interface StreamingHost extends AsyncDisposable {
  child: ChildProcess;
  /** The working directory of its sessions. */
  workdir: string;
  /** The next line that it prints on standard error with this key. */
  told<T>(key: string): Promise<T>;
  /** Waits for its end; fails when it did not live to say how it fared. */
  report(): Promise<HostReport>;
}

/** Starts a host with a small heap that serves one door. */
export async function startStreamingHost(door: string, ...args: readonly string[]): Promise<StreamingHost> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-streams-")));
  await writePlugin(join(folder, "flood"), "flood", { code: flooding });
  await writeFile(join(folder, "bulkhead.yaml"), manifest);
  const flag = `--max-old-space-size=${heapMb}`;
  const before = onDeno ? ["run", "-A", `--v8-flags=${flag}`] : [flag];
  const child = spawn(process.execPath, [...before, program, folder, door, ...args], {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], DENO_DIR: process.env["DENO_DIR"], TMPDIR: folder },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = new Promise<string>((resolve) => child.once("close", (code, signal) => resolve(`${signal ?? code}`)));
  const said: Record<string, unknown>[] = [];
  let complaints = "";
  let wake = () => {};
  createInterface({ input: child.stderr! }).on("line", (line) => {
    if (line.startsWith("{")) said.push(JSON.parse(line) as Record<string, unknown>);
    else complaints = `${complaints}${line}\n`.slice(-4000);
    wake();
  });
  void exited.then(() => wake());
  // A host that died takes no more.
  child.stdin!.on("error", () => {});
  const told = async <T>(key: string): Promise<T> => {
    for (;;) {
      const found = said.find((line) => Object.hasOwn(line, key));
      if (found !== undefined) return found[key] as T;
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`The host ended (${await exited}) and said no "${key}":\n${complaints}`);
      }
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  return {
    child,
    workdir: join(folder, "workdir"),
    told,
    async report() {
      const report = await told<HostReport>("report");
      await exited;
      return report;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exited;
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

/** A line of a stream, of which a long one is known by its ends alone. */
export interface Line {
  head: string;
  tail: string;
  bytes: number;
}

/** Characters of a line's ends that are kept. */
const keptOfLine = 4096;

/** Lines of a stream, as they come. */
export async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Line, void, void> {
  let line: Line = { head: "", tail: "", bytes: 0 };
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length;) {
      const end = chunk.indexOf(0x0a, at);
      const part = chunk.subarray(at, end === -1 ? chunk.length : end);
      if (line.bytes < keptOfLine) line.head += text(part.subarray(0, keptOfLine - line.bytes));
      line.tail = (line.tail + text(part.subarray(-keptOfLine))).slice(-keptOfLine);
      line.bytes += part.length;
      at += part.length + 1;
      if (end === -1) continue;
      yield line;
      line = { head: "", tail: "", bytes: 0 };
    }
  }
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

/** Counts the events of one session in whatever a door sends, and sees that none is missing. */
export class Tally {
  events = 0;
  bytes = 0;
  /** The first number that did not follow the one before it. */
  broken: number | null = null;
  #last = 0;

  /** Takes notice of the event that a line holds, where it holds one. */
  see({ head, tail, bytes }: Line): void {
    const seq = Number((/"seq":(\d+)/.exec(head) ?? /"seq":(\d+)/.exec(tail))?.[1] ?? NaN);
    if (Number.isNaN(seq)) return;
    if (seq !== this.#last + 1) this.broken ??= seq;
    this.#last = seq;
    this.events += 1;
    this.bytes += bytes;
  }
}
