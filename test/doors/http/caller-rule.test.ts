import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { callerSessions } from "../../../core/doors/http/caller-sessions.ts";
import { callerWorkspaces } from "../../../core/doors/http/caller-workspaces.ts";
import { routes } from "../../../core/doors/http/routes/all.ts";
import type { Caller } from "../../../core/doors/http/scopes.ts";
import type { SessionOwners } from "../../../core/doors/http/session-owners.ts";
import type { SessionHandle } from "../../../core/sessions/host/session-host.ts";
import { errorDataOf } from "../../../plugin-sdk/errors.ts";
import { noWorkspaces } from "../cli/fake-host.ts";
import { openDoor } from "./door-fixture.ts";
import { MemoryHost } from "./memory-host.ts";

/** Who asks: of a session that another token started, and `own` of one that its own token started. */
const callers = ["admin", "read", "own", "stranger", "both", "folder"] as const;
type Who = (typeof callers)[number];
type Answers = Readonly<Record<Who, string>>;

const rows = (answers: string): Answers => {
  const words = answers.split(" ");
  return Object.fromEntries(callers.map((who, index) => [who, words[index]!])) as Answers;
};

/** Route → status for admin, read, own (run), stranger (run), both (read and run), folder (run, elsewhere only). */
const table: Readonly<Record<string, { answers: Answers; body?: unknown; query?: string }>> = {
  startSession: { answers: rows("201 403 201 201 201 403"), body: { prompt: "go" } },
  listSessions: { answers: rows("1 1 1 0 1 0") },
  countSessions: { answers: rows("1 1 1 0 1 0") },
  getSession: { answers: rows("200 200 200 404 200 404") },
  deleteSession: { answers: rows("204 403 204 404 403 404") },
  interruptSession: { answers: rows("200 403 200 404 403 404") },
  answerRequest: { answers: rows("409 403 409 404 403 404"), body: { request_id: "r", choice: "c" } },
  listWorkspaces: { answers: rows("1 1 1 0 1 0") },
  // As a start there: who may not work in a folder may not look into it.
  getFolder: { answers: rows("200 403 200 200 200 403"), query: "?workdir=/" },
  diffSession: { answers: rows("200 200 200 404 200 404") },
  applySession: { answers: rows("200 403 200 404 403 404") },
  discardSession: { answers: rows("204 403 204 404 403 404") },
  listHeld: { answers: rows("1 1 1 0 1 0") },
  settleHeld: { answers: rows("200 403 200 404 403 404"), body: { action: "apply" } },
  pruneWorkspaces: { answers: rows("200 403 403 403 403 403"), body: {} },
  sessionEvents: { answers: rows("200 200 200 404 200 404") },
  sessionTests: { answers: rows("200 200 200 404 200 404") },
  sessionMarks: { answers: rows("200 200 200 404 200 404") },
  findInSession: { answers: rows("200 200 200 404 200 404"), query: "?text=go" },
  sessionActivity: { answers: rows("200 200 200 404 200 404") },
  allEvents: { answers: rows("seen seen seen blind seen blind"), query: "?after=0" },
  listAgents: { answers: rows("200 200 200 200 200 200") },
  listPlugins: { answers: rows("200 200 403 403 200 403") },
  explainPlugin: { answers: rows("200 200 403 403 200 403") },
  getGrants: { answers: rows("200 403 403 403 403 403") },
  setGrants: { answers: rows("200 403 403 403 403 403"), body: {} },
  addGrant: { answers: rows("200 403 403 403 403 403"), body: { permission: "kv", target: "kv" } },
  replaceGrant: {
    answers: rows("200 403 403 403 403 403"),
    body: { permission: "kv", target: "kv", instead: null },
  },
  clearGrants: { answers: rows("204 403 403 403 403 403") },
  reload: { answers: rows("200 403 403 403 403 403") },
  metrics: { answers: rows("200 200 403 403 200 403") },
  showCluster: { answers: rows("404 404 403 403 404 403") },
  introduce: { answers: rows("200 200 200 200 200 200") },
  health: { answers: rows("200 200 200 200 200 200") },
  ready: { answers: rows("200 200 200 200 200 200") },
  prove: { answers: rows("404 404 404 404 404 404"), query: `?token_id=${"0".repeat(32)}&nonce=${"0".repeat(32)}` },
  continueSession: { answers: rows("201 403 201 404 403 404"), body: { prompt: "more" } },
  sayMessage: { answers: rows("202 403 202 404 403 404"), body: { text: "more" } },
  uploadAttachment: { answers: rows("201 403 201 201 201 201"), body: { some: "bytes" } },
  listMessages: { answers: rows("200 200 200 404 200 404") },
  editMessage: { answers: rows("404 403 404 404 403 404"), body: { text: "other" } },
  withdrawMessage: { answers: rows("404 403 404 404 403 404") },
  getConversation: { answers: rows("200 200 200 404 200 404") },
  rewindConversation: { answers: rows("200 403 200 404 403 404"), body: { to: 0 } },
  forkConversation: { answers: rows("201 403 201 404 403 404"), body: { prompt: "other" } },
  diffTurn: { answers: rows("200 200 200 404 200 404") },
  stopTurn: { answers: rows("409 403 409 404 403 404"), body: {} },
  conversationEvents: { answers: rows("200 200 200 404 200 404") },
  rerunSession: { answers: rows("201 403 201 404 201 404"), body: {} },
  startComparison: { answers: rows("201 403 201 201 201 403"), body: { prompt: "go", adapters: ["memory"] } },
  listComparisons: { answers: rows("200 200 200 200 200 200") },
  getComparison: { answers: rows("404 404 404 404 404 404") },
  listWaiting: { answers: rows("200 200 200 200 200 200") },
  listWalls: { answers: rows("200 200 403 403 200 403") },
  releasePlugin: { answers: rows("200 403 403 403 403 403") },
  search: { answers: rows("200 200 200 200 200 200"), query: "?q=word" },
  listDenials: { answers: rows("200 200 403 403 200 403") },
  listCalls: { answers: rows("200 200 403 403 200 403") },
  previewGrant: { answers: rows("200 403 403 403 403 403"), body: { permission: "net", target: "a.b:1" } },
  budgets: { answers: rows("200 200 403 403 200 403") },
  spend: { answers: rows("200 200 403 403 200 403") },
  verify: { answers: rows("200 403 403 403 403 403") },
  moment: { answers: rows("200 200 403 403 200 403") },
  createConsoleCode: { answers: rows("201 403 403 403 403 403"), body: {} },
  // Only the key of a page signs its page out.
  endConsoleToken: { answers: rows("403 403 403 403 403 403") },
  putAside: {
    answers: rows("204 403 403 403 403 403"),
    body: { id: "grant memory", at: "2026-11-29T12:00:00.000Z" },
  },
  createConsoleToken: { answers: rows("401 401 401 401 401 401"), body: { code: "none" } },
  openapi: { answers: rows("200 200 200 200 200 200") },
};

