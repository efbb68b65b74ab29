import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { RegistrySettings } from "bulkhead";
import { afterEveryTest } from "../clean-up.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import type { SessionResult } from "../../plugin-sdk/result.ts";

/** What a host in another process is told. */
export interface HostOrders {
  stateDir: string;
  /** Of the plugin. */
  folder: string;
  settings: RegistrySettings;
  workdir: string;
  prompt: string;
  /** Further fields of the request. */
  request?: Partial<SessionRequest>;
  /** `close`: close the host at the first `progress`. Absent: run until killed or done. */
  end?: "close";
}

/** One line that the host's process prints. */
export interface HostLine {
  envelope?: Envelope;
  result?: SessionResult;
  log?: string;
  closed?: true;
}

/** A host in a process of its own. */
export interface HostProcess {
  child: ChildProcess;
  lines: HostLine[];
  /** Resolves with the first line that fits; rejects when the process ends without one. */
  seen(fits: (line: HostLine) => boolean): Promise<HostLine>;
  kill(): Promise<void>;
}

const started: HostProcess[] = [];

afterEveryTest(async () => {
  for (const one of started.splice(0)) await one.kill();
});

/** Starts a host in a process of its own, with one plugin and one session. */
export function startHost(orders: HostOrders): HostProcess {
  const program = fileURLToPath(new URL("programs/host-program.mjs", import.meta.url));
  const flags = "Deno" in globalThis ? ["run", "-A"] : [];
  const child = spawn(process.execPath, [...flags, program, JSON.stringify(orders)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const lines: HostLine[] = [];
  const waiting = new Set<() => void>();
  let over = false;
  const wake = () => waiting.forEach((look) => look());
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    lines.push(JSON.parse(line) as HostLine);
    wake();
  });
  reader.on("close", () => {
    over = true;
    wake();
  });
  const host: HostProcess = {
    child,
    lines,
    seen: (fits) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const line = lines.find(fits);
          if (line === undefined && !over) return;
          waiting.delete(look);
          if (line) resolve(line);
          else reject(new Error(`The host said only ${JSON.stringify(lines).slice(0, 2000)}`));
        };
        waiting.add(look);
        look();
      }),
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
  started.push(host);
  return host;
}

/** Wardens that the ledger of the newest part of a state folder names. */
export async function recordedWardens(stateDir: string): Promise<number[]> {
  const part = (await readdir(stateDir)).filter((name) => name.startsWith("host-")).sort().at(-1)!;
  const lines = (await readFile(join(stateDir, part, "children.jsonl"), "utf8")).trim().split("\n");
  return lines.map((line) => JSON.parse(line) as { role?: string; pid: number })
    .filter(({ role }) => role === "warden").map(({ pid }) => pid);
}
