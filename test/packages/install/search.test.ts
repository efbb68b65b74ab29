import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { fakeTerminal } from "../../doors/cli/fake-terminal.ts";

let folder: string;
let asked: string[];
let answer: { status: number; body: string };
const server = createServer((request, response) => {
  asked.push(request.url ?? "");
  response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body);
});

beforeEach(async () => {
  asked = [];
  folder = await mkdtemp(join(tmpdir(), "bulkhead-search-"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await writeFile(join(folder, ".npmrc"), `registry=http://127.0.0.1:${port}/npm\n`);
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

async function search(...args: string[]) {
  const terminal = fakeTerminal({ args: ["plugin", "search", ...args], cwd: folder });
  return { code: await runCli(terminal), out: terminal.out(), err: terminal.err() };
}

const plugin = (name: string, more: object = {}) => ({
  package: { name, version: "1.0.0", description: `About ${name}.`, keywords: ["bulkhead-plugin"], ...more },
});

test("plugin search asks npm's registry for the keyword and the words, and shows plugins alone", async () => {
  const objects = [
    plugin("bulkhead-one", { publisher: { username: "ann" } }),
    plugin("bulkhead-two", { description: "Two\u001b[31m\nlines", keywords: ["bulkhead-plugin", "x"] }),
    plugin("lodash", { keywords: ["utility"] }),
    plugin("without", { keywords: undefined }),
  ];
  answer = { status: 200, body: JSON.stringify({ objects, total: 4 }) };
  const { code, out } = await search("gemini", "cli");
  expect(code).toBe(0);
  const { pathname, searchParams } = new URL(asked[0]!, "http://registry");
  expect([pathname, searchParams.get("text")]).toEqual(["/npm/-/v1/search", "keywords:bulkhead-plugin gemini cli"]);
  expect(out).toMatch(/bulkhead-one +1\.0\.0 +ann +About bulkhead-one\./);
  expect(out).toContain("bulkhead plugin add <package>");
  for (const text of ["lodash", "without", "\u001b"]) expect(out).not.toContain(text);
  const json = (await search("--json")).out.trimEnd().split("\n").map((line) => JSON.parse(line) as object);
  expect(json).toMatchObject([{ name: "bulkhead-one", publisher: "ann" }, { name: "bulkhead-two", publisher: null }]);
});

test("plugin search says where there is none, and what an answer that is no list of packages means", async () => {
  answer = { status: 200, body: JSON.stringify({ objects: [], total: 0 }) };
  expect((await search("gemini")).out).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/npm\/? has no plugin for "gemini"\./);
  answer = { status: 200, body: "<html>" };
  expect(await search()).toMatchObject({ code: 1, err: expect.stringContaining("its answer is no list of packages") });
  answer = { status: 404, body: "{}" };
  expect((await search()).err).toContain("Cannot find");
  answer = { status: 200, body: `{"objects":[],"x":"${"y".repeat(3 * 1024 * 1024)}"}` };
  expect((await search()).code).not.toBe(0);
});

test("plugin search asks by the words alone where a registry takes the keyword for a word", async () => {
  const objects = [plugin("bulkhead-plugin-my-code"), plugin("my-code-other", { keywords: [] })];
  const handlers = server.listeners("request");
  server.removeAllListeners("request").on("request", (request, response) => {
    const text = new URL(request.url ?? "", "http://registry").searchParams.get("text") ?? "";
    const found = text.startsWith("keywords:") ? [] : objects;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ objects: found }));
  });
  const { code, out } = await search("my-code").finally(() => {
    server.removeAllListeners("request");
    for (const handler of handlers) server.on("request", handler as () => void);
  });
  expect(code).toBe(0);
  expect(out).toContain("bulkhead-plugin-my-code");
  expect(out).not.toContain("my-code-other");
});

test("plugin add says that hosts install nothing from JSR", async () => {
  await writeFile(join(folder, "bulkhead.yaml"), "bulkhead: 1\n");
  const terminal = fakeTerminal({ args: ["plugin", "add", "jsr:@me/mine"], cwd: folder });
  expect(await runCli(terminal)).toBe(2);
  expect(terminal.err()).toContain("hosts install nothing from JSR");
});