const begun = new Set<string>();
const workspaces = {
  ...noWorkspaces,
  list: () =>
    Promise.resolve([...begun].map((session_id) => ({ session_id, repository: "/", conflict: null })) as never),
  folderState: (workdir: string) => Promise.resolve({ workdir, branch: null, commit: null, uncommitted: null }),
  diff: () => Promise.resolve({ artifacts: [], patch: new Uint8Array() } as never),
  apply: (session_id: string) => Promise.resolve({ session_id, artifacts: [], kept_commit: null } as never),
  held: () =>
    Promise.resolve(
      [...begun].map((session_id) => ({ session_id, place: "inplace", folder: "/", at: "", held: [] })) as never,
    ),
  settleHeld: (session_id: string) => Promise.resolve({ session_id, settled: [], held: [] }),
  discard: () => Promise.resolve(),
};

/** A door with an ended session, and a token of each kind. */
async function made() {
  begun.clear();
  const door = await openDoor({ workspaces });
  const token = async (name: Who, scopes: Caller["scopes"], workdirs?: string[]) =>
    (await door.tokens.create({ name, scopes: [...scopes], ...(workdirs ? { workdirs } : {}) })).token;
  const tokens: Record<Who, string> = {
    admin: await token("admin", ["admin"]),
    read: await token("read", ["read"]),
    own: await token("own", ["run"]),
    stranger: await token("stranger", ["run"]),
    both: await token("both", ["read", "run"]),
    folder: await token("folder", ["run"], [door.folder]),
  };
  const ask = (who: Who, path: string, { method = "GET", body }: { method?: string; body?: unknown } = {}) =>
    fetch(`${door.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${tokens[who]}`,
        accept: "application/x-ndjson",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(5000),
    });
  const started = await ask("own", "/v1/sessions", { method: "POST", body: { workdir: "/", prompt: "go" } });
  const { session_id: id } = await started.json() as { session_id: string };
  begun.add(id);
  await door.sessions.end(id);
  return { door, id, ask };
}

