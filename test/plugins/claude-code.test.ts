import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { HostOptions } from "../../core/sessions/host/host.ts";
import { parseHostManifest } from "../../core/ground/config/parse-host-manifest.ts";
import { readManifest } from "../../core/packages/manifest/read-manifest.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import type { SessionResult } from "../../plugin-sdk/result.ts";
import { closeHosts, openHost, type TestHost, until } from "../sessions/host/test-host.ts";
import { checkSession } from "../sessions/session/session-rules.ts";

const folder = fileURLToPath(new URL("../../plugins/claude-code", import.meta.url));
const fake = fileURLToPath(new URL("../fixtures/claude-code/fake-claude.mjs", import.meta.url));
const names = ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL", "PATH"];
const before = new Map(names.map((name) => [name, process.env[name]]));

let bin = "";
beforeAll(async () => {
  bin = await mkdtemp(join(tmpdir(), "bulkhead-claude-"));
  const program = "Deno" in globalThis ? `"${process.execPath}" run -A "${fake}"` : `"${process.execPath}" "${fake}"`;
  await writeFile(join(bin, "claude"), `#!/bin/sh\nexec ${program} "$@"\n`);
  await chmod(join(bin, "claude"), 0o755);
});
afterAll(() => rm(bin, { recursive: true }));
beforeEach(() => {
  process.env["PATH"] = `${bin}${delimiter}${before.get("PATH")}`;
  process.env["ANTHROPIC_API_KEY"] = "key-of-the-test";
});
afterEach(async () => {
  await closeHosts();
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

interface Live {
  session: Awaited<ReturnType<TestHost["host"]["runSession"]>>;
  events: Envelope[];
  read: Promise<void>;
}

/** A host whose working directory is a repository, with the plugin under exactly its manifest's permissions. */
async function open(options: HostOptions = {}): Promise<TestHost> {
  const made = await openHost(options);
  const { permissions = {} } = await readManifest(folder);
  await made.host.registry.register(folder, {
    isolation: "process",
    grant: permissions,
    os_walls: { agents: "off" },
  });
  await writeFile(join(made.workdir, "a.txt"), "one\nrest\n");
  const git = (...args: string[]) => execFileSync("git", ["-C", made.workdir, ...args]);
  git("init", "-q");
  git("add", ".");
  git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "base");
  return made;
}

async function start(made: TestHost, name: string, request: Partial<SessionRequest> = {}): Promise<Live> {
  const { host, workdir } = made;
  const prompt = `Do it. [[play:${name}]]`;
  const session = await host.runSession({ workdir, prompt, retry: "never", ...request }, { adapter: "claude-code" });
  const events: Envelope[] = [];
  const read = (async () => {
    for await (const envelope of session.events()) events.push(envelope);
  })();
  return { session, events, read };
}

async function play(
  made: TestHost,
  name: string,
  request: Partial<SessionRequest> = {},
): Promise<{ result: SessionResult; events: Envelope[] }> {
  const live = await start(made, name, request);
  const result = await live.session.result();
  await live.read;
  expect(checkSession(live.events)).toEqual([]);
  return { result, events: live.events };
}

/** Kinds of the agent's events in their order, neighbours of one kind joined, without what is only told on the way. */
function story(events: readonly Envelope[]): string {
  const told = events.filter(({ source }) => source === "agent").map(({ event }) => event.type as string);
  const shown = told.filter((type) => !["progress", "usage", "agent_info"].includes(type));
  return shown.filter((type, index) => type !== shown[index - 1] || !["output", "thinking"].includes(type)).join(" ");
}

test("claude-code is available when the program is there and logged in, and says so when not", async () => {
  const { host } = await open();
  const [report] = await host.agents({ refresh: true });
  expect(report).toMatchObject({ id: "claude-code", availability: "available", agent_version: "2.1.330" });
  // The key is set, and it is the login that counts.
  process.env["CLAUDE_CODE_OAUTH_TOKEN"] = "token-of-the-test";
  const [byPlan] = await host.agents({ refresh: true });
  expect(byPlan).toMatchObject({ availability: "available", access_mode: { type: "subscription" } });
  delete process.env["CLAUDE_CODE_OAUTH_TOKEN"];
  delete process.env["ANTHROPIC_API_KEY"];
  const [without] = await host.agents({ refresh: true });
  expect(without).toMatchObject({
    availability: "unauthenticated",
    reason: "Claude Code is not logged in.",
    next_step: expect.stringContaining("claude auth login"),
  });
  process.env["PATH"] = before.get("PATH")!.split(delimiter).filter((entry) => entry !== bin).join(delimiter);
});

test("claude-code that says it is logged in by a key works through its api mode, and its sessions say so", async () => {
  const made = await open();
  const [report] = await made.host.agents({ refresh: true });
  expect(report).toMatchObject({
    availability: "available",
    access_mode: { type: "api" },
    access_modes: [{ type: "subscription", status: "unavailable" }, { type: "api", status: "available" }],
  });
  const { result } = await play(made, "ok");
  expect(result.effective.access_mode).toBe("api");
});

test("claude-code gives text, thinking, usage and what the agent says of itself", async () => {
  const { result, events } = await play(await open(), "ok");
  expect(result).toMatchObject({ outcome: "completed", stop_reason: "end_turn", output: "done", artifacts: [] });
  expect(result.usage).toMatchObject({ tokens_in: 100, tokens_out: 20, cost: 0.0006, scope: "session" });
  expect(result.usage).toMatchObject({ currency: "USD", basis: "reported", model: "claude-sonnet-4-5" });
  expect(story(events)).toBe("thinking output completed");
  const said = events.flatMap(({ event }) => (event.type === "thinking" ? [event.content] : []));
  expect(said.join("")).toBe("I should think about this for a moment.");
  const info = events.find(({ event }) => event.type === "agent_info")?.event;
  expect(info).toMatchObject({ agent_version: "2.1.330", agent_session_id: "id-1", model: "claude-sonnet-4-5" });
});

test("claude-code calls a tool that is allowed, and git shows the file that it claims", async () => {
  const { result, events } = await play(await open(), "tool", { approval: "all" });
  expect(result).toMatchObject({ outcome: "completed", output: "done", claimed_only: [] });
  expect(result.artifacts?.map(({ path, bytes }) => [path, bytes])).toEqual([["hello.txt", 3]]);
  expect(story(events)).toBe(
    "thinking output tool_call permission_request tool_result file_change thinking output completed",
  );
});

test("claude-code edits a file, and git shows the same", async () => {
  const made = await open();
  const { result } = await play(made, "edit", { approval: "edits" });
  expect(result.artifacts?.map(({ path, change }) => [path, change])).toEqual([["a.txt", "modified"]]);
  expect(await readFile(join(made.workdir, "a.txt"), "utf8")).toBe("two\nrest\n");
});

test("claude-code tells the agent that a tool was denied, and it goes on without", async () => {
  const made = await open();
  const { result, events } = await play(made, "deny", { approval: "deny" });
  expect(result).toMatchObject({ outcome: "completed", output: "done", artifacts: [] });
  const resolved = events.flatMap(({ event }) => (event.type === "permission_resolved" ? [event.choice] : []));
  expect(resolved).toEqual(["deny"]);
  expect(events.find(({ event }) => event.type === "tool_result")?.event).toMatchObject({ success: false });
});

test("claude-code waits for a client's answer to what the agent asks", async () => {
  const made = await open();
  const live = await start(made, "shell", { approval: "reads", answer_timeout_ms: 20_000 });
  await until(() => live.events.some(({ event }) => event.type === "permission_request"));
  const asked = live.events.find(({ event }) => event.type === "permission_request")!.event;
  expect(asked).toMatchObject({ tool: "Bash", kind: "execute", call_id: "tool-1" });
  await live.session.answer("request_id" in asked ? asked.request_id : "", "allow");
  expect(await live.session.result()).toMatchObject({ outcome: "completed", output: "done" });
  await live.read;
});

test("claude-code ends as blocked when nobody answers", async () => {
  const { result } = await play(await open(), "tool", { approval: "ask", answer_timeout_ms: 0 });
  expect(result).toMatchObject({ outcome: "blocked", stop_reason: "permission_deadline", artifacts: [] });
});

test("claude-code passes on what the agent asks a person, and the answer", async () => {
  const live = await start(await open(), "question", { answer_timeout_ms: 20_000 });
  await until(() => live.events.some(({ event }) => event.type === "question"));
  const asked = live.events.find(({ event }) => event.type === "question")!.event;
  expect(asked).toMatchObject({ question: "Which colour?", options: ["Red", "Blue"] });
  await live.session.answer("request_id" in asked ? asked.request_id : "", "Blue");
  expect(await live.session.result()).toMatchObject({ outcome: "completed", output: "done" });
  await live.read;
});

const failures = [
  ["401", "unavailable", "unavailable", "401"],
  ["403", "unavailable", "unavailable", "403"],
  ["404", "fatal", "invalid_model", "selected model"],
  ["500", "unavailable", "unavailable", "500"],
  ["529", "unavailable", "unavailable", "Overloaded"],
  ["400ctx", "fatal", "fatal", "Prompt is too long"],
  ["malformed", "unavailable", "unavailable", "Connection lost"],
  ["maxturns", "fatal", "fatal", "maximum number of turns"],
  ["badresume", "fatal", "not_found", "No conversation found"],
  ["silent", "crash", "crash", "without saying that it was done"],
  ["garbage", "crash", "crash", "without saying that it was done"],
  ["429", "rate_limit", "rate_limit", "(429)"],
  ["429nowait", "rate_limit", "rate_limit", "(429)"],
  ["429sub", "rate_limit", "rate_limit", "5-hour limit"],
];

test("claude-code says why it failed", async () => {
  const made = await open();
  for (const [name = "", stop_reason, code, text = ""] of failures) {
    const { result } = await play(made, name, { approval: "all" });
    expect.soft(result, name).toMatchObject({ outcome: "error", stop_reason, error: { code } });
    expect.soft(result.error?.message, name).toContain(text);
  }
}, 60_000);

test("claude-code tells a refusal from a failure", async () => {
  const { result } = await play(await open(), "refusal");
  expect(result).toMatchObject({ outcome: "blocked", stop_reason: "refused" });
});

test("claude-code tells how long a limit lasts, where the agent says it", async () => {
  const made = await open();
  const waits = async (name: string) => {
    const { events } = await play(made, name);
    return events.flatMap(({ event }) => (event.type === "rate_limit" ? [event.wait_ms] : [])).at(-1);
  };
  expect(await waits("429")).toBe(2000);
  expect(await waits("429nowait")).toBe(null);
  const plan = await waits("429sub");
  expect(plan).toBeGreaterThan(3_500_000);
  expect(plan).toBeLessThanOrEqual(3_601_000);
});

test("claude-code continues a session, and passes on model, tools, turns and system prompt", async () => {
  const { result, events } = await play(await open(), "resume", {
    continue_from: "id-1",
    model: "opus",
    allowed_tools: ["Read", "Gl*"],
    max_turns: 4,
    system_prompt: "--be brief",
  });
  expect(result).toMatchObject({ outcome: "completed", usage: { tokens_in: 100, cost: 0.0006 } });
  const spawned = events.find(({ event }) => event.type === "process_spawned")?.event;
  const argv = spawned?.type === "process_spawned" ? spawned.argv : [];
  expect(argv.slice(argv.indexOf("stdio") + 1)).toEqual([
    "--setting-sources=user",
    "--model=opus",
    "--tools=Read,Glob",
    "--append-system-prompt=--be brief",
    "--max-turns=4",
    "--resume=id-1",
  ]);
});

test("claude-code gets the session's MCP servers as a file of the host's", async () => {
  const text = "bulkhead: 1\nmcp_servers: { files: { command: files-server } }\n";
  const manifest = parseHostManifest(text, { file: join(bin, "bulkhead.yaml") });
  const { result, events } = await play(await open({ manifest }), "ok", { mcp_servers: ["files"] });
  expect(result.error).toBeUndefined();
  const spawned = events.find(({ event }) => event.type === "process_spawned")?.event;
  const argv = spawned?.type === "process_spawned" ? spawned.argv : [];
  expect(argv.at(-1)).toBe("--mcp-config=bulkhead-mcp-servers.json");
});

test("claude-code leaves no tools where none are allowed", async () => {
  const { events } = await play(await open(), "ok", { allowed_tools: [] });
  const spawned = events.find(({ event }) => event.type === "process_spawned")?.event;
  expect(spawned).toMatchObject({ argv: expect.arrayContaining(["--tools="]) });
});

test.each([
  ["endless", true],
  ["deaf", false],
])("claude-code, interrupted while it is %s, leaves no process behind", async (name, polite) => {
  const made = await open();
  const live = await start(made, name);
  await until(() => live.events.some(({ event }) => event.type === "output" && event.data.includes("tick 16")));
  await until(async () => (await processesIn(made.workdir)).length >= 2);
  const result = await live.session.interrupt();
  await live.read;
  expect(result).toMatchObject({ outcome: "error", stop_reason: "interrupted" });
  // One that listens says what it used before it ends.
  expect(result.usage.tokens_out).toBe(polite ? 42 : null);
  await until(async () => (await processesIn(made.workdir)).length === 0);
}, 60_000);

/** Processes that work in a folder. Where there is no `/proc` the test cannot see them, and is not run. */
async function processesIn(workdir: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => "")));
  return pids.filter((_, index) => places[index] === workdir);
}

