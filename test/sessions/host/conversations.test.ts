import { describe, expect, test } from "vitest";
import type { NewMessage } from "../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { adapterCode, errorOf, openHost, type TestHost } from "./test-host.ts";

/** Names its own session, and answers with what it was given. */
const remembers = adapterCode(`
    yield { type: "agent_info", agent_session_id: "native-1" };
    yield { type: "usage", tokens_in: 30, tokens_out: 10, tokens_cached: null, cost: null, scope: "session" };
    const output = (request.continue_from ?? "new") + " " + request.prompt;
    yield { type: "completed", success: true, output, files_changed: [], tokens_used: null, cost: null };`);

const forgets = adapterCode(`
    const output = "[" + request.prompt + "]";
    yield { type: "completed", success: true, output, files_changed: [], tokens_used: null, cost: null };`);

async function made(options: Parameters<typeof openHost>[0] = {}): Promise<TestHost> {
  const setting = await openHost(options);
  await setting.add("remembers", { code: remembers, manifest: "accepts: [continue_from, model]\nreports: [tokens]" });
  await setting.add("forgets", { code: forgets });
  return setting;
}

async function begun({ host, workdir }: TestHost, adapter: string, request: Partial<SessionRequest> = {}) {
  const session = await host.runSession({ workdir, prompt: "one", ...request }, { adapter, artifacts: "none" });
  await session.result();
  return session.id;
}

function text(words: string, more: Partial<NewMessage> = {}): NewMessage {
  return { content: [{ type: "text", text: words }], ...more };
}

async function outputOf({ host }: TestHost, id: string): Promise<string> {
  return (await (await host.sessions.open(id)).result()).output;
}

async function startOf({ host }: TestHost, id: string) {
  for await (const { event } of (await host.sessions.open(id)).events()) {
    if (event.type === "session_started") return event;
  }
  throw new Error("It has no beginning.");
}

