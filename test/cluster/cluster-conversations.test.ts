import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ForkRequest } from "../../plugin-sdk/conversation.ts";
import type { RemoteHost } from "../../core/doors/client/mod.ts";
import { openTokens } from "../../core/doors/http/tokens.ts";
import { until } from "./machine.ts";
import { gitIn } from "./repository.ts";
import { type Pair, startPair } from "./pair.ts";

let { one, two, end } = {} as Pair;

beforeAll(async () => void ({ one, two, end } = await startPair()), 60_000);
afterAll(() => end?.());

const text = (words: string) => [{ type: "text" as const, text: words }];

/** A conversation of two turns on machine one, once machine two has all of it. */
async function talked(adapter: string, host: RemoteHost = one.host): Promise<string> {
  const request = { workdir: one.workdir, prompt: "first", checkpoints: true };
  const { id } = await host.start(request, { adapter });
  await (await host.open(id)).result();
  const { session_id } = await host.conversations.say(id, { content: text("second") });
  await (await one.host.open(session_id)).result();
  await endedOnTwo(session_id);
  return id;
}

const endedOnTwo = (id: string) =>
  until("the other has its end", async () => (await two.host.get(id).catch(() => null))?.state === "ended");

/** What the new conversation's first session said, as machine two tells it. */
async function forked(id: string, request: ForkRequest = {}): Promise<{ id: string; output: string }> {
  const { session_id } = await two.host.conversations.fork(id, request);
  const { output } = await (await two.host.open(session_id)).result();
  return { id: session_id, output };
}

/** The machine whose log has the session. */
async function machineOf(sessionId: string): Promise<string | undefined> {
  for await (const { session_id, machine } of two.host.events({ after: 0 })) {
    if (session_id === sessionId) return machine;
  }
  return undefined;
}

describe("a fork of another machine's conversation", () => {
  test("begins there, knows the turns, and goes on from any machine", async () => {
    const id = await talked("looker");
    const fork = await forked(id, { prompt: "other", message_id: "m1" });
    expect(fork.output).toMatch(/first.*second.*other/s);
    expect(await machineOf(fork.id)).toBe("one");
    expect(await two.host.conversations.get(fork.id)).toMatchObject({ conversation_id: fork.id, turn: 3 });
    expect(await one.host.get(fork.id)).toMatchObject({ conversation_id: fork.id, state: "ended" });
    // Without a prompt it waits for its first message.
    const empty = await forked(id);
    expect(await two.host.conversations.get(empty.id)).toMatchObject({ state: "ended", turn: 2, turns: [] });
  });

  test("is made once for a message id, and refused with the reason", async () => {
    const id = await talked("looker");
    const there = two.host.conversations;
    const [first, again] = await Promise.all(
      [1, 2].map(() => there.fork(id, { prompt: "other", message_id: "m2" })),
    );
    expect(again!.session_id).toBe(first!.session_id);
    expect(await there.fork(id, { prompt: "other", message_id: "m2" })).toMatchObject({
      session_id: first!.session_id,
    });
    await expect(there.fork(id, { prompt: "else", message_id: "m2" })).rejects.toMatchObject({
      code: "idempotency_conflict",
      details: { idempotency_key: expect.stringContaining("m2") },
    });
    await expect(there.fork(id, { at: 9 })).rejects.toMatchObject({ code: "not_found" });
    await expect(there.fork(id, { agent: "none" })).rejects.toMatchObject({ code: "unknown_adapter" });
  });

  test("in a worktree has the files as they were after the turn", async () => {
    const id = await talked("writer");
    const fork = await forked(id, { at: 1, workspace: "worktree", prompt: "other" });
    expect((await two.host.workspaces.list()).map(({ session_id }) => session_id)).toContain(fork.id);
    await two.host.workspaces.discard(fork.id);
  });

  test("passes the admission of the client that asks, as a start there does", async () => {
    const { token } = await openTokens(two.stateDir).create({ name: "any", scopes: ["run"] });
    const folder = { name: "one-folder", scopes: ["run" as const], workdirs: [one.workdir] };
    const { token: narrow } = await openTokens(two.stateDir).create(folder);
    for (const each of [token, narrow]) {
      await until("both know the token", async () => {
        return await one.as(each).list().then(() => true, () => false);
      });
    }
    const own = await talked("looker", one.as(token));
    const fork = await two.as(token).conversations.fork(own, { prompt: "other" });
    // It is the client's own, on every machine.
    expect(await one.as(token).get(fork.session_id)).toMatchObject({ session_id: fork.session_id });
    await expect(one.as(narrow).get(fork.session_id)).rejects.toMatchObject({ code: "not_found" });
    const limited = await talked("looker", one.as(narrow));
    await expect(two.as(narrow).conversations.fork(limited, { prompt: "other" })).rejects.toMatchObject({
      code: "forbidden",
    });
  });
});

describe("a rewind of another machine's conversation", () => {
  test("takes files and talk back, brings files again, and shows what a turn changed", async () => {
    const file = join(one.workdir, "made.txt");
    await rm(file, { force: true });
    const id = await talked("writer");
    const there = two.host.conversations;
    expect(await there.turnDiff(id, 1)).toMatchObject({ turn: 1, files: [{ path: "made.txt", change: "created" }] });
    expect(await there.rewind(id, { to: 0, dry_run: true })).toMatchObject({ dry_run: true });
    expect(existsSync(file)).toBe(true);
    expect(await there.rewind(id, { to: 0 })).toMatchObject({ files: [{ path: "made.txt", change: "removed" }] });
    expect(existsSync(file)).toBe(false);
    await there.rewind(id, { undo: true });
    expect(existsSync(file)).toBe(true);
    const { talk } = await there.rewind(id, { to: 1, files: false, talk: true });
    expect(talk).toMatchObject({ forgets: [2], session_id: expect.any(String) });
    await endedOnTwo(talk!.session_id!);
    expect(await there.get(id)).toMatchObject({ head: talk!.session_id });
  });

  test("tells the paths that stop it", async () => {
    const file = join(one.workdir, "made.txt");
    await rm(file, { force: true });
    const id = await talked("writer");
    await writeFile(file, "a person's\n");
    await expect(two.host.conversations.rewind(id, { to: 0 })).rejects.toMatchObject({
      code: "conflict",
      details: { paths: ["made.txt"] },
    });
    expect(gitIn(one.workdir, "status", "--porcelain").toString()).toContain("made.txt");
  });
});
