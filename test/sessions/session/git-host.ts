import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { GitChange } from "../../../plugin-sdk/git-changes.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { adapterCode, completed, writePlugin } from "../host/test-host.ts";
import type { AgentGit } from "./agent-git.ts";

/** One line that the host's process prints. */
interface HostLine {
  session?: string;
  event?: Envelope["event"];
  order?: number;
  log?: string;
  isOpen?: true;
}

/** Asks for one script after another, and runs each as a program of its own. */
const code = adapterCode(`    for (let n = 0;; n++) {
      yield { type: "question", request_id: "q" + n, question: "Which script?" };
      const script = await ctx.answer("q" + n);
      if (script === "" || script === null) break;
      const child = await ctx.run("/bin/sh", ["-c", script]);
      for await (const text of child.stdout) yield { type: "output", stream: "stdout", data: text };
      await child.exit;
      yield { type: "progress", message: "q" + n };
    }
    yield ${completed};`);

const manifest = `permissions:\n  run:\n    - { binary: /bin/sh, args: ["-c {*}"] }\n`;

const started: GitHost[] = [];

afterEveryTest(async () => {
  for (const one of started.splice(0)) await one.kill();
});

/** A host in a process of its own, with sessions of contained agents in a person's repository. */
export class GitHost {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: HostLine[] = [];
  readonly #waiting = new Set<() => void>();
  #isOver = false;
  #orders = 0;

  constructor({ root, home, stateDir }: AgentGit, folder: string) {
    const program = fileURLToPath(new URL("programs/git-host-program.mjs", import.meta.url));
    const flags = "Deno" in globalThis ? ["run", "-A"] : [];
    const orders = JSON.stringify({ root, stateDir, folder });
    const env = { ...process.env, HOME: home, GIT_CONFIG_NOSYSTEM: "1" };
    this.#child = spawn(process.execPath, [...flags, program, orders], { env, stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdin!.on("error", () => {});
    this.#exited = once(this.#child, "exit");
    const reader = createInterface({ input: this.#child.stdout! });
    reader.on("line", (line) => {
      this.#lines.push(JSON.parse(line) as HostLine);
      this.#wake();
    });
    reader.on("close", () => {
      this.#isOver = true;
      this.#wake();
    });
    started.push(this);
  }

  /** Starts one on the state of the repository's hosts; resolves when it has recovered what the one before it left. */
  static async open(repo: AgentGit): Promise<GitHost> {
    const folder = await writePlugin(join(repo.root, "scripts"), "scripts", {
      type: "agent",
      code,
      manifest,
    });
    const host = new GitHost(repo, folder);
    await host.#seen(({ isOpen }) => isOpen === true);
    return host;
  }

  /** Begins a session; returns its id. */
  async begin(workdir: string): Promise<string> {
    const order = ++this.#orders;
    this.#say({ begin: { order, workdir } });
    const { session } = await this.#seen((line) => line.order === order);
    await this.#asked(session!);
    return session!;
  }

  /** Runs a script as the agent; returns what it printed. With `kill`, its program or the host is killed meanwhile. */
  async run(session: string, script: string, kill?: { who: "host" | "agent"; afterMs: number }): Promise<string> {
    const request = await this.#asked(session);
    if (request === null) return "";
    const before = this.#lines.length;
    this.#say({ answer: { session, request, script: `exec 2>&1\n${script}` } });
    const since = () => this.#lines.slice(before).filter((line) => line.session === session).map(({ event }) => event);
    if (kill !== undefined) {
      const { event } = await this.#seen(
        ({ session: of, event }) =>
          of === session && (event?.type === "process_spawned" || event?.type === "session_ended"),
        before,
      );
      await new Promise((resolve) => setTimeout(resolve, kill.afterMs));
      if (kill.who === "host") await this.kill();
      else if (event?.type === "process_spawned") killIfThere(event.pid);
    }
    const isDone = ({ session: of, event }: HostLine) =>
      of === session && (event?.type === "progress" && event.message === request || event?.type === "session_ended");
    await this.#seen(isDone, before).catch(() => {});
    return since().map((event) => event?.type === "output" ? event.data : "").join("");
  }

  /** Ends a session, and takes over what its agent did. With `killMs`, the host is killed meanwhile. */
  async end(session: string, killMs?: number): Promise<void> {
    const request = await this.#asked(session);
    if (request !== null) this.#say({ answer: { session, request, script: "" } });
    if (killMs !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, killMs));
      await this.kill();
    } else await this.#seen(({ session: of, event }) => of === session && event?.type === "session_ended");
  }

  /** What a session that has ended, under this host or an earlier one, left of its git. */
  async gitChanges(session: string): Promise<GitChange[]> {
    await this.#seen(({ session: of, event }) => of === session && event?.type === "session_ended");
    const own = this.#lines.filter((line) => line.session === session).map(({ event }) => event);
    return own.flatMap((event) => event?.type === "git" ? event.changes : []);
  }

  /** What it logged. */
  get logs(): string[] {
    return this.#lines.flatMap(({ log }) => log === undefined ? [] : [log]);
  }

  /** Closes it in good order. */
  async close(): Promise<void> {
    this.#child.stdin!.end();
    await this.#exited;
  }

  /** Kills it, and nothing that it started. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  /** Resolves with the open question of a session; null for one that has ended, as where nothing could be started. */
  async #asked(session: string): Promise<string | null> {
    const isOpen = (id: string) =>
      !this.#lines.some(({ session: of, event }) =>
        of === session && event?.type === "permission_resolved" && event.request_id === id
      );
    const { event } = await this.#seen(({ session: of, event }) =>
      of === session && (event?.type === "question" && isOpen(event.request_id) || event?.type === "session_ended")
    );
    return event?.type === "question" ? event.request_id : null;
  }

  #say(order: object): void {
    this.#child.stdin!.write(`${JSON.stringify(order)}\n`);
  }

  #seen(fits: (line: HostLine) => boolean, from = 0): Promise<HostLine> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const line = this.#lines.slice(from).find(fits);
        if (line === undefined && !this.#isOver) return;
        this.#waiting.delete(look);
        if (line) resolve(line);
        else reject(new Error(`The host said only ${JSON.stringify(this.#lines.slice(-20)).slice(0, 4000)}`));
      };
      this.#waiting.add(look);
      look();
    });
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
