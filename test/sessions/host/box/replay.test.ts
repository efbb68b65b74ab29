import { randomUUID } from "node:crypto";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { needsWall } from "../../../ground/platform/os-walls/needs-wall.ts";
import { watchNetworks } from "../../../watched-networks.ts";
import { closeHosts, errorOf } from "../test-host.ts";
import { ask, key, recordedAgent, secret } from "./recorded-agent.ts";

const work = [
  `id=$(cat /proc/sys/kernel/random/uuid)`,
  `ask "{\\"id\\":\\"$id\\",\\"cwd\\":\\"$PWD\\",\\"at\\":\\"$(date)\\"}" > one.txt`,
  `ask "{\\"at\\":\\"$(date -u +%FT%TZ)\\",\\"read\\":\\"$(cat a.txt one.txt)\\"}" >> a.txt`,
  `ask same & ask same & wait`,
  `cat /proc/net/dev | grep -c : > net.txt`,
].join("\n");

test("a recorded session plays again: every call is served, the files are the same, and no model is asked", {
  timeout: 120_000,
}, async (context) => {
  await needsWall(context, "bubblewrap");
  const agent = await recordedAgent();
  const { project, model } = agent;
  await writeFile(join(project, "new.txt"), "not committed\n");
  const recorded = await agent.run(work);
  expect(recorded.error).toBeUndefined();
  expect(recorded.recorded).toEqual({ calls: 4, bytes: expect.any(Number) });
  expect(model.asked.map((one) => one.key)).toEqual([key, key, key, key]);
  const later = await readFile(join(project, "a.txt"), "utf8");

  const { replay, output, error, requested, artifacts, usage } = await agent.replay(recorded.session_id, work);
  expect(error).toBeUndefined();
  expect(replay).toEqual({
    of: recorded.session_id,
    recorded: 4,
    made: 4,
    served: 4,
    left: 0,
    tree: "same",
  });
  expect([recorded.usage.cost, usage.cost], "no model was paid").toEqual([null, 0]);
  const lines = (text: string) => text.split("\n").sort();
  expect(lines(output), "two same calls at once may change places").toEqual(lines(recorded.output));
  expect(model.asked).toHaveLength(4);
  expect(requested).toMatchObject({ replay_of: recorded.session_id, workspace: "worktree", permissions: { net: [] } });
  expect(artifacts?.map(({ path }) => path).sort()).toEqual(["a.txt", "net.txt", "one.txt"]);
  expect(await readFile(join(project, "a.txt"), "utf8"), "the project is left alone").toBe(later);
});

test(
  "one changed byte in what the agent read is drift: the session ends, and says where",
  { timeout: 120_000 },
  async (context) => {
    await needsWall(context, "bubblewrap");
    const agent = await recordedAgent();
    const file = join(agent.root, "outside", "b.txt");
    const script = `ask first\nask "{\\"tool\\":{\\"result\\":\\"one $(cat ${file}) two\\"}}"\nsleep 60`;
    await writeFile(file, "41");
    const recording = agent.run(script.replace("sleep 60", "ask third"));
    const { session_id, recorded } = await recording;
    expect(recorded?.calls).toBe(3);
    await writeFile(file, "42");
    const { replay, error, stop_reason } = await agent.replay(session_id, script);
    expect([stop_reason, error?.code]).toEqual(["fatal", "drift"]);
    expect(error?.message).toBe(
      "DRIFT: call 2 (POST /v1/messages) is not in the record. It differs from recorded call 2 in tool.result.",
    );
    expect(replay).toMatchObject({ recorded: 3, made: 2, served: 1, left: 2 });
    expect(replay?.drift?.difference).toBe([
      "--- recorded call 2, POST /v1/messages",
      "+++ call 2 now, POST /v1/messages",
      "@@ tool.result @@",
      "-one 41 two",
      "+one 42 two",
    ].join("\n"));
    expect(agent.model.asked).toHaveLength(3);
  },
);

