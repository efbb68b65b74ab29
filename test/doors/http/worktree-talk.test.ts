import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { connectHost } from "../../../core/doors/client/mod.ts";
import { adapterCode, openHost } from "../../sessions/host/test-host.ts";
import { openDoor } from "./door-fixture.ts";

const patience = { timeout: 20_000 };

const writes = adapterCode(`
    for await (const turn of ctx.turns) {
      await ctx.fs.writeText(turn.number + ".txt", "x");
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);

test.each([0, 60_000])(
  "a token of one folder talks with a session in a worktree of it, kept for %d ms",
  async (keep_ms) => {
    const made = await openHost();
    await made.add("alpha", {
      code: writes,
      manifest: "accepts: [turns]\npermissions:\n  write: [workdir]\n  read: [workdir]",
    }, { grant: { write: ["workdir"], read: ["workdir"] } });
    const { host, workdir } = made;
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", "-C", workdir, ...args]);
    git("init", "-q");
    git("commit", "-q", "--allow-empty", "-m", "first");
    const { url, tokens } = await openDoor({ sessions: host.sessions });
    const clientIn = async (name: string, folder: string) => {
      const { token } = await tokens.create({ name, scopes: ["run"], workdirs: [folder] });
      return connectHost({ url, token, patienceMs: 10_000 });
    };
    const mine = await clientIn("mine", workdir);
    const request = { workdir, prompt: "one", workspace: "worktree" as const, keep_ms, checkpoints: true };
    const session = await mine.start(request, { adapter: "alpha" });
    const { conversations } = mine;
    const rests = async () => {
      const { state, pending } = await conversations.get(session.id);
      return state !== "working" && pending.length === 0;
    };
    await expect.poll(rests, patience).toBe(true);
    await conversations.say(session.id, { content: [{ type: "text", text: "two" }] });
    await expect.poll(rests, patience).toBe(true);
    await expect.poll(async () => (await conversations.get(session.id)).turn, patience).toBe(2);
    await expect.poll(rests, patience).toBe(true);
    expect((await conversations.rewind(session.id, { to: 1 })).files).toEqual([{ path: "2.txt", change: "removed" }]);
    const forked = await conversations.fork(session.id, { at: 2, message_id: "m" });
    expect(forked).toMatchObject({ conversation_id: forked.session_id });
    expect((await conversations.fork(session.id, { at: 2, message_id: "m" })).session_id).toBe(forked.session_id);
    await conversations.say(forked.session_id, { content: [{ type: "text", text: "three" }] });
    await expect.poll(async () => (await conversations.get(forked.session_id)).turn, patience).toBe(3);
    const { talk } = await conversations.rewind(session.id, { to: 0, talk: true });
    expect(talk).toMatchObject({ forgets: [1, 2] });
    expect((await mine.get(talk!.session_id!)).conversation_id).toBe(session.id);
    const other = await clientIn("other", tmpdir());
    await expect(other.conversations.fork(session.id)).rejects.toMatchObject({ code: "not_found" });
    await expect(other.conversations.rewind(session.id, { to: 0 })).rejects.toMatchObject({ code: "not_found" });
  },
);
