import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { checkSession } from "../session/session-rules.ts";
import { adapterCode, completed, errorOf, openHost, ownChildren, type TestHost } from "./test-host.ts";

afterEach(() => void vi.unstubAllEnvs());

const git = (cwd: string, ...args: string[]) => promisify(execFile)("git", ["-C", cwd, ...args]);
const says = (text: string) =>
  adapterCode(`    yield { type: "output", stream: "stdout", data: "${text}" };\n    yield ${completed};`);
const missing = adapterCode(`    await ctx.run("no-such-program", []);`);
// Another program of it is there, so that only the session finds this one missing.
const mayRunMissing = { manifest: `permissions:\n  run:\n    - binary: no-such-program\n    - binary: echo` };
const grant = { run: [{ binary: "no-such-program" }, { binary: "echo" }] };

async function run(
  { host, workdir }: TestHost,
  adapter: string | string[],
  request = {},
  seen?: (e: Envelope) => unknown,
) {
  const session = await host.runSession({ workdir, prompt: "go", ...request }, { adapter });
  const events: Envelope[] = [];
  for await (const envelope of session.events()) {
    events.push(envelope);
    await seen?.(envelope);
  }
  expect(checkSession(events)).toEqual([]);
  return { events, result: await session.result() };
}

describe("a chain of adapters", () => {
  test("goes on where an agent is missing, with what belongs to the next adapter", async () => {
    const made = await openHost();
    await made.add("alpha", { code: missing, ...mayRunMissing }, { grant });
    await made.add("beta", { code: says("by beta") });
    const { result, events } = await run(made, ["alpha", "beta"]);
    expect(result).toMatchObject({
      outcome: "completed",
      output: "by beta",
      provenance: { adapter_id: "beta", grants: {} },
      substitutions: [{ from: "alpha", to: "beta" }],
      attempts: [{ adapter_id: "alpha", error: { code: "binary_missing" } }, { adapter_id: "beta" }],
    });
    expect(events.at(-1)).toMatchObject({ adapter: { id: "beta" }, attempt: 2 });
  });

  test("waits for an agent whose limit ends in time, and takes the next one where it does not", async () => {
    const made = await openHost();
    const code = adapterCode(`    if (request.prompt === "limit") {
      yield { type: "rate_limit", message: "429", wait_ms: 3000 };
      yield { type: "error", code: "rate_limit", message: "429", recoverable: true };
    } else yield ${completed};`);
    await made.add("alpha", { code });
    await made.add("beta", { code: says("by beta") });
    const once = (request = {}) => run(made, ["alpha", "beta"], request);
    const limit = () =>
      made.host.runSession({ workdir: made.workdir, prompt: "limit", retry: "never" }, { adapter: "alpha" })
        .then((session) => session.result());
    await limit();
    const waited = await once();
    expect(waited.result).toMatchObject({ provenance: { adapter_id: "alpha" }, substitutions: [] });
    expect(waited.result.attempts[0]?.waited_ms).toBeGreaterThan(0);
    expect(waited.events.map(({ event }) => event.type).slice(0, 3)).toEqual([
      "session_started",
      "queued",
      "attempt_started",
    ]);
    expect(waited.events[1]?.event).toMatchObject({
      reason: expect.stringMatching(/^alpha is limited until 20.*Z\.$/),
    });
    await limit();
    const reason = expect.stringMatching(/^It is limited until/);
    const passed = { provenance: { adapter_id: "beta" }, substitutions: [{ from: "alpha", to: "beta", reason }] };
    expect((await once({ retry: "never" })).result).toMatchObject(passed);
    expect((await once({ timeout_ms: 100 })).result).toMatchObject(passed);
  });

  test("a limit of a key that a client brought is no other session's", async () => {
    const made = await openHost();
    await made.add("alpha", {
      code: adapterCode(`    yield { type: "rate_limit", message: "429", wait_ms: 30000 };
    yield { type: "error", code: "rate_limit", message: "429", recoverable: true };`),
      manifest: `permissions: { env: [ALPHA_KEY] }
access_modes:
  - {type: api, priority: 1, enabled: true, model: m, max_tokens: 9, api_key_env_var: ALPHA_KEY,
     pricing: {input_per_1k_tokens: 1, output_per_1k_tokens: 1, currency: USD}}`,
    }, { grant: { env: ["ALPHA_KEY"] }, trusted: true, isolation: "thread" });
    const limited = async (env: Record<string, string>) => {
      const request = { workdir: made.workdir, prompt: "go", retry: "never" as const, env };
      await (await made.host.runSession(request, { adapter: "alpha" })).result();
      return (await made.host.agents()).find(({ id }) => id === "alpha")?.access_modes[0]?.status;
    };
    expect(await limited({ ALPHA_KEY: "a client's own" })).not.toBe("rate_limited");
    vi.stubEnv("ALPHA_KEY", "the host's");
    expect(await limited({})).toBe("rate_limited");
  });

  test("stops at once while it waits for an agent whose limit ends", async () => {
    const made = await openHost();
    await made.add("alpha", {
      code: adapterCode(`    yield { type: "rate_limit", message: "429", wait_ms: 30000 };
    yield { type: "error", code: "rate_limit", message: "429", recoverable: true };`),
    });
    await made.add("beta", { code: says("by beta") });
    const first = await made.host.runSession({ workdir: made.workdir, prompt: "go", retry: "never" }, {
      adapter: "alpha",
    });
    await first.result();
    const session = await made.host.runSession({ workdir: made.workdir, prompt: "go" }, { adapter: ["alpha", "beta"] });
    for await (const { event } of session.events()) if (event.type === "queued") break;
    await session.interrupt();
    expect(await session.result()).toMatchObject({ stop_reason: "interrupted", attempts: [{ adapter_id: "alpha" }] });
  });

  test("passes over what cannot take the request, and says so at the start", async () => {
    const made = await openHost();
    await made.add("alpha", { code: says("by alpha"), manifest: "models: [small]" });
    await made.add("beta", { code: says("by beta"), manifest: "models: [large]" });
    const { events, result } = await run(made, ["alpha", "beta"], { model: "large" });
    expect(events[0]?.event).toMatchObject({
      adapter_id: "beta",
      candidates: ["beta"],
      passed_over: [{ adapter_id: "alpha", reason: expect.stringMatching(/large/) }],
    });
    const substitution = { from: "alpha", to: "beta", reason: expect.stringMatching(/large/) };
    expect(events[1]?.event).toEqual({ type: "fallback", ...substitution });
    expect(result.substitutions).toEqual([substitution]);
    const none = made.host.runSession({ workdir: made.workdir, prompt: "go", model: "huge" }, {
      adapter: ["alpha", "beta"],
    });
    expect((await errorOf(none)).code).toBe("invalid_model");
    expect((await errorOf(made.host.runSession({ workdir: made.workdir, prompt: "go" }, { adapter: [] }))).code)
      .toBe("unknown_adapter");
  });

  test("stops where an agent has changed files already: git says so, though the agent does not", async () => {
    const made = await openHost();
    await git(made.workdir, "init", "-q");
    const code = adapterCode(`    await ctx.fs.writeText("made.txt", "x");
    yield { type: "error", code: "unavailable", message: "The agent left.", recoverable: false };`);
    await made.add("alpha", { code, manifest: "permissions:\n  write: [workdir]" }, { grant: { write: ["workdir"] } });
    await made.add("beta", { code: says("by beta") });
    const { result } = await run(made, ["alpha", "beta"]);
    expect(result).toMatchObject({
      stop_reason: "unavailable",
      error: { details: { tool_calls: 0, changed: ["made.txt"] } },
    });
    expect(result.attempts).toHaveLength(1);
  });
});

