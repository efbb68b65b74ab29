import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { loadHostManifest } from "bulkhead";
import { afterAll, describe, expect, test } from "vitest";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { storeSecret } from "../../../core/walls/secrets/store.ts";
import { openMcpServers } from "../../../core/sessions/host/mcp-servers.ts";
import { adapterCode, completed, errorOf, openHost, type TestHost } from "./test-host.ts";

const secret = "the-token-0123456789";

const servers = `
mcp_servers:
  files: { command: files-server, args: [--root, .], env: { TOKEN: "Bearer \${secret:FILES_TOKEN}", PLAIN: yes } }
  web: { url: "https://example.com/mcp", headers: { Authorization: "\${secret:FILES_TOKEN}" } }
  lost: { command: lost-server, env: { TOKEN: "\${secret:NOBODY_SET_THIS}" } }
`;

/** A program that says which file it was given and what is in it. */
const program = `import { readFileSync } from "node:fs";
const file = process.argv[2].slice("--mcp-config=".length);
console.log(JSON.stringify({ file, text: readFileSync(file, "utf8") }));`;

const code = adapterCode(`
    const child = await ctx.run(${JSON.stringify(process.execPath)}, [
      ${"Deno" in globalThis ? '"run", "-A",' : ""} "agent.mjs", "--mcp-config=bulkhead-mcp-servers.json",
    ]);
    let text = "";
    for await (const piece of child.stdout) text += piece;
    const names = JSON.stringify(request.mcp_servers);
    const own = await ctx.temp.read("mcp-servers.json").catch((error) => error.code);
    const hidden = await ctx.temp.read(".mcp-servers.json").catch((error) => error.code);
    yield { type: "unparsed", data: { text, names, own, hidden } };
    yield ${completed};
`);

/** A program that says what it was told. */
const echo = `process.stdin.pipe(process.stdout);`;

const node = `${JSON.stringify(process.execPath)}, [${"Deno" in globalThis ? '"run", "-A",' : ""} "echo.mjs"]`;
const telling = adapterCode(`
    const child = await ctx.run(${node}, { stdin: "open" });
    let text = "";
    const reading = (async () => { for await (const piece of child.stdout) text += piece; })();
    for (const part of JSON.parse(request.prompt.split("\\n").find((line) => line.startsWith("[")))) {
      await child.stdin.write(part);
    }
    await child.stdin.close();
    await reading;
    yield { type: "unparsed", data: { text } };
    yield ${completed};
`);

const roots: string[] = [];
afterAll(async () => {
  for (const root of roots) await rm(root, { recursive: true, force: true });
});

async function open(accepts: string, grant: Permissions = {}): Promise<TestHost> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-host-")));
  roots.push(root);
  const secretsFile = join(root, "secrets", "secrets.json");
  await storeSecret(secretsFile, { name: "FILES_TOKEN", value: secret });
  const file = join(root, "bulkhead.yaml");
  await writeFile(file, `bulkhead: 1\n${servers}`);
  const manifest = (await loadHostManifest({ config: file, from: root }))!;
  const made = await openHost({ root, manifest, secretsFile });
  await writeFile(join(made.workdir, "agent.mjs"), program);
  await writeFile(join(made.workdir, "echo.mjs"), echo);
  const run = [{ binary: process.execPath, args: ["{...}"] }, { binary: "cat", args: ["{...}"] }];
  const asked = { run, ...(accepts === "" ? {} : { mcp_servers: [process.execPath] }) };
  await made.add("agent", { code, manifest: `${accepts}\npermissions: ${JSON.stringify(asked)}` }, {
    grant: { ...asked, ...grant },
  });
  await made.add("telling", { code: telling, manifest: `${accepts}\npermissions: ${JSON.stringify(asked)}` }, {
    grant: { ...asked, ...grant },
  });
  return made;
}

/** What the program was told when these texts were written to it. */
async function told(made: TestHost, texts: string[], mcp_servers: string[]): Promise<string> {
  const { result, events } = await made.run("telling", { prompt: JSON.stringify(texts), mcp_servers });
  expect(result.error).toBeUndefined();
  return events.flatMap(({ event }) => event.type === "unparsed" ? [(event.data as { text: string }).text] : []).join(
    "",
  );
}

