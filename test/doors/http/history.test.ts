import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HistoryIndex } from "../../../core/records/history/history-index.ts";
import { openJournalReader } from "../../../core/records/journal/journal-reader.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { EnvelopeSource } from "../../records/journal/journal-fixture.ts";
import { openDoor } from "./door-fixture.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEveryTest(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A door over a journal that holds these events of one session, which the door's own token sees. */
async function openWithHistory(...events: object[]) {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-history-"));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "journal.db");
  const journal = await openJournal(file);
  closing.push(() => journal.close());
  const index = new HistoryIndex({
    file: join(folder, "history.db"),
    openJournal: () => openJournalReader(file),
    newest: () => journal.lastGseq,
  });
  closing.push(() => index.close());
  const door = await openDoor();
  door.facts.history = index;
  const token = await door.token("admin");
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const start = await fetch(`${door.url}/v1/sessions`, {
    method: "POST",
    headers,
    body: JSON.stringify({ workdir: "/", prompt: "go" }),
  });
  const { session_id } = await start.json() as { session_id: string };
  const source = new EnvelopeSource();
  const envelopes = events.map((event) => ({ ...source.next(session_id), event } as Envelope));
  await journal.append({ session_id, envelopes });
  const ask = async (path: string, body?: unknown) => {
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${door.url}${path}`, { ...sent, headers });
    return await response.json() as Record<string, never>;
  };
  return { door, journal, session_id, ask };
}

const output = (data: string) => ({ type: "output", stream: "stdout", data });
const use = (decision: "allowed" | "denied", target: string, more: object = {}) => ({
  type: "capability",
  permission: "net",
  target,
  decision,
  ...more,
});

test("a search shows where its words stand, and hides sessions of other tokens", async () => {
  const { door, session_id, ask } = await openWithHistory(output("I moved the pars"), output("er to its own file."));
  const answer = await ask("/v1/search?q=parser%20own");
  expect(answer).toMatchObject({
    hits: [{
      session_id,
      seq: 1,
      type: "output",
      text: "I moved the parser to its own file.",
      marks: [[12, 6], [26, 3]],
    }],
    next: null,
    indexed_to: 2,
    last: 2,
  });
  const stranger = await door.token("run");
  const hidden = await fetch(`${door.url}/v1/search?q=parser`, { headers: { authorization: `Bearer ${stranger}` } });
  expect(await hidden.json()).toMatchObject({ hits: [] });
});

test("a search tells a token that only runs nothing of others' sessions, by its pages neither", async () => {
  const said = Array.from({ length: 12 }, (_, n) => [{ type: "progress", message: `launchcode ${n}` }]).flat();
  const { door } = await openWithHistory(...said);
  const headers = { authorization: `Bearer ${await door.token("run")}` };
  const ask = async (query: string) =>
    await (await fetch(`${door.url}/v1/search?limit=1&q=${query}`, { headers })).json();
  expect(await ask("launchc")).toEqual(await ask("wrong"));
  expect(await ask("launchc")).toEqual({ hits: [], next: null, indexed_to: 1, last: 1 });
});

test("a search of a token that only runs finds its own behind those of others", async () => {
  const { door, journal } = await openWithHistory({ type: "progress", message: "pier" });
  const headers = { authorization: `Bearer ${await door.token("run")}`, "content-type": "application/json" };
  const body = JSON.stringify({ workdir: "/", prompt: "go" });
  const start = await fetch(`${door.url}/v1/sessions`, { method: "POST", headers, body });
  const { session_id } = await start.json() as { session_id: string };
  const source = new EnvelopeSource(1);
  const say = async (id: string, message: string, times: number) => {
    const envelopes = Array.from({ length: times }, () => (
      { ...source.next(id), event: { type: "progress", message } } as Envelope
    ));
    await journal.append({ session_id: id, envelopes });
  };
  await say(session_id, "my pier", 1);
  await say("other", "their pier", 2100);
  const page = await fetch(`${door.url}/v1/search?q=pier&limit=2`, { headers });
  expect(await page.json()).toMatchObject({ hits: [{ session_id, text: "my pier" }], next: null });
});

test("a search is about one agent, or sessions with a label, on request", async () => {
  const started = { type: "session_started", labels: { team: "shore" }, requested: {}, candidates: [] };
  const { ask } = await openWithHistory(started, output("The pier stands"), { type: "progress", message: "on" });
  const found = async (query: string) => (await ask(`/v1/search?q=pier${query}`))["hits"];
  expect(await found("&label=team%3Dshore&adapter=echo")).toHaveLength(1);
  expect(await found("&label=team%3Dreef")).toEqual([]);
  expect(await found("&adapter=other")).toEqual([]);
  expect(await ask("/v1/search?q=pier&label=team")).toMatchObject({ code: "invalid_request" });
});

test("a search is for one kind of places, and a place has its session's title", async () => {
  const { ask } = await openWithHistory(
    output("The pier stands"),
    { type: "file_change", path: "src/pier.ts", action: "modify", diff: "-pier" },
    { type: "tool_call", call_id: "1", tool: "Bash", kind: "execute", input: { command: "build pier" } },
    { type: "tool_call", call_id: "2", tool: "Edit", kind: "edit", input: { file_path: "src/pier.ts" } },
    use("denied", "pier.example:443"),
    use("allowed", "pier.example:443"),
  );
  const found = async (kind: string) =>
    (await ask(`/v1/search?q=pier&kind=${kind}`))["hits"] as unknown as { text: string }[];
  expect((await found("files")).map(({ text }) => text)).toEqual(["Edit src/pier.ts", "modify src/pier.ts"]);
  expect((await found("said")).map(({ text }) => text)).toEqual(["The pier stands"]);
  expect((await found("commands")).map(({ text }) => text)).toEqual(["Bash build pier"]);
  expect(await found("denied")).toMatchObject([{ text: "net pier.example:443", title: "go", workdir: "/" }]);
  expect(await ask("/v1/search?q=pier&kind=wrong")).toMatchObject({ code: "invalid_request" });
});

test("a place of a request has the question's words, and its choices after them", async () => {
  const options = [{ kind: "allow_once", id: "yes", label: "Allow once" }, {
    kind: "reject_once",
    id: "no",
    label: "No",
  }];
  const asks = { type: "permission_request", request_id: "r" };
  const { ask } = await openWithHistory(
    { ...asks, options, title: "Remove the pier", tool: "Bash", input: { command: "rm -r pier" } },
    { ...asks, options, title: "Bash: build pier", tool: "Bash", input: { command: "build pier" } },
    { type: "question", options: ["wood", "stone"], request_id: "q", question: "Which pier?" },
  );
  const texts = async (q: string) =>
    ((await ask(`/v1/search?q=${q}`))["hits"] as unknown as { text: string }[]).map(({ text }) => text);
  expect(await texts("pier")).toEqual([
    "Which pier? · wood · stone",
    "Bash: build pier · Allow once · No",
    "Remove the pier · Bash rm -r pier · Allow once · No",
  ]);
  expect(await texts("stone")).toEqual(["Which pier? · wood · stone"]);
});

test("denials say what would change them", async () => {
  const { ask, session_id } = await openWithHistory(
    use("denied", "a.b:443", { grant_command: "bulkhead plugin grant echo net:a.b:443" }),
    use("denied", "c.d:443", {
      grantable: false,
      grant_command: "x",
      manifest_entry: "permissions: { net: [c.d:443] }",
    }),
    use("allowed", "e.f:443"),
  );
  expect(await ask("/v1/denials")).toMatchObject({
    denials: [
      { target: "c.d:443", grantable: false, reason: expect.stringContaining("plugin.yaml does not ask for it") },
      { session_id, seq: 1, target: "a.b:443", grantable: true, reason: "It is not granted." },
    ],
    next: null,
  });
  // The same calls as the broker saw them, with those that it allowed.
  const calls = await ask("/v1/calls?limit=2");
  expect(calls).toMatchObject({
    calls: [{ session_id, seq: 3, target: "e.f:443", decision: "allowed" }, { seq: 2, decision: "denied" }],
  });
  expect(await ask(`/v1/calls?decision=denied&before=${calls["next"]}`)).toMatchObject({
    calls: [{ seq: 1, target: "a.b:443" }],
    next: null,
  });
});

test("a preview tells what a grant would have changed, before it is given", async () => {
  const { ask, door } = await openWithHistory();
  door.facts.asked = { net: ["*.a.b:443"] };
  door.facts.history = {
    ask: (question) =>
      Promise.resolve(question({
        uses: () =>
          [use("denied", "api.a.b:443"), use("allowed", "www.a.b:443"), use("denied", "c.d:443")].map((event, seq) => ({
            gseq: seq,
            seq,
            session_id: "s",
            at: "",
            adapter_id: "memory",
            event,
          })),
      } as never, null as never)).then((answer) => ({ ...answer, indexed_to: 3, last: 3 })),
  };
  expect(await ask("/v1/plugins/memory/grants/preview", { permission: "net", target: "*.a.b:443" })).toMatchObject({
    allowed: 2,
    refused: 1,
    unclear: 0,
    newly_allowed: 1,
    searched: 3,
    allows: [{ permission: "net", target: "*.a.b:443" }],
    examples: [
      { target: "api.a.b:443", was: "denied", decision: "allowed" },
      { target: "c.d:443", decision: "refused" },
      { target: "www.a.b:443", was: "allowed", decision: "allowed" },
    ],
  });
});

test("a moment that is none is refused", async () => {
  const { ask } = await openWithHistory(output("x"));
  expect(await ask("/v1/moment?at=yesterday")).toMatchObject({ code: "invalid_request" });
  expect(await ask("/v1/moment?at=1")).toMatchObject({ counts: { running: 1, ended: 0, waiting: 0 } });
});
