import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { unixFetch } from "bulkhead";
import { connectHost } from "bulkhead/client";
import { benchDaemon, cli } from "./bench-daemon.ts";
import { aimed, type Figure } from "./measure.ts";

const run = promisify(execFile);

/** The most that the host's thread may use of a processor between two turns of its loop. */
const mostMs = 50;

/**
 * The longest turn of a daemon's loop, by the processor's time, while each route, command and clean-up runs: with many
 * sessions, twenty plugins that ask for much, and a worktree of many files to remove. On Linux alone.
 */
export async function turns({ quick }: { quick: boolean }): Promise<Figure[]> {
  if (process.platform !== "linux") return [];
  const [sessions, files] = quick ? [30, 5000] : [300, 100_000];
  await using bench = await openBench();
  const ids = await bench.sessions(sessions);
  const changed = await bench.changedWorktree(files);
  const figures: Figure[] = [];
  const measure = async (name: string, act: () => Promise<unknown>) => {
    const longest = await bench.longestTurn(act);
    figures.push(aimed({ name: `turns.${name}`, value: longest, unit: "ms" }, { most: mostMs }));
  };
  await measure("reload", () => bench.ask("POST", "/v1/reload"));
  for (const path of await bench.routes()) {
    const id = path.startsWith("/v1/plugins") ? "agent-1" : path.endsWith("/diff") ? changed : ids[0]!;
    const query = path === "/v1/folder" ? `?workdir=${encodeURIComponent(bench.folder)}` : queries[path] ?? "";
    await measure(`get ${path}`, () => bench.ask("GET", `${path.replace("{id}", id)}${query}`));
  }
  for (const words of commands) {
    await measure(`command ${words.join(" ")}`, () => bench.command(words));
  }
  await measure("discard", () => bench.ask("POST", `/v1/sessions/${changed}/discard`));
  await measure("prune", () => bench.ask("POST", "/v1/workspaces/prune", "{}"));
  return figures;
}

/** Queries of routes that need one. */
const queries: Readonly<Record<string, string>> = {
  "/v1/moment": "?at=1",
  "/v1/search": "?q=single",
  "/v1/sessions/{id}/find": "?text=single",
};
/** Routes that a host without a cluster, a comparison and kept files does not have, and that of the client's own proof. */
const leftOut = [
  "/v1/cluster",
  "/v1/comparisons/{id}",
  "/v1/conversations/{id}/turns/{turn}/diff",
  "/v1/proof",
];

const commands = [
  ["agents"],
  ["doctor"],
  ["status"],
  ["usage"],
  ["session", "list"],
  ["plugin", "list"],
  ["plugin", "explain", "agent-1"],
];

/** A daemon whose turns are measured, and what is done with it. */
interface TurnsBench extends AsyncDisposable {
  /** That of its sessions. */
  folder: string;
  /** Runs sessions to their ends; returns their ids. */
  sessions(count: number): Promise<string[]>;
  /** Leaves the changed worktree of a session, with so many files that git ignores; returns its id. */
  changedWorktree(files: number): Promise<string>;
  /** Paths of all that can be read. */
  routes(): Promise<string[]>;
  ask(method: string, path: string, body?: string): Promise<string>;
  command(words: readonly string[]): Promise<unknown>;
  /** The longest turn during something, and just after it. */
  longestTurn(act: () => Promise<unknown>): Promise<number>;
}