describe("MCP servers of a session", () => {
  test("reach the agent by name, with their secrets, and nobody else", async () => {
    const made = await open("accepts: [mcp_servers]");
    const { result, events } = await made.run("agent", { mcp_servers: ["files", "web"] });
    expect(result.error).toBeUndefined();
    const said = events.flatMap(({ event }) =>
      event.type === "unparsed" ? [event.data as Record<string, string>] : []
    )[0]!;
    const { file, text } = JSON.parse(said["text"]!) as { file: string; text: string };
    expect(JSON.parse(text)).toEqual({
      mcpServers: {
        // The secret was there: it is taken out of what the program said.
        files: {
          command: "files-server",
          args: ["--root", "."],
          env: { TOKEN: expect.stringMatching(/^Bearer (?!\$).*\[/), PLAIN: "yes" },
        },
        web: {
          type: "http",
          url: "https://example.com/mcp",
          headers: { Authorization: expect.not.stringContaining("$") },
        },
      },
    });
    expect(said["names"]).toBe('["files","web"]');
    expect([said["own"], said["hidden"]]).toEqual(["not_found", "invalid_request"]);
    const whole = JSON.stringify([events, result, made.logs]);
    expect(whole).not.toContain(secret);
    await expect(readFile(file), "the file goes with the session").rejects.toMatchObject({ code: "ENOENT" });
    const kept = await readdir(dirname(dirname(file))).catch(() => []);
    expect(kept).toEqual([]);
  });

  test("are refused where the operator registered no such name, and where a secret has no value", async () => {
    const made = await open("accepts: [mcp_servers]");
    expect(await errorOf(made.run("agent", { mcp_servers: ["other"] }))).toMatchObject({
      code: "invalid_request",
      hint: expect.stringContaining("files, web, lost"),
    });
    expect(await errorOf(made.run("agent", { mcp_servers: ["lost"] }))).toMatchObject({
      code: "env_missing",
      hint: "bulkhead secret set NOBODY_SET_THIS",
    });
  });

  test("are refused for an agent that cannot use them, unless that is put up with", async () => {
    const made = await open("");
    expect(await errorOf(made.run("agent", { mcp_servers: ["files"] }))).toMatchObject({
      code: "unenforceable",
      details: { fields: ["mcp_servers"] },
    });
    const { result, events } = await made.run("agent", { mcp_servers: ["files"], best_effort: true });
    expect(result.effective.unenforced).toEqual(["mcp_servers"]);
    // It is told of none, and its program is given no file.
    const said = events.flatMap(({ event }) => event.type === "unparsed" ? [event.data] : []);
    expect(said).toMatchObject([{ text: "" }]);
    expect(said[0]).not.toHaveProperty("names");
  });

  test("stand in a message to the agent's program where it names their list", async () => {
    const made = await open("accepts: [mcp_servers]");
    const message = (...ways: string[]) =>
      `${JSON.stringify({ params: { mcpServers: ["bulkhead-mcp-server-list", ...ways] } })}\n`;
    const text = await told(made, [message("command", "http")], ["files", "web"]);
    expect(text).not.toContain(secret);
    expect(text.endsWith("\n")).toBe(true);
    expect(JSON.parse(text)).toEqual({
      params: {
        mcpServers: [
          {
            name: "files",
            command: "files-server",
            args: ["--root", "."],
            env: [{ name: "TOKEN", value: expect.stringMatching(/^Bearer (?!\$).*\[/) }, {
              name: "PLAIN",
              value: "yes",
            }],
          },
          {
            type: "http",
            name: "web",
            url: "https://example.com/mcp",
            headers: [{ name: "Authorization", value: expect.not.stringContaining("$") }],
          },
        ],
      },
    });
    const { result } = await made.run("telling", {
      prompt: JSON.stringify([message("command")]),
      mcp_servers: ["web"],
    });
    expect(result.error).toMatchObject({ code: "unsupported", message: expect.stringContaining('"web"') });
    // Elsewhere it is a text like any other.
    const prose = 'Say ["bulkhead-mcp-server-list","command"].\n';
    expect(await told(made, [prose, message("command")], ["files"])).toContain(prose);
    expect(await told(made, [message("command")], [])).toBe(message("command"));
  });

  test("reach only the program that the grant names, and each use is journaled without a value", async () => {
    const used = ({ events }: Awaited<ReturnType<TestHost["run"]>>) =>
      events.flatMap(({ event }) =>
        event.type === "capability" && event.permission === "mcp_servers" ? [[event.decision, event.target]] : []
      );
    const granted = await open("accepts: [mcp_servers]");
    const allowed = await granted.run("agent", { mcp_servers: ["files", "web"] });
    expect(used(allowed)).toEqual([["allowed", `files, web to ${process.execPath}`]]);
    expect(JSON.stringify(allowed.events)).not.toContain(secret);

    const bare = await open("accepts: [mcp_servers]", { mcp_servers: [] });
    const denied = await bare.run("agent", { mcp_servers: ["files"] });
    expect(denied.result.error).toMatchObject({
      code: "permission_denied",
      hint: `bulkhead plugin grant agent mcp_servers:${process.execPath}`,
    });
    expect(used(denied)).toEqual([["denied", `files to ${process.execPath}`]]);
    const message = `${JSON.stringify({ to: ["bulkhead-mcp-server-list", "command"] })}\n`;
    const written = await bare.run("telling", { prompt: JSON.stringify([message]), mcp_servers: ["files"] });
    expect(written.result.error?.code).toBe("permission_denied");
    // Without servers there is nothing to hand over.
    expect((await bare.run("telling", { prompt: JSON.stringify([message]) })).result.error).toBeUndefined();
  });

  test("do not lie in the temporary folder, which every program of the session is told", async () => {
    const looking = adapterCode(`
      const agent = await ctx.run(${
      node.replace("echo.mjs", "agent.mjs")
    }.concat("--mcp-config=bulkhead-mcp-servers.json"));
      for await (const _ of agent.stdout);
      const beside = await ctx.temp.write("beside", "x");
      const child = await ctx.run("ls", ["-laR", beside.slice(0, beside.lastIndexOf("/"))]);
      let text = "";
      for await (const piece of child.stdout) text += piece;
      yield { type: "unparsed", data: { text } };
      yield ${completed};
    `);
    const made = await open("accepts: [mcp_servers]");
    const asked = {
      run: [{ binary: process.execPath, args: ["{...}"] }, { binary: "ls", args: ["{...}"] }],
      mcp_servers: [process.execPath],
    };
    const manifest = `accepts: [mcp_servers]\npermissions: ${JSON.stringify(asked)}`;
    await made.add("looking", { code: looking, manifest }, { grant: asked });
    const { result, events } = await made.run("looking", { mcp_servers: ["files"] });
    expect(result.error).toBeUndefined();
    const [listed] = events.flatMap(({ event }) => event.type === "unparsed" ? [JSON.stringify(event.data)] : []);
    expect(listed).toContain("beside");
    expect(listed).not.toContain("mcp-servers");
  });

  test("a manifest that accepts them says which of its programs gets them", async () => {
    const made = await openHost();
    const code = adapterCode(`yield ${completed};`);
    const add = (id: string, permissions: object) =>
      errorOf(made.add(id, { code, manifest: `accepts: [mcp_servers]\npermissions: ${JSON.stringify(permissions)}` }));
    const run = [{ binary: "claude" }, { binary: "tr" }];
    expect(await add("silent", { run })).toMatchObject({
      code: "invalid_manifest",
      message: expect.stringContaining("permissions.mcp_servers"),
    });
    expect(await add("other", { run, mcp_servers: ["cat"] })).toMatchObject({
      code: "invalid_manifest",
      message: expect.stringContaining("a program that the manifest runs"),
    });
  });
});

test("openMcpServers writes a person's home in the place of ~/, since no shell reads the line", async () => {
  const registered = { probe: { command: "~/bin/run", args: ["~/mcp/probe.mjs", "a~/b", "--at=~/c"] } };
  const openSecrets = () => Promise.resolve({ secrets: new Map<string, string>(), redactor: null });
  const { config } = await openMcpServers(["probe"], { registered, openSecrets });
  const home = process.env["HOME"] ?? "";
  expect(JSON.parse(config ?? "")).toEqual({
    mcpServers: { probe: { command: `${home}/bin/run`, args: [`${home}/mcp/probe.mjs`, "a~/b", "--at=~/c"], env: {} } },
  });
});