const namesSchema = {
  type: "object",
  properties: { names: { type: "array", items: { type: "string" } } },
  required: ["names"],
  additionalProperties: false,
};

test("claude-code has the program hold its model to an output schema, and shows no call of the tool that gives the data", async () => {
  const made = await open();
  const output_schema = { $schema: "https://json-schema.org/draft/2020-12/schema", title: "Names", ...namesSchema };
  // The tool is none of the allowed ones.
  const { result, events } = await play(made, "schema", { output_schema, allowed_tools: ["Read"] });
  expect(result).toMatchObject({
    stop_reason: "end_turn",
    structured_output: { names: ["a"] },
    effective: { output_schema: "enforced" },
  });
  expect(story(events)).toBe("output completed");
  const broken = await play(made, "schema-broken", { output_schema });
  expect(broken.result).toMatchObject({
    stop_reason: "output_invalid",
    error: { message: expect.stringContaining("/names: must be array") },
  });
});

test("claude-code asks in the prompt for what the program's own check does not know", async () => {
  // The recording has no schema, and the stand-in takes no other.
  const { result } = await play(await open(), "ok", { output_schema: { type: "array", prefixItems: [{}] } });
  expect(result).toMatchObject({ stop_reason: "output_invalid", effective: { output_schema: "asked" } });
});