describe("a limit that nobody could enforce", () => {
  test("is refused with its name, and runs unenforced only when the request says so", async () => {
    const made = await openHost();
    await made.add("alpha", {
      code: adapterCode(
        `    yield { type: "output", stream: "stdout", data: JSON.stringify(request) };\n    yield ${completed};`,
      ),
    });
    const limited = { allowed_tools: [], budget: { cost: 1 }, model: "m" };
    const refused = await errorOf(
      made.host.runSession({ workdir: made.workdir, prompt: "go", ...limited }, { adapter: "alpha" }),
    );
    expect(refused).toMatchObject({
      code: "unenforceable",
      details: { fields: ["model", "allowed_tools", "budget.cost"] },
    });
    const { result } = await run(made, "alpha", { ...limited, best_effort: true });
    expect(result.requested).toMatchObject(limited);
    expect(result.effective).toMatchObject({
      unenforced: ["model", "allowed_tools", "budget.cost"],
      allowed_tools: null,
      model: null,
      budget: null,
    });
    expect(JSON.parse(result.output)).not.toHaveProperty("allowed_tools");
  });
});

describe("the prompt", () => {
  const echo = adapterCode(
    `    yield { type: "output", stream: "stdout", data: JSON.stringify(request) };\n    yield ${completed};`,
  );

  test("carries context files, and the system prompt where the adapter does not take one", async () => {
    const made = await openHost();
    await writeFile(join(made.workdir, "notes.md"), "A note.\n");
    await made.add("plain", { code: echo });
    await made.add("takes", { code: echo, manifest: "accepts: [system_prompt]" });
    const request = { prompt: "Do it.", system_prompt: "Be brief.", context_files: ["notes.md"] };
    const plain = await run(made, "plain", request);
    expect(JSON.parse(plain.result.output)).toMatchObject({
      prompt: 'Be brief.\n\nContext file "notes.md":\n```\nA note.\n```\n\nDo it.',
    });
    const takes = JSON.parse((await run(made, "takes", request)).result.output);
    expect(takes).toMatchObject({ system_prompt: "Be brief." });
    expect(takes.prompt).not.toContain("Be brief.");
    expect(takes).not.toHaveProperty("context_files");
    const { provenance } = plain.result;
    expect(provenance.sent_prompt_sha256).not.toBe(provenance.prompt_sha256);
  });
});

