import { execFileSync } from "node:child_process";
import { access, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Permissions } from "../../../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../../plugin-sdk/result.ts";
import type { HostManifest } from "../../../../core/ground/config/host-manifest.ts";
import type { Limits } from "../../../../core/ground/config/limits.ts";
import { storeSecret } from "../../../../core/walls/secrets/store.ts";
import { afterEveryTest } from "../../../clean-up.ts";
import { adapterCode, completed, openHost, type TestHost } from "../test-host.ts";

/** A key that the host holds for the agent. */
export const key = "sk-test-the-real-key-of-the-person";
/** A secret that the agent says to its model. */
export const secret = "hunter2-hunter2-hunter2";

/** A contained agent whose program is a shell that calls its model, in a repository. */
export interface RecordedAgent {
  root: string;
  project: string;
  test: TestHost;
  model: FakeModel;
  /** Where the model is. */
  url: string;
  git(...args: string[]): string;
  /** Runs a script to its end. `ask BODY` in it calls the model and prints its answer. */
  run(script: string, request?: Partial<SessionRequest>): Promise<SessionResult>;
  replay(of: string, script: string, request?: Partial<SessionRequest>): Promise<SessionResult>;
}

/** A model, and all that it was asked. */
export interface FakeModel {
  asked: { line: string; body: string; key: unknown }[];
  /** Its answer to the next calls: a piece is sent a moment after the one before it. */
  answer(call: number, body: string): { status?: number; pieces: string[] };
}

const plain: HostManifest = { bulkhead: 1, plugins: {}, tools: {}, routing: { agent: "auto" }, limits: {} };

const roots: string[] = [];
const servers: { close(): void; closeAllConnections(): void }[] = [];
afterEveryTest(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  for (const root of roots.splice(0)) await rm(root, { recursive: true, force: true, maxRetries: 3 });
});

const shell = adapterCode(`    const TOKEN = await ctx.secrets.use("TOKEN");
    const child = await ctx.run("sh", ["-c", request.prompt], { env: { TOKEN } });
    for await (const text of child.stdout) yield { type: "output", stream: "stdout", data: text };
    for await (const text of child.stderr) yield { type: "output", stream: "stderr", data: text };
    yield ${completed};`);

const turning = adapterCode(`    const TOKEN = await ctx.secrets.use("TOKEN");
    for await (const turn of ctx.turns) {
      const child = await ctx.run("sh", ["-c", turn.prompt], { env: { TOKEN } });
      for await (const text of child.stdout) yield { type: "output", stream: "stdout", data: text };
      yield ${completed};
    }`);

/** An access mode of known prices, as JSON: a thousand input tokens cost a dollar. */
export const pricedModes = JSON.stringify([{
  type: "api",
  priority: 1,
  enabled: true,
  model: "m",
  max_tokens: 1000,
  pricing: { input_per_1k_tokens: 1, output_per_1k_tokens: 2, cached_per_1k_tokens: 0.5, currency: "USD" },
}]);

/** An answer that costs a dollar in {@link pricedModes}. */
export const dollarAnswer = JSON.stringify({ model: "m", usage: { input_tokens: 1000, output_tokens: 0 } });

/** A function of a script: calls the model and prints its answer. */
export const ask = 'ask() { curl -sS -H "x-api-key: $MODEL_KEY" -d "$1" "$MODEL_URL/v1/messages"; }\n';

/** Opens one; a host of an earlier one's state goes on with its root. */
export async function recordedAgent(
  { before, limits = {}, manifest, modes, turns = false }: {
    before?: Pick<RecordedAgent, "root" | "model">;
    limits?: Partial<Limits>;
    /** Of the host. */
    manifest?: Partial<HostManifest>;
    /** Access modes of the agent, as YAML. */
    modes?: string;
    /** Runs a script for each turn, in one entry. */
    turns?: boolean;
  } = {},
): Promise<RecordedAgent> {
  // Agents have a /tmp of their own.
  const base = await access("/var/tmp").then(() => "/var/tmp", () => tmpdir());
  const root = before?.root ?? await realpath(await mkdtemp(join(base, "bulkhead-box-")));
  roots.push(root);
  const model: FakeModel = before?.model ?? { asked: [], answer: (call) => ({ pieces: [`said ${call}\n`] }) };
  const project = join(root, "project");
  const git = (...args: string[]) => execFileSync("git", args, { cwd: project, encoding: "utf8", stdio: "pipe" });
  if (before === undefined) {
    await mkdir(project);
    await writeFile(join(project, "a.txt"), "a\n");
    git("init", "-q", "-b", "main");
    git("config", "user.email", "a@b");
    git("config", "user.name", "a");
    git("add", "-A");
    git("commit", "-qm", "one");
  }
  const url = await serve(model);
  const secretsFile = join(root, "secrets", "secrets.json");
  await storeSecret(secretsFile, { name: "TOKEN", value: secret });
  const test = await openHost({
    root: join(root, "host"),
    stateDir: join(root, "state"),
    secretsFile,
    ...(manifest && { manifest: { ...plain, ...manifest } }),
  });
  const secrets = [{ name: "TOKEN", env: ["TOKEN"] }];
  const env = ["MODEL_KEY", "MODEL_URL", "TOKEN"];
  const permissions: Permissions = { run: [{ binary: "sh", args: ["-c {*}"], env }], secrets };
  await test.add("agent", {
    code: turns ? turning : shell,
    type: "agent",
    manifest: [
      `permissions: ${JSON.stringify(permissions)}`,
      ...(turns ? ["accepts: [turns]"] : []),
      ...(modes === undefined ? [] : [`access_modes: ${modes}`]),
      "endpoints: [{ program: sh, key: MODEL_KEY, base_url: MODEL_URL, url: 'https://api.example.com' }]",
    ].join("\n"),
  }, {
    grant: { secrets, run: [{ binary: "sh", env }], net: [new URL(url).host], read: [join(root, "outside")] },
    limits,
  });
  await mkdir(join(root, "outside"), { recursive: true });
  const start = async (request: Partial<SessionRequest>) => {
    const session = await test.host.runSession({ workdir: project, prompt: "", retry: "never", ...request }, {
      adapter: "agent",
    });
    return await session.result();
  };
  return {
    root,
    project,
    test,
    model,
    url,
    git,
    run: (script, request = {}) =>
      start({ prompt: ask + script, record: "wire", env: { MODEL_KEY: key, MODEL_URL: url }, ...request }),
    replay: (replay_of, script, request = {}) => start({ prompt: ask + script, replay_of, ...request }),
  };
}

/** Serves a model on this machine until the test ends; returns its address. */
export async function serve(model: FakeModel): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += String(piece);
    model.asked.push({ line: `${request.method} ${request.url}`, body, key: request.headers["x-api-key"] });
    const { status = 200, pieces } = model.answer(model.asked.length, body);
    response.writeHead(status, { "content-type": "text/event-stream", "x-limit": "7" });
    for (const piece of pieces) response.write(piece);
    response.end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
