import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import { adapterCode, writePlugin } from "../../sessions/host/test-host.ts";
import { fakeTerminal } from "./fake-terminal.ts";

const echo = adapterCode(`
    for await (const turn of ctx.turns) {
      yield { type: "output", stream: "stdout", data: turn.number + ": " + turn.prompt.split("\\n").at(-1) };
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);

/** Answers with all that it was told. */
const recalls = adapterCode(`
    yield { type: "completed", success: true, output: request.prompt, files_changed: [], tokens_used: null, cost: null };`);

let root: string;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-talk-")));
  await mkdir(join(root, "work"));
  await writePlugin(join(root, "echo"), "echo", { code: echo, manifest: "accepts: [turns, steer, stop_turn]" });
  await writePlugin(join(root, "recalls"), "recalls", { code: recalls });
  await writeFile(
    join(root, "work", "bulkhead.yaml"),
    "bulkhead: 1\nplugins:\n  echo: { source: ../echo, enabled: true }\n  recalls: { source: ../recalls, enabled: true }\n",
  );
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function cli(args: string[], stdin = "") {
  const terminal = fakeTerminal({
    args: [...args, "--state-dir", join(root, "state")],
    stdin,
    cwd: join(root, "work"),
  });
  const code = await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null }) });
  return { code, out: terminal.out(), err: terminal.err() };
}

describe("a conversation on the command line", () => {
  test("chat takes a prompt a line, say goes on, and messages tells where each is", async () => {
    const talked = await cli(["chat", "echo", "-q"], "one\ntwo\n");
    expect(talked).toEqual({ code: 0, err: "", out: "1: one\n2: two\n" });
    const [row] = (await cli(["session", "list", "--json"])).out.trim().split("\n");
    const { session_id: id } = JSON.parse(row!) as { session_id: string };

    // The host of the first command is gone: it is the conversation's next session, which is told of the turns before.
    expect(await cli(["session", "say", id.slice(0, 8), "three", "-q"])).toEqual({
      code: 0,
      err: "",
      out: "3: three\n",
    });
    const rows = (await cli(["session", "messages", id, "--json"])).out.trim().split("\n");
    expect(rows.map((line) => JSON.parse(line) as object)).toMatchObject([
      { session_id: id, state: "delivered", turn: 2 },
      { state: "delivered", turn: 3 },
    ]);
    expect((await cli(["session", "messages", id, "--pending"])).out).toBe("No message waits.\n");
  });

  test("plain output takes a prompt after the other at a terminal, and moves nothing", async () => {
    const terminal = fakeTerminal({
      args: ["chat", "echo", "--plain", "--state-dir", join(root, "state")],
      stdin: "one\n\ntwo",
      cwd: join(root, "work"),
      tty: true,
      columns: 80,
    });
    await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null }) });
    expect(terminal.out()).toMatch(/1: one\n[^]*2: two\n/);
    expect(terminal.err()).toContain("Your message: ");
    // deno-lint-ignore no-control-regex
    expect(terminal.out() + terminal.err()).not.toMatch(/[\u001b\r]/);
  });

  test("session fork goes on beside it, session rewind --talk goes back in it", async () => {
    const talked = await cli(["chat", "recalls", "-q", "--no-checkpoints"], "one\ntwo\n");
    expect(talked).toMatchObject({ code: 0, err: "" });
    const [row] = (await cli(["session", "list", "--json"])).out.trim().split("\n");
    const { session_id: id } = JSON.parse(row!) as { session_id: string };
    const fork = await cli(["session", "fork", id.slice(0, 8), "other", "-q"]);
    expect(fork).toMatchObject({ code: 0, err: "" });
    expect(fork.out).toMatch(/one.*two.*other/s);
    const waiting = await cli(["session", "fork", id, "--agent", "echo", "--json"]);
    expect(JSON.parse(waiting.out)).toMatchObject({ title: "", state: expect.any(String) });
    expect(await cli(["session", "fork", id, "--at", "1", "--worktree"])).toMatchObject({
      err: expect.stringContaining("checkpoints are off"),
    });

    const dry = await cli(["session", "rewind", id, "--to", "1", "--talk", "--dry-run"]);
    expect(dry).toEqual({ code: 0, err: "", out: "The agent would go on from turn 1, and forget turn 2.\n" });
    expect((await cli(["session", "rewind", id, "--to", "1", "--talk"])).out).toBe(
      "The agent goes on from turn 1, and forgets turn 2.\n",
    );
    const said = await cli(["session", "say", id, "three", "-q"]);
    expect(said.out).toMatch(/one.*three/s);
    expect(said.out).not.toContain("two");
    expect(await cli(["session", "rewind", id, "--to", "1", "--files", "--talk"])).toMatchObject({
      err: expect.stringContaining("--checkpoints"),
    });
  });

  test("what cannot be done says so", async () => {
    const [row] = (await cli(["session", "list", "--json"])).out.trim().split("\n");
    const { session_id: id } = JSON.parse(row!) as { session_id: string };
    expect(await cli(["session", "stop", id])).toMatchObject({
      code: 3,
      err: expect.stringContaining("no turn runs") as string,
    });
    expect(await cli(["session", "withdraw", id, "nothing"])).toMatchObject({
      code: 5,
      err: expect.stringContaining('There is no message "nothing".') as string,
    });
    expect(await cli(["session", "say", id, "x", "--steer", "--interrupt"])).toMatchObject({
      err: expect.stringContaining("Cannot steer and interrupt with one message.") as string,
    });
    expect(await cli(["chat", "echo"])).toMatchObject({ err: expect.stringContaining("There is no prompt") as string });
  });
});