test("no route looks at a session's owner or at the sessions of all by itself", async () => {
  const folder = fileURLToPath(new URL("../../../core/doors/http/routes/", import.meta.url));
  for (const name of await readdir(folder)) {
    const code = await readFile(join(folder, name), "utf8");
    expect(code, name).not.toMatch(/visible-sessions|session-owners|caller-sessions|hasScope/);
  }
});

test("every route is in the table", () => {
  expect(routes.map(({ id }) => id).sort()).toEqual(Object.keys(table).sort());
});

for (const route of routes) {
  test(`${route.id} answers each kind of token by the one rule`, async () => {
    const { answers, body, query = "" } = table[route.id]!;
    const found: Partial<Record<Who, string>> = {};
    // What only reads leaves the same door for the next caller.
    const shared = route.method === "GET" ? await made() : null;
    for (const who of callers) {
      const { id, ask } = shared ?? await made();
      const path = route.path.replace("{message_id}", "m").replace("{turn}", "1").replace(
        "{id}",
        route.path.includes("/plugins/") ? "memory" : id,
      ) +
        query;
      const sent = route.id === "startSession" || route.id === "startComparison"
        ? { ...(body as object), workdir: "/" }
        : body;
      const response = await ask(who, path, { method: route.method, body: sent });
      found[who] = await toldBy(response, { id, route: route.id });
    }
    expect(found).toEqual(answers);
  });
}

/** The status, of a list how many it holds, and of the stream of all events whether the session is in it. */
async function toldBy(response: Response, { id, route }: { id: string; route: string }): Promise<string> {
  if (route === "allEvents") {
    const reader = response.body!.getReader();
    const first = reader.read().then(({ value }) => new TextDecoder().decode(value), () => "");
    const text = await Promise.race([first, new Promise<string>((resolve) => setTimeout(() => resolve(""), 300))]);
    await reader.cancel();
    return text.includes(id) ? "seen" : "blind";
  }
  if (route === "countSessions") return String((await response.json() as { total: number }).total);
  if (route === "listSessions" || route === "listHeld" || route === "listWorkspaces") {
    const listed = await response.json() as Record<string, unknown[]>;
    return String((listed["sessions"] ?? listed["workspaces"])!.length);
  }
  await response.body?.cancel();
  return String(response.status);
}

/** Method of the wrapped host → what each kind of caller comes to: `ok` or an error's code. */
const methods: Readonly<Record<string, Answers>> = {
  start: rows("ok forbidden ok ok ok forbidden"),
  admit: rows("ok forbidden ok ok ok forbidden"),
  list: rows("1 1 1 0 1 0"),
  page: rows("1 1 1 0 1 0"),
  count: rows("ok ok ok ok ok ok"),
  get: rows("ok ok ok not_found ok not_found"),
  history: rows("ok ok ok not_found ok not_found"),
  open: rows("ok ok ok not_found ok not_found"),
  control: rows("ok forbidden ok not_found forbidden not_found"),
  delete: rows("ok forbidden ok not_found forbidden not_found"),
  attach: rows("ok forbidden ok ok ok ok"),
  agents: rows("ok ok ok ok ok ok"),
  usage: rows("0 0 forbidden forbidden 0 forbidden"),
  budgets: rows("0 0 forbidden forbidden 0 forbidden"),
  events: rows("1 1 1 0 1 0"),
  sees: rows("ok ok ok no ok no"),
  seesAll: rows("ok ok no no ok no"),
};
const handleMethods: Readonly<Record<string, Answers>> = {
  events: rows("ok ok ok - ok -"),
  result: rows("ok ok ok - ok -"),
  interrupt: rows("ok forbidden ok - forbidden -"),
  answer: rows("ok forbidden ok - forbidden -"),
};
const workspaceMethods: Readonly<Record<string, Answers>> = {
  list: rows("1 1 1 0 1 0"),
  folderState: rows("ok forbidden ok ok ok forbidden"),
  diff: rows("ok ok ok not_found ok not_found"),
  apply: rows("ok forbidden ok not_found forbidden not_found"),
  discard: rows("ok forbidden ok not_found forbidden not_found"),
  held: rows("1 1 1 0 1 0"),
  settleHeld: rows("ok forbidden ok not_found forbidden not_found"),
  prune: rows("ok forbidden forbidden forbidden forbidden forbidden"),
};