async function openBench(): Promise<TurnsBench> {
  const agents = Array.from({ length: 19 }, (_, n) => [`agent-${n + 1}`, {
    source: "claude-code",
    enabled: true,
    // No two are the same, so that none is explained with another.
    grant: { run: [{ binary: "claude" }], net: [`host-${n}.example:443`] },
  }]);
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-turns-"));
  const log = join(folder, "turns");
  await writeFile(log, "");
  const daemon = await benchDaemon({ plugins: Object.fromEntries(agents) }, {
    module: join(process.cwd(), "test/bench/programs/turn-meter.mjs"),
    env: { BULKHEAD_BENCH_TURNS: log },
  });
  const fetch = unixFetch(daemon.socket);
  const client = connectHost({ fetch, token: daemon.token, proof: "once" });
  const options = { adapter: "bench", artifacts: "none" as const };
  const ask = async (method: string, path: string, body?: string) => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const headers = { authorization: `Bearer ${daemon.token}`, ...type };
    // Some of what can be read never ends.
    const signal = AbortSignal.timeout(method === "GET" ? readingMs : actingMs);
    const answer = await fetch(`http://localhost${path}`, {
      method,
      headers,
      signal,
      ...body === undefined ? {} : { body },
    }).catch((cause: unknown) => {
      throw new Error(`${method} ${path} has no answer.`, { cause });
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return await answer.text().catch(() => "");
  };
  return {
    folder: daemon.folder,
    ask,
    async sessions(count) {
      const request = { workdir: daemon.folder, prompt: "single 20", retry: "never" as const };
      const ids: string[] = [];
      for (let n = 0; n < count; n++) {
        const session = await client.start(request, options);
        await session.result();
        ids.push(session.id);
      }
      return ids;
    },
    async changedWorktree(files) {
      const workdir = await repository(folder);
      const session = await client.start({ workdir, prompt: "wait", workspace: "worktree" }, { adapter: "bench" });
      for await (const { event } of session.events()) if (event.type === "progress") break;
      const { workspaces } = JSON.parse(await ask("GET", "/v1/workspaces")) as { workspaces: { folder: string }[] };
      const worktree = workspaces[0]!.folder;
      await writeFile(join(worktree, "file"), "changed\n");
      await session.interrupt();
      await session.result();
      await fill(join(worktree, "ignored"), files);
      return session.id;
    },
    async routes() {
      const { paths } = JSON.parse(await ask("GET", "/v1/openapi.json")) as { paths: Record<string, object> };
      return Object.keys(paths).filter((path) => "get" in paths[path]! && !leftOut.includes(path)).sort();
    },
    command: (words) =>
      run(process.execPath, [
        ...cli,
        ...words,
        ...["--config", join(daemon.folder, "bulkhead.yaml"), "--state-dir", join(daemon.folder, "state")],
      ]).catch((error: { stdout?: string; stderr?: string }) => {
        // The agents' programs are not installed, which doctor says with its exit code.
        if (words[0] !== "doctor" || error.stdout === "") throw error;
      }),
    async longestTurn(act) {
      await setTimeout(restMs);
      const from = Date.now();
      await act();
      await setTimeout(restMs);
      const lines = (await readFile(log, "utf8")).trim().split("\n").map((line) => line.split(" ").map(Number));
      const own = lines.filter(([pid, at = 0]) => pid === daemon.pid && at >= from);
      return Math.max(0, ...own.map(([, , ms = 0]) => ms));
    },
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** How long an answer is read. */
const readingMs = 10_000;
/** How long what changes something may take: a discard ends when all files are removed. */
const actingMs = 60_000;
/** How long the daemon is left alone before and after what is measured. */
const restMs = 100;

async function repository(folder: string): Promise<string> {
  const workdir = join(folder, "repository");
  await mkdir(workdir);
  await writeFile(join(workdir, ".gitignore"), "ignored\n");
  await writeFile(join(workdir, "file"), "first\n");
  const git = (...args: string[]) =>
    run("git", ["-c", "user.name=bench", "-c", "user.email=bench@example.com", ...args], { cwd: workdir });
  await git("init", "--quiet");
  await git("add", ".");
  await git("commit", "--quiet", "--message", "first");
  return workdir;
}

async function fill(folder: string, files: number): Promise<void> {
  for (let n = 0; n < files; n += 1000) {
    const inner = join(folder, `folder-${n}`);
    await mkdir(inner, { recursive: true });
    for (let file = n; file < Math.min(n + 1000, files); file++) writeFileSync(join(inner, `file-${file}`), "x");
  }
}
