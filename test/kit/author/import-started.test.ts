import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { thisMachine } from "../../../core/kit/author/acp-entry.ts";
import { fakeTerminal } from "../../doors/cli/fake-terminal.ts";
import { packageOf, tgzOf } from "../../packages/install/tar-archive.ts";

const run = promisify(execFile);

/** An agent that speaks the protocol without any package, and says by which name and with what it was started. */
const agent = `#!/usr/bin/env node
import { createInterface } from "node:readline";
import { basename } from "node:path";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const text = [basename(process.argv[1]), ...process.argv.slice(2), process.env.FLAVOUR].join(" ");
const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {}, agentInfo: { name: "made", version: "1.0.0" } }),
  "session/new": () => ({ sessionId: "s" }),
  "session/prompt": () => {
    const content = { type: "text", text };
    send({ method: "session/update", params: { sessionId: "s", update: { sessionUpdate: "agent_message_chunk", content } } });
    return { stopReason: "end_turn" };
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id !== undefined && answers[method]) send({ id, result: answers[method]() });
}
`;

let root: string;
let server: Server | undefined;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-imported-")));
  for (const name of ["home", "bin", "project"]) await mkdir(join(root, name));
  vi.stubEnv("HOME", join(root, "home"));
  vi.stubEnv("XDG_DATA_HOME", join(root, "home", "data"));
  vi.stubEnv("PATH", [join(root, "bin"), dirname(process.execPath), "/usr/local/bin:/usr/bin:/bin"].join(":"));
  vi.stubEnv("npm_config_registry", "http://127.0.0.1:9/");
});

afterEach(async () => {
  vi.unstubAllEnvs();
  server?.close();
  server = undefined;
  await rm(root, { recursive: true, force: true });
});

async function bulkhead(...args: string[]): Promise<string> {
  const terminal = fakeTerminal({ args: ["--state-dir", join(root, "state"), ...args], cwd: join(root, "project") });
  expect({ code: await runCli(terminal), err: terminal.err() }).toEqual({ code: 0, err: "" });
  return terminal.out();
}

/** Imports an agent of the registry, enables it with the program that the plugin asks for, and runs it. */
async function imported(distribution: unknown): Promise<string> {
  const file = join(root, "agent.json");
  const facts = { id: "made", name: "Made", version: "1.0.0", description: "Made by a test." };
  await writeFile(file, JSON.stringify({ ...facts, distribution }));
  await bulkhead("plugin", "import", file, "--into", "plugins");
  const manifest = await readFile(join(root, "project", "plugins", "made", "plugin.yaml"), "utf8");
  const [, binary] = /binary: "(.*)"/.exec(manifest) ?? [];
  // Its program lies in a folder of the test's, which no walls would show.
  const text = `bulkhead: 1\nos_walls: { agents: off }\nplugins:\n  made: { grant: { run: ["${binary}"] } }\n`;
  await writeFile(join(root, "project", "bulkhead.yaml"), text);
  return await bulkhead("run", "made", "Hello", "-q");
}

test("an npx entry starts the program that its package installs, whatever the package is called", async () => {
  const described = { name: "@maker/package", version: "1.0.0", type: "module", bin: { "the-program": "agent.js" } };
  const file = join(root, "package.tgz");
  await writeFile(file, packageOf({ "package.json": JSON.stringify(described), "agent.js": agent }));
  await run("npm", ["install", "--global", "--prefix", root, "--offline", "--no-audit", "--no-fund", file], {
    cwd: root,
  });
  const said = await imported({
    npx: { package: "@maker/package@1.0.0", args: ["--acp"], env: { FLAVOUR: "sweet" } },
    binary: { [thisMachine]: { archive: "http://127.0.0.1:9/a.tgz", cmd: "./another" } },
  });
  expect(said).toBe("the-program --acp sweet\n");
}, 120_000);

test("a binary entry starts the program of this machine's archive", async () => {
  const archive = tgzOf([{ path: "dist/made-here", content: agent, mode: 0o755 }, {
    path: "dist/package.json",
    content: '{"type":"module"}',
  }]);
  server = createServer((_, answer) => answer.end(archive));
  await new Promise<void>((settle) => server!.listen(0, "127.0.0.1", settle));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/made.tar.gz`;
  const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
  await writeFile(join(root, "made.tar.gz"), bytes);
  await run("tar", ["xzf", join(root, "made.tar.gz"), "--strip-components=1", "-C", join(root, "bin")]);
  const said = await imported({
    binary: {
      "another-machine": { archive: url, cmd: "./dist/made-elsewhere" },
      [thisMachine]: { archive: url, cmd: "./dist/made-here serve", args: ["--stdio"], env: { FLAVOUR: "sour" } },
    },
  });
  expect(said).toBe("made-here serve --stdio sour\n");
}, 120_000);