test(
  "a record is this user's alone, has no key and no secret, and goes with its session",
  { timeout: 120_000 },
  async (context) => {
    await needsWall(context, "bubblewrap");
    const agent = await recordedAgent();
    agent.model.answer = (_call, body) => ({ pieces: [body.slice(0, 20), body.slice(20), ` ${key}`] });
    const said = 'ask "a secret: $TOKEN, a stand-in: $MODEL_KEY"';
    const { session_id } = await agent.run(said);
    expect(agent.model.asked[0]!.body).toContain(secret);
    const folder = join(agent.root, "state", "wire", session_id);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const names = await readdir(folder);
    expect(names.sort()).toEqual(["call-000001.json", "end.json", "head.json"]);
    for (const name of names) {
      expect((await stat(join(folder, name))).mode & 0o777, name).toBe(0o600);
      const text = await readFile(join(folder, name), "utf8");
      expect([text.includes(key), text.includes(secret)], name).toEqual([false, false]);
      if (name.startsWith("call")) expect(text.split("[redacted TOKEN]")).toHaveLength(3);
    }
    expect((await agent.replay(session_id, said)).replay).toMatchObject({ served: 1, left: 0, tree: "same" });
    await agent.test.host.sessions.delete(session_id);
    expect(await readdir(join(folder, ".."))).toEqual([]);
    const { code, message } = await errorOf(agent.replay(session_id, said));
    expect([code, message]).toEqual([
      "not_found",
      `Cannot replay session "${session_id}": no record of its calls is kept here.`,
    ]);
  },
);

test("a record goes on over a restart; one that is incomplete, or has no end, is refused with the reason", {
  timeout: 120_000,
}, async (context) => {
  await needsWall(context, "bubblewrap");
  const limits = { wire_call_bytes: 2000, wire_record_bytes: 3000 };
  const first = await recordedAgent({ limits });
  const refused = async (agent: typeof first, id: string) => {
    const { code, message } = await errorOf(agent.replay(id, "ask one"));
    expect(code).toBe("conflict");
    return message;
  };
  const whole = await first.run("ask one; ask two");
  const long = await first.run(`ask "$(head -c 2100 /dev/zero | tr '\\0' x)"; ask two`);
  const many = await first.run(`for at in 1 2 3 4; do ask "$(head -c 800 /dev/zero | tr '\\0' $at)"; done`);
  const none = await first.run("true");
  expect([whole, long, many, none].map(({ recorded }) => [recorded?.calls, recorded?.incomplete])).toEqual([
    [2, undefined],
    [0, "a call has more than 2000 bytes"],
    [2, "all calls have more than 3000 bytes"],
    [0, "the host saw no call of a model"],
  ]);
  expect(long.outcome, "the session itself goes on").toBe("completed");
  await closeHosts();

  const next = await recordedAgent({ before: first, limits });
  expect((await next.replay(whole.session_id, "ask one; ask two")).replay).toMatchObject({ served: 2, left: 0 });
  expect(await refused(next, many.session_id)).toContain("its record is incomplete, since all calls have more");
  await rm(join(first.root, "state", "wire", whole.session_id, "end.json"));
  expect(await refused(next, whole.session_id)).toContain("no end: it still runs, or its host was killed");
});

test(
  "a model's refusals, and calls that reached none, play again as they were",
  { timeout: 120_000 },
  async (context) => {
    await needsWall(context, "bubblewrap");
    const agent = await recordedAgent();
    agent.model.answer = (call) =>
      call === 1 ? { status: 529, pieces: ["busy"] } : { pieces: ["x".repeat(100_000), "end"] };
    const script =
      `show() { curl -s -w " %{http_code} %header{x-limit}" -d "$1" "$MODEL_URL/v1/messages" | tail -c 40; }
    show same; show same; curl -s -w " %{http_code}" "$MODEL_URL/v1/gone" -d x`;
    const { session_id, output, recorded } = await agent.run(script);
    expect(output).toContain("busy 529 7");
    expect(recorded?.calls).toBe(3);
    const again = await agent.replay(session_id, script);
    expect(again.output).toBe(output);
    expect(again.replay).toMatchObject({ made: 3, served: 3, left: 0, tree: "same" });
  },
);

