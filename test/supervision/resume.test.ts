import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { HostManifest } from "bulkhead";
import { describe, expect, test } from "vitest";
import { parseHostManifest } from "../../core/packages/manifest/find-host-manifest.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import type { SessionResult } from "../../plugin-sdk/result.ts";
import { adapterCode, completed, openHost, type TestHost, writePlugin } from "../sessions/host/test-host.ts";
import { checkSession } from "../sessions/session/session-rules.ts";
import { startHost } from "./host-process.ts";

/** Says its own session's id and works until it is killed; when it is continued it tells what it was given. */
const forgetsNothing = adapterCode(`    yield { type: "agent_info", agent_session_id: "native-1" };
    if (request.continue_from === undefined) {
      yield { type: "output", stream: "stdout", data: "half" };
      await ctx.sleep(1e8);
    }
    yield { type: "output", stream: "stdout", data: "on from " + request.continue_from + ": " + request.prompt };
    yield ${completed};`);

const silent = adapterCode(`    yield { type: "output", stream: "stdout", data: "half" };
    await ctx.sleep(1e8);`);

interface Killed {
  setting: TestHost;
  id: string;
  events: Envelope[];
}

/** A host whose session was under way when it was killed with SIGKILL. */
async function killedHost(
  {
    code = forgetsNothing,
    manifest = "accepts: [continue_from]",
    request = { resume: "after_restart" },
    prepare = () => {},
  }: {
    prepare?: (workdir: string) => void;
    code?: string;
    manifest?: string;
    request?: Partial<SessionRequest>;
  } = {},
): Promise<Killed> {
  const setting = await openHost();
  await setting.host.close();
  const folder = await writePlugin(join(setting.root, "packages", "worker"), "worker", { code, manifest });
  const { stateDir, workdir } = setting;
  prepare(workdir);
  const host = startHost({ stateDir, workdir, folder, settings: {}, prompt: "the task", request });
  await host.seen(({ envelope }) => envelope?.event.type === "output");
  await host.kill();
  const events = host.lines.flatMap(({ envelope }) => (envelope ? [envelope] : []));
  return { setting, id: events[0]!.session_id, events };
}

/** The next host of the same state, which knows the plugin when it is made. */
async function nextHost({ root, stateDir }: TestHost, { resume = true } = {}): Promise<TestHost> {
  const text = `bulkhead: 1\nplugins:\n  worker:\n    source: ${join(root, "packages", "worker")}\n`;
  const manifest: HostManifest = await parseHostManifest(text, { file: join(root, "bulkhead.yaml") });
  return await openHost({ root, stateDir, manifest, resume });
}

async function endOf({ host }: TestHost, id: string): Promise<{ events: Envelope[]; result: SessionResult }> {
  const handle = await host.sessions.open(id);
  const events: Envelope[] = [];
  for await (const envelope of handle.events()) events.push(envelope);
  return { events, result: await handle.result() };
}

describe("a session whose host was killed", { timeout: 120_000 }, () => {
  test("goes on in the worktree that it worked in", async () => {
    const git = (cwd: string, ...args: string[]) =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", "-C", cwd, ...args]);
    const request = { resume: "after_restart", workspace: "worktree" } as const;
    const { setting, id } = await killedHost({
      request,
      prepare(workdir) {
        git(workdir, "init", "-q");
        git(workdir, "commit", "-q", "--allow-empty", "-m", "first");
      },
    });
    const next = await nextHost(setting);
    const { resumed_as } = (await endOf(next, id)).result;
    const { result } = await endOf(next, resumed_as!);
    expect(result.output).toContain("on from native-1");
    const [worktree, ...others] = await next.host.workspaces.list();
    expect(worktree).toMatchObject({ session_id: id, later_sessions: [resumed_as] });
    expect(others).toEqual([]);
  });

  test("leaves the rest of its budget to what goes on with it", async () => {
    const usage = '{ type: "usage", scope: "session", tokens_in: 30, tokens_out: 10, tokens_cached: null, cost: null }';
    const code = forgetsNothing.replace('yield { type: "output"', `yield ${usage};\n      yield { type: "output"`);
    const manifest = "accepts: [continue_from]\nreports: [tokens]";
    const request = { resume: "after_restart", budget: { tokens: 100 }, best_effort: true } as const;
    const { setting, id } = await killedHost({ code, manifest, request });
    const next = await nextHost(setting);
    const { resumed_as } = (await endOf(next, id)).result;
    expect((await endOf(next, resumed_as!)).result.requested.budget).toEqual({ tokens: 60 });

    const spent = await killedHost({ code, manifest, request: { ...request, budget: { tokens: 40 } } });
    const { result } = await endOf(await nextHost(spent.setting), spent.id);
    expect(result).not.toHaveProperty("resumed_as");
    expect(result.error?.hint).toContain("It was not resumed: its budget is spent.");
  });

  test("is gone on with by another one, and each result names the other", async () => {
    const { setting, id, events } = await killedHost();
    const next = await nextHost(setting);
    const cut = await endOf(next, id);
    expect(cut.events.slice(0, events.length)).toEqual(events);
    expect(checkSession(cut.events)).toEqual([]);
    const { resumed_as } = cut.result;
    expect(cut.result).toMatchObject({ stop_reason: "host_restarted", output: "half" });
    expect(cut.result.error?.hint).toBe(`Session "${resumed_as}" goes on with it.`);

    const on = await endOf(next, resumed_as!);
    expect(checkSession(on.events)).toEqual([]);
    expect(on.events[0]?.event).toMatchObject({ type: "session_started", resumed_from: id, times_resumed: 1 });
    const follows = { conversation_id: id, session_id: id, turn: 1, why: "restart", memory: "agent" };
    expect(on.events[0]?.event).toMatchObject({ follows });
    const report = await next.host.sessions.conversations.get(id);
    expect(report.sessions.map(({ session_id }) => session_id)).toEqual([id, resumed_as]);
    expect(on.result).toMatchObject({
      outcome: "completed",
      resumed_from: id,
      requested: { continue_from: "native-1", resume: "after_restart" },
    });
    expect(on.result.output).toMatch(/^on from native-1: The host that ran you was restarted/);
    await next.host.close();

    const last = await nextHost(setting);
    expect((await last.host.sessions.list()).map(({ session_id }) => session_id)).toEqual([resumed_as, id]);
  });

  test("only ends where its request does not ask for more, or the host does not stay", async () => {
    for (const [request, resume] of [[{}, true], [{ resume: "after_restart" }, false]] as const) {
      const { setting, id } = await killedHost({ request });
      const next = await nextHost(setting, { resume });
      const { result } = await endOf(next, id);
      expect(result.stop_reason).toBe("host_restarted");
      expect(result.resumed_as).toBeUndefined();
      expect(result.error?.hint).toBe("Look at what the session had done, and run it again.");
      expect(await next.host.sessions.list()).toHaveLength(1);
      await next.host.close();
    }
  });

  test.each([
    ["its agent has not said its own id", { code: silent }, "its agent had not said the id of its own session"],
    ["its adapter cannot continue", { manifest: "" }, 'plugin "worker" does not take continue_from'],
  ])("says why nobody goes on with it: %s", async (_, how, reason) => {
    const { setting, id } = await killedHost(how);
    const next = await nextHost(setting);
    const { result } = await endOf(next, id);
    expect(result.resumed_as).toBeUndefined();
    expect(result.error?.hint).toContain(`It was not resumed: ${reason}.`);
    expect(await next.host.sessions.list()).toHaveLength(1);
  });
});