const known: Record<Who, Caller> = {
  admin: { id: "admin", scopes: ["admin"] },
  read: { id: "read", scopes: ["read"] },
  own: { id: "own", scopes: ["run"] },
  stranger: { id: "stranger", scopes: ["run"] },
  both: { id: "both", scopes: ["read", "run"] },
  folder: { id: "folder", scopes: ["run"], workdirs: ["/nowhere"] },
};

/** A host with one session, as a caller sees it. */
async function wrapped(who: Who) {
  const sessions = new MemoryHost();
  const noted = new Map<string, string>();
  const owners: SessionOwners = {
    note: async (session, { id }) => void noted.set(session, id),
    ownerOf: (session) => noted.get(session),
    ownedBy: ({ id }) => [...noted].filter(([, owner]) => owner === id).map(([session]) => session),
  };
  const { id } = await callerSessions(known.own, { sessions, owners }).start({ workdir: "/", prompt: "go" });
  await sessions.end(id);
  begun.clear();
  begun.add(id);
  return {
    id,
    sessions: callerSessions(known[who], { sessions, owners }),
    workspaces: callerWorkspaces(known[who], { workspaces, owners }),
  };
}

async function come(act: () => unknown): Promise<string> {
  try {
    const value = await act();
    if (typeof value === "object" && value !== null && Symbol.asyncIterator in value) {
      return String((await firstOf(value as AsyncIterable<unknown>)).length);
    }
    const list = Array.isArray(value) ? value : (value as { sessions?: unknown[] } | undefined)?.sessions;
    return list === undefined ? "ok" : String(list.length);
  } catch (error) {
    return errorDataOf(error)?.code ?? String(error);
  }
}

/** The first that comes within a moment. */
async function firstOf(events: AsyncIterable<unknown>): Promise<unknown[]> {
  const iterator = events[Symbol.asyncIterator]();
  const first = iterator.next().then(({ value }) => [value]);
  return await Promise.race([first, new Promise<unknown[]>((resolve) => setTimeout(() => resolve([]), 100))]);
}

const argumentsOf = (name: string, id: string): unknown[] => {
  if (name === "start" || name === "admit") return [{ workdir: "/", prompt: "again" }];
  if (name === "folderState") return ["/"];
  if (name === "attach") return [[new Uint8Array(1)]];
  if (name === "events") return [{ after: 0, signal: AbortSignal.timeout(200) }];
  return name === "agents" || name === "list" || name === "count" || name === "held" || name === "page" ||
      name === "prune" ||
      ["seesAll", "usage", "budgets"].includes(name)
    ? []
    : [id];
};

const conversationMethods: Readonly<Record<string, Answers>> = {
  say: rows("ok forbidden ok not_found forbidden not_found"),
  messages: rows("0 0 0 not_found 0 not_found"),
  edit: rows("not_found forbidden not_found not_found forbidden not_found"),
  withdraw: rows("not_found forbidden not_found not_found forbidden not_found"),
  fork: rows("ok forbidden ok not_found forbidden not_found"),
  rewind: rows("ok forbidden ok not_found forbidden not_found"),
  turnDiff: rows("ok ok ok not_found ok not_found"),
  stop: rows("conflict forbidden conflict not_found forbidden not_found"),
  get: rows("1 1 1 not_found 1 not_found"),
  events: rows("1 1 1 not_found 1 not_found"),
};

test("every method on conversations answers each kind of caller by the same rule", async () => {
  const found: Record<string, Partial<Record<Who, string>>> = {};
  for (const who of callers) {
    for (const name of Object.keys(conversationMethods)) {
      const { id, sessions: { conversations } } = await wrapped(who);
      expect(Object.keys(conversations).sort()).toEqual(Object.keys(conversationMethods).sort());
      const method = conversations[name as keyof typeof conversations] as (...args: unknown[]) => unknown;
      (found[name] ??= {})[who] = await come(() => method(id, { content: [{ type: "text", text: "more" }] }, []));
    }
  }
  expect(found).toEqual(conversationMethods);
});