test(
  "a record is refused where the host does not see the calls, and of another client's session",
  { timeout: 120_000 },
  async (context) => {
    await needsWall(context, "bubblewrap");
    const agent = await recordedAgent();
    expect(await errorOf(agent.run("ask one", { env: {} }))).toMatchObject({
      code: "unenforceable",
      message: 'Adapter "agent" cannot record: its calls do not pass the host.',
    });
    const { session_id } = await agent.run("ask one");
    const request = { workdir: agent.project, prompt: "", replay_of: session_id };
    const start = (mayRead: boolean) =>
      agent.test.host.runSession(request, { adapter: "agent", client: "other", mayRead: () => mayRead });
    expect(await errorOf(start(false))).toMatchObject({ code: "not_found" });
    expect((await (await start(true)).result()).replay).toMatchObject({ of: session_id, left: 1 });
  },
);

test("a session of several turns plays again with all that its client said", { timeout: 120_000 }, async (context) => {
  await needsWall(context, "bubblewrap");
  const agent = await recordedAgent({ turns: true });
  const { host } = agent.test;
  const turn = (words: string) => `${ask}ask "${words} $(cat a.txt)"; echo ${words} >> a.txt`;
  const recorded = agent.run(turn("one").slice(ask.length), { keep_ms: 60_000 });
  const [running] = await expect.poll(() => host.sessions.list(), { timeout: 30_000 }).toHaveLength(1)
    .then(() => host.sessions.list());
  const { session_id } = running!;
  const { conversations } = host.sessions;
  const isKept = () =>
    expect.poll(async () => (await conversations.get(session_id)).state, { timeout: 30_000 }).toBe("kept");
  for (const words of ["two", "three"]) {
    await isKept();
    await conversations.say(session_id, { content: [{ type: "text", text: turn(words) }] });
    await expect.poll(() => agent.model.asked.some(({ body }) => body.startsWith(words)), { timeout: 30_000 }).toBe(
      true,
    );
  }
  await isKept();
  await (await host.sessions.open(session_id)).interrupt();
  const before = await recorded;
  expect(before.recorded).toMatchObject({ calls: 3 });

  const again = await agent.replay(session_id, turn("one").slice(ask.length));
  expect(again.replay).toEqual({ of: session_id, recorded: 3, made: 3, served: 3, left: 0, tree: "same" });
  expect(again.turns?.map(({ output }) => output)).toEqual(before.turns?.map(({ output }) => output));
  expect(agent.model.asked).toHaveLength(3);
});

test(
  "no packet leaves a replay: its network has no interface but its own loopback",
  { timeout: 120_000 },
  async (context) => {
    await needsWall(context, "bubblewrap");
    const agent = await recordedAgent();
    const mark = `mark-${randomUUID()}`;
    const script =
      `: ${mark}; ask one; sleep 0.5; (curl -sS -m 1 http://192.0.2.1/ -o x || true) 2> y; ask two; sleep 0.5`;
    const { session_id } = await agent.run(script);
    const ended = new AbortController();
    const watching = watchNetworks(() => shellsWith(mark), ended.signal);
    const { replay } = await agent.replay(session_id, script).finally(() => ended.abort());
    expect(replay).toMatchObject({ served: 2, left: 0 });
    const watched = await watching;
    expect(watched.length).toBeGreaterThan(0);
    for (const { isOurs, interfaces: { lo, ...others } } of watched) {
      expect([isOurs, others]).toEqual([false, {}]);
      expect(lo!.sent).toBe(lo!.received);
    }
    expect(Math.max(...watched.map(({ interfaces }) => interfaces["lo"]!.sent))).toBeGreaterThan(0);
  },
);

/** Shells of a script that holds this word; the programs that make their walls hold it, too. */
async function shellsWith(word: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map(async (pid) => {
    const command = await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "");
    return command.includes(word) && /^(?:\S*\/)?(?:ba|da)?sh\0-c\0/.test(command) ? [Number(pid)] : [];
  }));
  return found.flat();
}

test(
  "a replay that would begin with other files is refused: those from before were not kept",
  { timeout: 120_000 },
  async (context) => {
    await needsWall(context, "bubblewrap");
    const agent = await recordedAgent();
    const { session_id, recorded } = await agent.run("ask one", { checkpoints: false });
    expect(recorded).toMatchObject({ calls: 1 });
    await writeFile(join(agent.project, "a.txt"), "of today\n");
    const { code, message } = await errorOf(agent.replay(session_id, "ask one"));
    expect([code, message]).toEqual([
      "conflict",
      `Cannot replay session "${session_id}": the files from before it were not kept.`,
    ]);
  },
);