describe("trust_tools", () => {
  const asks = adapterCode(
    `    yield { type: "permission_request", request_id: "r", tool: "t", title: "May I?", options: [
      { id: "yes", label: "Yes", kind: "allow_once" }, { id: "no", label: "No", kind: "reject_once" }] };
    yield { type: "output", stream: "stdout", data: String((await ctx.permission("r"))?.id) };
    yield ${completed};`,
  );
  const manifest = "reports: [permissions]\ndefaults:\n  trust_tools: true";

  test.each([
    ["asked for and granted", manifest, true, "all", "end_turn"],
    ["asked for and not granted", manifest, false, "ask", "permission_deadline"],
    ["granted and not asked for", "reports: [permissions]", true, "all", "end_turn"],
  ])("%s", async (_, manifest, trust_tools, approval, stop_reason) => {
    const made = await openHost();
    await made.add("alpha", { code: asks, manifest }, { trust_tools });
    const { result } = await run(made, "alpha", { answer_timeout_ms: 0 });
    expect(result).toMatchObject({ stop_reason, effective: { approval } });
  });
});

describe("kill -9 in the middle of a session", () => {
  test("of the agent: the session is tried again and ends well", async () => {
    const made = await openHost();
    const code = adapterCode(`    const child = await ctx.run("/bin/sleep", [ctx.attempt === 1 ? "30" : "0"]);
    const exit = await child.exit;
    if (exit.exit_code === 0) yield ${completed};
    else yield { type: "error", code: "crash", message: "The agent was killed by " + exit.signal, recoverable: true };`);
    await made.add("alpha", { code, manifest: `permissions:\n  run:\n    - binary: /bin/sleep\n      args: ["{}"]` }, {
      grant: { run: [{ binary: "/bin/sleep" }] },
    });
    const { result, events } = await run(made, "alpha", {}, ({ event }) => {
      if (event.type === "process_spawned" && event.argv.at(-1) === "30") process.kill(event.pid, "SIGKILL");
    });
    expect(result).toMatchObject({ outcome: "completed", attempts: [{ error: { code: "crash" } }, {}] });
    const ids = events.flatMap(({ event }) => (event.type === "process_spawned" ? [event.process_id] : []));
    expect(ids).toEqual([1, 2]);
  });

  test("of its warden: the session is tried again on a new one", async () => {
    const made = await openHost();
    const code = adapterCode(`    yield { type: "progress", message: "attempt " + ctx.attempt };
    if (ctx.attempt === 1) await ctx.sleep(1e8);
    yield ${completed};`);
    await made.add("alpha", { code }, { isolation: "process" });
    const { result } = await run(made, "alpha", {}, async ({ event }) => {
      if (event.type !== "progress" || event.message !== "attempt 1") return;
      const wardens = (await ownChildren()).filter(({ command }) => /warden/.test(command));
      expect(wardens.length).toBeGreaterThan(0);
      for (const { pid } of wardens) process.kill(pid, "SIGKILL");
    });
    expect(result).toMatchObject({ outcome: "completed", attempts: [{ error: { code: "crash" } }, {}] });
  });
});
