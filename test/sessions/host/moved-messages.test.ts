import { join } from "node:path";
import { expect, test } from "vitest";
import { parseHostManifest } from "../../../core/packages/manifest/find-host-manifest.ts";
import type { Journal } from "../../../core/records/journal/journal.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { adapterCode, openHost, type TestHost, until, writePlugin } from "./test-host.ts";

const remembers = adapterCode(`
    yield { type: "agent_info", agent_session_id: "native-1" };
    const output = (request.continue_from ?? "new") + " " + request.prompt;
    yield { type: "completed", success: true, output, files_changed: [], tokens_used: null, cost: null };`);

/** The name of the row is part of the journal's format: an older host's must be found. */
const row = (ids: readonly string[]) => ({
  name: "moved messages",
  digest: JSON.stringify(ids),
  session_id: "",
});

const accepted = (message_id: string, delivery = "queue") => ({
  type: "message_accepted",
  message_id,
  delivery,
  content: [{ type: "text", text: `say ${message_id}` }],
  by: { client: "ann" },
});
const moved = (message_id: string) => ({ type: "message_dropped", message_id, reason: "moved", to: "next" });

/** The next host of the same state, which knows the plugin when it is made, unless it is gone. */
async function nextHost(
  { root, stateDir }: TestHost,
  { isThere = true, resume = true }: { isThere?: boolean; resume?: boolean } = {},
): Promise<TestHost> {
  const plugins = isThere ? `\n  worker:\n    source: ${join(root, "packages", "worker")}` : " {}";
  const manifest = await parseHostManifest(`bulkhead: 1\nplugins:${plugins}\n`, { file: join(root, "bulkhead.yaml") });
  return await openHost({ root, stateDir, manifest, resume });
}

/** Leaves a state as a host does that was killed after its session had moved these messages, and before the next began. */
async function killed(
  { more = [accepted("m2"), accepted("m1", "steer"), moved("m2"), moved("m1")], then = async () => {} }: {
    more?: readonly object[];
    then?(journal: Journal, from: Envelope): Promise<void>;
  } = {},
): Promise<{ setting: TestHost; id: string }> {
  const setting = await openHost();
  await writePlugin(join(setting.root, "packages", "worker"), "worker", {
    code: remembers,
    manifest: "accepts: [continue_from]",
  });
  await setting.host.close();
  const first = await nextHost(setting);
  const { events } = await first.run("worker", { prompt: "one" });
  const { session_id: id } = events[0]!;
  await first.host.sessions.delete(id);
  await first.host.close();
  const journal = await openJournal(join(setting.stateDir, "host-1", "journal.db"), { onProblem: () => {} });
  const from = journal.lastGseq;
  const all = [...events.slice(0, -1), ...more.map((event) => ({ ...events.at(-1)!, event })), events.at(-1)!];
  const envelopes = all.map((one, at) =>
    ({ ...one, session_id: "first", seq: at + 1, gseq: from + at + 1 }) as unknown as Envelope
  );
  await journal.append({ session_id: "first", envelopes });
  await journal.noteKey(row(["first"]), 100);
  await then(journal, envelopes.at(-1)!);
  await journal.close();
  return { setting, id: "first" };
}

/** Returns where each message is, once the conversation is at rest. */
async function outcomes({ host }: TestHost, id: string) {
  const { conversations } = host.sessions;
  await until(async () => (await conversations.get(id)).state === "ended");
  const known = await conversations.messages(id);
  return known.map(({ message_id, state, reason, turn }) => [message_id, state, reason ?? turn]);
}

async function prompts({ host }: TestHost, id: string): Promise<string[]> {
  return (await host.sessions.conversations.get(id)).turns.map(({ title }) => title);
}

test("messages between two sessions of a killed host go to the next one, in their order and once", async () => {
  const { setting, id } = await killed();
  const next = await nextHost(setting);
  // The steer stands before the queue.
  expect(await outcomes(next, id)).toEqual([["m2", "delivered", 3], ["m1", "delivered", 2]]);
  expect(await prompts(next, id)).toEqual(["one", "say m1", "say m2"]);
  expect((await next.host.sessions.conversations.get(id)).sessions[1]!.session_id).toBe("next");
  await next.host.close();
  const last = await nextHost(setting);
  expect(await prompts(last, id)).toHaveLength(3);
});

test("a steer that was on its way to the agent when its turn ended goes there too", async () => {
  const sent = { type: "message_sent", message_id: "m1", turn: 1 };
  const { setting, id } = await killed({
    more: [accepted("m1", "steer"), sent, accepted("m2"), moved("m1"), moved("m2")],
  });
  const next = await nextHost(setting);
  expect(await outcomes(next, id)).toEqual([["m1", "delivered", 2], ["m2", "delivered", 3]]);
});

test("a host that is killed in the middle of that leaves the rest to the one after it", async () => {
  const { setting, id } = await killed({
    then: async (journal, last) => {
      // The next session has begun with the first message, and never ended.
      const { event } = (await journal.read({ after: 0, sessionId: "first" }))[0]! as { event: { requested: object } };
      const follows = { conversation_id: "first", session_id: "first", turn: 1, why: "message", memory: "agent" };
      const message = { message_id: "m1", by: { client: "ann" } };
      const started = {
        ...event,
        requested: { ...event.requested, prompt: "say m1" },
        follows: { ...follows, message },
      };
      const envelope = { ...last, session_id: "next", seq: 1, gseq: last.gseq + 1, event: started };
      await journal.append({ session_id: "next", envelopes: [envelope as unknown as Envelope] });
    },
  });
  const next = await nextHost(setting);
  expect(await outcomes(next, id)).toEqual([["m2", "delivered", 3], ["m1", "delivered", 2]]);
  expect(await prompts(next, id)).toEqual(["one", "say m1", "say m2"]);
});

test.each([
  ["its agent is gone", { isThere: false }, "unknown_adapter"],
  ["the host does not stay", { resume: false }, "host_restarted"],
])("each of them has one outcome that says why, where no session can take it: %s", async (_, how, code) => {
  const { setting, id } = await killed();
  const next = await nextHost(setting, how);
  expect(await outcomes(next, id)).toEqual([["m2", "dropped", "session_ended"], ["m1", "dropped", "session_ended"]]);
  const result = await (await next.host.sessions.open("next")).result();
  expect(result).toMatchObject({ outcome: "error", stop_reason: "fatal", error: { code } });
  await next.host.close();
  // Said once, and the conversation goes on.
  const last = await nextHost(setting);
  expect((await last.host.sessions.conversations.get(id)).sessions).toHaveLength(2);
  const said = await last.host.sessions.conversations.say(id, { content: [{ type: "text", text: "more" }] });
  expect(await (await last.host.sessions.open(said.session_id)).result()).toMatchObject({ outcome: "completed" });
});

test("a session that was deleted takes its messages with it", async () => {
  const { setting, id } = await killed({ then: async (journal) => void await journal.delete("first", "client") });
  const next = await nextHost(setting);
  expect(await next.host.sessions.list()).toEqual([]);
  expect(next.logs.filter(({ level }) => level === "error")).toEqual([]);
  await expect(next.host.sessions.conversations.get(id)).rejects.toMatchObject({ code: "not_found" });
});

test("a message that a later session has is not given again", async () => {
  const { setting, id } = await killed({ more: [accepted("m1")] });
  const next = await nextHost(setting);
  expect((await next.host.sessions.conversations.get(id)).sessions).toHaveLength(1);
});
