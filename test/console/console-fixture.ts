import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { connectHost, type RemoteHost } from "../../core/doors/client/mod.ts";
import { writePlugin } from "../sessions/host/test-host.ts";
import { agents } from "./agents.ts";
import { git } from "./git.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** The daemon runs on the runtime of the tests. */
const program = "Deno" in globalThis
  ? ["run", "-A", join(root, "core/doors/cli/main.ts")]
  : [join(root, "dist/bundle/cli.js")];
const browserPath = process.env["BULKHEAD_CHROMIUM"] ?? "/usr/bin/chromium";
const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--enable-precise-memory-info",
];

/** Folder for pictures of every screen; git ignores it. */
export const pictures: string = join(root, "node_modules/.cache/bulkhead-console");

/** A daemon with the tests' agents, in folders of its own. */
export interface ConsoleHost {
  folder: string;
  /** A repository with one commit. */
  workdir: string;
  address: string;
  client: RemoteHost;
  /** Its process, as long as it runs. */
  pid(): number | undefined;
  /** Ends it as a loss of power would. */
  kill(): Promise<void>;
  /** Starts it again, at the same address. */
  start(): Promise<void>;
  /** A new one-time code. */
  code(scope?: "read" | "admin"): Promise<string>;
  /** Calls a route as the operator. */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
}

/** Makes a host, and stops it and removes its folders when it is disposed. */
export async function openConsoleHost(): Promise<ConsoleHost & AsyncDisposable> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-console-")));
  const [stateDir, workdir] = [join(folder, "state"), join(folder, "tidepool")];
  await writeFolders({ folder, workdir });
  const port = await freePort();
  let child: ChildProcess | null = null;
  const address = `http://127.0.0.1:${port}`;
  const start = async () => {
    child = await startDaemon({ folder, stateDir, port });
  };
  const kill = async () => {
    const killed = child;
    child = null;
    if (killed === null || killed.exitCode !== null) return;
    const gone = once(killed, "exit");
    killed.kill("SIGKILL");
    await gone;
  };
  await start();
  const token = (await readFile(join(stateDir, "http/token"), "utf8")).trim();
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  };
  return {
    folder,
    workdir,
    address,
    client: connectHost({ url: address, token }),
    pid: () => child?.pid,
    start,
    kill,
    call,
    code: async (scope = "admin") => (await call<{ code: string }>("POST", "/v1/console/codes", { scope })).code,
    async [Symbol.asyncDispose]() {
      await kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function startDaemon(
  { folder, stateDir, port }: { folder: string; stateDir: string; port: number },
): Promise<ChildProcess> {
  const args = [...program, "up", "--json", "--port", String(port), "--state-dir", stateDir];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, HOME: join(folder, "home") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (piece: Uint8Array) => (said += String(piece)));
  const exited = once(child, "exit");
  for (const end = performance.now() + 30_000; performance.now() < end;) {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
    if (answer?.ok) return child;
    if (await Promise.race([exited, pause(50)]) !== undefined) break;
  }
  child.kill("SIGKILL");
  throw new Error(`The daemon did not start: ${said}`);
}

async function writeFolders({ folder, workdir }: { folder: string; workdir: string }): Promise<void> {
  for (const path of [join(workdir, "src"), join(folder, "home")]) await mkdir(path, { recursive: true });
  for (const [id, plugin] of Object.entries(agents)) await writePlugin(join(folder, "plugins", id), id, plugin);
  const settings: Readonly<Record<string, string>> = {
    works: "{ grant: { read: [workdir], write: [workdir] } }",
    writes: "{ grant: { read: [workdir], write: [workdir] } }",
    differs: "{ grant: { write: [workdir] } }",
    limited: "{ grant: { read: [workdir], write: [workdir] } }",
    single: "{ limits: { workers: 1, sessions_per_worker: 1 } }",
    crashes: "{ limits: { quarantine_crashes: 1, restart_backoff_ms: 1 } }",
  };
  const plugins = Object.keys(agents).map((id) => `  ${id}: ${settings[id] ?? "{}"}`).join("\n");
  const limits = "{ teardown_timeout_ms: 200, warden_grace_ms: 200, event_bytes: 15000000 }";
  await writeFile(join(folder, "bulkhead.yaml"), `bulkhead: 1\nplugins:\n${plugins}\nlimits: ${limits}\n`);
  await writeFile(join(workdir, "README.md"), "# Tidepool\n");
  await writeFile(join(workdir, "src/tally.js"), "export function tally(words) {\n  return words.length;\n}\n");
  await git(workdir, "init", "-q", "-b", "main");
  await git(workdir, "add", "-A");
  await git(workdir, "commit", "-q", "-m", "begin");
}

/** A page of the console, and what it broke. */
export interface ConsolePage {
  page: Page;
  /** Reports of the policy, errors of scripts, and what the console printed; a test ends with none. */
  breaches: string[];
  go(hash: string): Promise<void>;
}

/** A browser for a test file. */
export async function openBrowser(more: readonly string[] = []): Promise<Browser> {
  return await chromium.launch({ executablePath: browserPath, args: [...flags, ...more] });
}

interface OpenOptions {
  hash?: string;
  /** Runs in the page before its own. */
  script?: string;
  scope?: "read" | "admin";
  /** Another page of the same browser: a second tab. */
  beside?: ConsolePage;
}

/** Opens the console in a context of its own or beside another page, signed in by a code. */
export async function openConsole(
  browser: Browser,
  host: ConsoleHost,
  { hash = "", script = "", scope, beside, ...options }: BrowserContextOptions & OpenOptions = {},
): Promise<ConsolePage> {
  const context = beside?.page.context() ??
    await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  const breaches: string[] = [];
  await page.exposeFunction("reportBreach", (text: string) => void breaches.push(text));
  await page.addInitScript({
    content: `addEventListener("securitypolicyviolation", (report) =>
      reportBreach([report.violatedDirective, report.blockedURI, report.sample].join(" ")));${script}`,
  });
  page.on("pageerror", (error) => breaches.push(String(error)));
  await page.goto(`${host.address}/console#code=${await host.code(scope)}`);
  await page.getByText("Live", { exact: true }).waitFor();
  const go = async (to: string) => {
    await page.evaluate(`location.hash = ${JSON.stringify(to)}`);
  };
  if (hash !== "") await go(hash);
  return { page, breaches, go };
}

/** Closes a page and its context; no rule of the page's policy was broken and no script failed. */
export async function closeConsole({ page, breaches }: ConsolePage): Promise<void> {
  // A call that a test answers itself may be under way.
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.context().close();
  expect(breaches).toEqual([]);
}

/** A host, a browser and a page in it. */
export interface WholeConsole {
  host: ConsoleHost;
  browser: Browser;
  opened: ConsolePage;
  page: Page;
  /** Ends all three; a test file ends with no breach of its page. */
  close(): Promise<void>;
}

/** Opens what most test files have. */
export async function openWholeConsole(): Promise<WholeConsole> {
  const [host, browser] = await Promise.all([openConsoleHost(), openBrowser()]);
  const end = async () => {
    await browser.close();
    await host[Symbol.asyncDispose]();
  };
  try {
    const opened = await openConsole(browser, host);
    const close = () => closeConsole(opened).finally(end);
    return { host, browser, opened, page: opened.page, close };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Waits. */
export function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}