describe("LocalConversations", () => {
  test("a message after a session's end begins the next one, with what the agent remembers", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    const first = await begun(setting, "remembers", { labels: { team: "a" }, context_files: [] });
    const second = await conversations.say(first, text("two", { message_id: "m2" }), { client: "ann" });
    expect(second).toEqual({ message_id: "m2", session_id: second.session_id, state: "delivered", turn: 2 });
    expect(await outputOf(setting, second.session_id)).toBe("native-1 two");
    const third = await conversations.say(second.session_id, text("three"));
    expect(await outputOf(setting, third.session_id)).toBe("native-1 three");

    expect((await startOf(setting, second.session_id)).follows).toEqual({
      conversation_id: first,
      session_id: first,
      turn: 1,
      why: "message",
      memory: "agent",
      message: { message_id: "m2", by: { client: "ann" } },
    });
    const report = await conversations.get(second.session_id);
    expect(report).toMatchObject({
      conversation_id: first,
      state: "ended",
      head: third.session_id,
      turn: 3,
      pending: [],
    });
    expect(report.sessions.map(({ session_id, why }) => [session_id, why])).toEqual([
      [first, null],
      [second.session_id, "message"],
      [third.session_id, "message"],
    ]);
    expect(report.turns.map(({ turn, title, outcome }) => [turn, title, outcome])).toEqual([
      [1, "one", "completed"],
      [2, "two", "completed"],
      [3, "three", "completed"],
    ]);
    expect(report.turns[1]!.message_ids).toEqual(["m2"]);
    expect(await conversations.messages(first)).toMatchObject([
      { message_id: "m2", state: "delivered", turn: 2, how: "new_turn", by: { client: "ann" } },
      { state: "delivered", turn: 3 },
    ]);
    expect(await setting.host.sessions.get(third.session_id)).toMatchObject({ conversation_id: first });
    expect((await setting.host.sessions.get(third.session_id)).labels).toEqual({ team: "a" });

    const events: Envelope[] = [];
    for await (const envelope of conversations.events(third.session_id)) events.push(envelope);
    expect([...new Set(events.map(({ session_id }) => session_id))]).toEqual(
      report.sessions.map(({ session_id }) => session_id),
    );
    const from = events[Math.floor(events.length / 2)]!.gseq;
    const rest: number[] = [];
    for await (const { gseq } of conversations.events(first, { after: from })) rest.push(gseq);
    expect(rest).toEqual(events.map(({ gseq }) => gseq).filter((gseq) => gseq > from));
  });

  test("an agent that remembers nothing is told of the earlier turns, and no turn twice", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    const first = await begun(setting, "forgets");
    const second = await conversations.say(first, text("two"));
    const told = await outputOf(setting, second.session_id);
    expect(told).toContain('{"prompt":"one","answer":"[one]","changed_files":[]}');
    expect(told).toMatch(/The next message:\n\ntwo\]$/);
    const third = await conversations.say(first, text("three"));
    const { follows, requested } = await startOf(setting, third.session_id);
    expect([follows?.memory, requested.prompt]).toEqual(["briefing", "three"]);
    const again = await outputOf(setting, third.session_id);
    expect(again.match(/"prompt":"(?:one|two)"/g)).toEqual(['"prompt":"one"', '"prompt":"two"']);
  });

  test("another agent takes over with a briefing, other terms keep the agent's memory", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    const first = await begun(setting, "forgets");
    const other = await conversations.say(first, text("two", { with: { agent: "remembers" } }));
    expect(await startOf(setting, other.session_id)).toMatchObject({
      adapter_id: "remembers",
      follows: { why: "agent", memory: "briefing", turn: 1 },
    });
    expect(await outputOf(setting, other.session_id)).toMatch(/^new This conversation goes on/);
    const same = await conversations.say(first, text("three", { with: { model: "big" } }));
    const { follows, requested } = await startOf(setting, same.session_id);
    expect(follows).toMatchObject({ why: "terms", memory: "agent", turn: 2 });
    expect(requested).toMatchObject({ model: "big", continue_from: "native-1" });
  });

  test("a message's id stands for it in all sessions, also after a restart", async () => {
    const setting = await made();
    const first = await begun(setting, "remembers");
    const said = await setting.host.sessions.conversations.say(first, text("two", { message_id: "m" }));
    await outputOf(setting, said.session_id);
    await setting.host.sessions.conversations.say(first, text("three"));
    await setting.host.close();
    const { host } = await made({ root: setting.root, stateDir: setting.stateDir });
    const { conversations } = host.sessions;
    expect(await conversations.say(first, text("two", { message_id: "m" }))).toEqual(said);
    expect(await errorOf(conversations.say(first, text("else", { message_id: "m" })))).toMatchObject({
      code: "idempotency_conflict",
    });
    expect((await conversations.get(first)).sessions).toHaveLength(3);
  });

  test("messages of two clients at once are taken in their order", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    const first = await begun(setting, "remembers");
    const [one, other] = await Promise.all([
      conversations.say(first, text("two"), { client: "ann" }),
      conversations.say(first, text("three"), { client: "bob" }),
    ]);
    expect(one.turn).toBe(2);
    // The session that the first began takes the second, unless it has ended.
    expect([one.session_id, (await conversations.get(first)).head]).toContain(other.session_id);
    await outputOf(setting, (await conversations.get(first)).head);
    const { turns } = await conversations.get(first);
    expect(turns.map(({ turn, title }) => [turn, title])).toEqual([[1, "one"], [2, "two"], [3, "three"]]);
  });

  test("the next session gets the rest of the budget, and none where nothing is left", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    const first = await begun(setting, "remembers", { budget: { tokens: 70 }, best_effort: true });
    const second = await conversations.say(first, text("two"));
    expect((await startOf(setting, second.session_id)).requested.budget).toEqual({ tokens: 30 });
    await outputOf(setting, second.session_id);
    expect(await errorOf(conversations.say(first, text("three")))).toMatchObject({ code: "budget_exceeded" });
    const third = await conversations.say(first, text("three", { with: { budget: { tokens: 50 } } }));
    expect((await startOf(setting, third.session_id)).requested.budget).toEqual({ tokens: 50 });
  });

  test("a message may change any term of the next session; of labels and budget the other parts stay", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    const labels = { team: "a", by: "me" };
    const budget = { tokens: 170, turns: 9 };
    const first = await begun(setting, "remembers", { labels, budget, best_effort: true, timeout_ms: 60_000 });
    const terms = {
      labels: { by: "you" },
      budget: { turns: 5 },
      timeout_ms: 30_000,
      tool_approvals: { run: "deny" },
    } as const;
    const { session_id } = await conversations.say(first, text("two", { with: terms }));
    const { requested, follows } = await startOf(setting, session_id);
    expect(requested).toMatchObject({
      labels: { team: "a", by: "you" },
      budget: { tokens: 130, turns: 5 },
      timeout_ms: 30_000,
      tool_approvals: { run: "deny" },
    });
    expect(follows?.why).toBe("terms");
    await outputOf(setting, session_id);
    // What is the same already changes nothing.
    const again = await conversations.say(first, text("three", { with: { labels: { by: "you" } } }));
    expect((await startOf(setting, again.session_id)).follows?.why).toBe("message");
  });

  test("a message whose agent is limited goes on with the next one of the list, which is told of the turns", async () => {
    const setting = await made();
    const { host, workdir } = setting;
    await setting.add("tires", {
      code: adapterCode(`
    if (request.prompt.includes("two")) {
      yield { type: "rate_limit", message: "429", wait_ms: 600000 };
      yield { type: "error", code: "rate_limit", message: "429", recoverable: true };
      return;
    }
    yield { type: "completed", success: true, output: "done", files_changed: [], tokens_used: null, cost: null };`),
      manifest: "accepts: [model]",
    });
    const request = { workdir, prompt: "one", model: "m", best_effort: true, retry: "never" as const };
    const { id } = await host.runSession(request, { adapter: ["tires", "forgets"], artifacts: "none" });
    await (await host.sessions.open(id)).result();
    const { conversations } = host.sessions;
    const limited = await conversations.say(id, text("two"));
    expect((await (await host.sessions.open(limited.session_id)).result()).error?.code).toBe("rate_limit");
    const next = await conversations.say(id, text("three"));
    const { candidates, follows, requested } = await startOf(setting, next.session_id);
    expect([candidates, follows?.why, follows?.memory]).toEqual([["forgets"], "agent", "briefing"]);
    // The model is the other agent's.
    expect(requested.model).toBeUndefined();
    expect(await outputOf(setting, next.session_id)).toMatch(/"one".*three/s);
    // It stays there, and one that a person names is taken all the same.
    expect((await startOf(setting, (await conversations.say(id, text("four"))).session_id)).follows?.why).toBe(
      "message",
    );
    const alone = await begun(setting, "tires");
    await (await host.sessions.open((await conversations.say(alone, text("five"))).session_id)).interrupt();
  });

  test("env is not taken over: the message is refused, and the names are told, unless they are given again", async () => {
    const setting = await openHost();
    await setting.add("remembers", {
      code: remembers,
      manifest: "permissions: { env: [TOKEN] }\naccepts: [continue_from]",
    }, { grant: { env: ["TOKEN"] } });
    const { conversations } = setting.host.sessions;
    const first = await begun(setting, "remembers", { env: { TOKEN: "s3cret" }, idempotency_key: "k" });
    const refused = await errorOf(conversations.say(first, text("two")));
    expect(refused).toMatchObject({ code: "unsupported", hint: expect.stringContaining("TOKEN") });
    const said = await conversations.say(first, text("two", { with: { env: { TOKEN: "again" } } }));
    expect((await startOf(setting, said.session_id)).requested.idempotency_key).toBeUndefined();
  });

  test("an unknown conversation, message and turn are told", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    expect(await errorOf(conversations.say("none", text("one")))).toMatchObject({ code: "not_found" });
    expect(await errorOf(conversations.get("none"))).toMatchObject({ code: "not_found" });
    const first = await begun(setting, "remembers");
    expect(await errorOf(conversations.say(first, text("two", { expected_turn: 1 })))).toMatchObject({
      code: "conflict",
    });
    expect(await errorOf(conversations.stop(first))).toMatchObject({ code: "conflict" });
    expect(await errorOf(conversations.withdraw(first, "m"))).toMatchObject({ code: "not_found" });
    await conversations.say(first, text("two", { message_id: "m" }));
    expect(await errorOf(conversations.edit(first, "m", []))).toMatchObject({
      code: "conflict",
      details: { state: "delivered", turn: 2 },
    });
  });
});