test("every method of the wrapped host answers each kind of caller by the same rule", async () => {
  const found: Record<string, Partial<Record<Who, string>>> = {};
  for (const who of callers) {
    const { sessions } = await wrapped(who);
    expect(Object.keys(sessions).sort()).toEqual([...Object.keys(methods), "conversations"].sort());
    for (const name of Object.keys(methods)) {
      const { id, sessions } = await wrapped(who);
      const method = sessions[name as keyof typeof sessions] as (...args: unknown[]) => unknown;
      const act = () => method(...argumentsOf(name, id));
      const came = name.startsWith("sees") ? act() ? "ok" : "no" : await come(act);
      (found[name] ??= {})[who] = name === "agents" && came !== "0" ? "ok" : came;
    }
  }
  expect(found).toEqual(methods);
});

test("every method of a session's handle answers each kind of caller by the same rule", async () => {
  const found: Record<string, Partial<Record<Who, string>>> = {};
  for (const who of callers) {
    for (const name of Object.keys(handleMethods)) {
      const { id, sessions } = await wrapped(who);
      const handle: SessionHandle | null = await sessions.open(id).catch(() => null);
      if (handle !== null) {
        expect(Object.keys(handle).sort()).toEqual(["id", ...Object.keys(handleMethods)].sort());
      }
      const act = handle?.[name as keyof SessionHandle] as ((...args: string[]) => unknown) | undefined;
      const came = act === undefined ? "-" : await come(() => name === "events" ? act() : act("r", "c"));
      (found[name] ??= {})[who] = came === "1" ? "ok" : came;
    }
  }
  expect(found).toEqual(handleMethods);
});

test("every method on worktrees answers each kind of caller by the same rule", async () => {
  const found: Record<string, Partial<Record<Who, string>>> = {};
  for (const who of callers) {
    for (const name of Object.keys(workspaceMethods)) {
      const { id, workspaces } = await wrapped(who);
      expect(Object.keys(workspaces).sort()).toEqual(Object.keys(workspaceMethods).sort());
      const method = workspaces[name as keyof typeof workspaces] as (...args: unknown[]) => unknown;
      (found[name] ??= {})[who] = await come(() => method(...argumentsOf(name, id)));
    }
  }
  expect(found).toEqual(workspaceMethods);
});

test("the answer that denies a host for good is offered to an admin's token alone, and taken from it alone", async () => {
  const door = await openDoor();
  const [request_id, choices] = ["host-1", ["allow", "deny", "never"]];
  const session = await door.sessions.start({ workdir: "/", prompt: "go" });
  const options = choices.map((id) => ({ id, label: id, kind: "other" as const }));
  await door.sessions.tell(session.id, {
    type: "permission_request",
    request_id,
    tool: "network",
    title: "?",
    options,
  });
  door.sessions.ask(session.id, request_id, choices);
  const seenBy = async (scopes: Caller["scopes"]) => {
    const owners = { ownerOf: () => scopes.join(), ownedBy: () => [session.id], note: async () => {} };
    const sessions = callerSessions({ id: scopes.join(), scopes }, { sessions: door.sessions, owners });
    const offered: string[][] = [(await sessions.get(session.id)).waiting[0]!.choices];
    offered.push((await sessions.list())[0]!.waiting[0]!.choices);
    for (const events of [sessions.events({ after: 0 }), (await sessions.open(session.id)).events()]) {
      for await (const { event } of events) {
        if (event.type !== "permission_request") continue;
        offered.push(event.options.map(({ id }) => id));
        break;
      }
    }
    const answer = (await sessions.control(session.id)).answer(request_id, "never");
    return { offered, answer: await answer.catch((error: unknown) => errorDataOf(error)?.code) };
  };
  const four = <T>(one: T) => [one, one, one, one];
  expect(await seenBy(["run"])).toEqual({ offered: four(["allow", "deny"]), answer: "forbidden" });
  expect(await seenBy(["read", "run"])).toEqual({ offered: four(["allow", "deny"]), answer: "forbidden" });
  expect(await seenBy(["admin"])).toEqual({ offered: four(choices), answer: true });
});
