import { mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, expect, test, vi } from "vitest";
import { defaultNotifySettings, type NotifySettings } from "../../../core/ground/config/notify-settings.ts";
import { parseHostManifest } from "../../../core/ground/config/parse-host-manifest.ts";
import { exposeFolders } from "../../../core/ground/recorded/expose-folders.ts";
import type { LogRecord } from "../../../core/ground/log/log-record.ts";
import { type Notice, noticeOf, withoutContent } from "../../../core/sessions/host/notices/notice.ts";
import { Notices } from "../../../core/sessions/host/notices/notices.ts";
import { sendNotice } from "../../../core/sessions/host/notices/send-notice.ts";
import { actedOnPlaces } from "../../../core/sessions/host/state/acted-on.ts";
import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import { adapterCode, completed, hostManifest, openHost } from "./test-host.ts";

const open: Notices[] = [];
const folders: string[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(open.splice(0).map((notices) => notices.close()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

async function temporary(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-notices-")));
  folders.push(folder);
  return folder;
}

const started = { type: "session_started" } as never;
const ended = { type: "session_ended", result: { outcome: "completed", stop_reason: "end_turn" } } as never;

function asks(request_id: string, waitedMs = 60_000): WaitingRequest {
  const asked_at = new Date(Date.now() - waitedMs).toISOString();
  return { request_id, type: "permission_request", text: `run\n${request_id}`, choices: [], asked_at };
}

/** Notices over sessions that the test makes up. */
function given(notify: Partial<NotifySettings> = {}, send: (notice: Notice) => void = () => {}) {
  const sent: Notice[] = [];
  const log: LogRecord[] = [];
  const waiting: Record<string, WaitingRequest[]> = {};
  const held = new Set<string>();
  const notices = new Notices({
    settings: () => ({ ...defaultNotifySettings, run: ["true"], ...notify }),
    waiting: () => waiting,
    held: async () => [...held].map((session_id) => ({ session_id })),
    session: async () => ({ adapter_id: "works", title: "Mend it" }),
    send: async (notice) => {
      send(notice);
      sent.push(notice);
    },
    writeLog: (record) => log.push(record),
    everyMs: 5,
  });
  open.push(notices);
  return { notices, sent, log, waiting, held };
}

const quiet = () => new Promise((resolve) => setTimeout(resolve, 60));

test("calls once for each request that nobody answered in time, all of them in one notice", async () => {
  const { notices, sent, waiting } = given();
  waiting["s1"] = [asks("r1"), asks("young", 0)];
  waiting["s2"] = [asks("r2")];
  notices.see({ sessionId: "s1" }, started);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  await quiet();
  expect(sent).toHaveLength(1);
  expect(sent[0]!.text).toBe("2 things wait for you: works.");
  expect(sent[0]!.items.map(({ request_id, text, command }) => ({ request_id, text, command }))).toEqual([
    { request_id: "r1", text: "asks to use: run r1", command: "bulkhead session answer s1" },
    { request_id: "r2", text: "asks to use: run r2", command: "bulkhead session answer s2" },
  ]);
  waiting["s1"] = [asks("r3")];
  await vi.waitFor(() => expect(sent).toHaveLength(2));
  expect(sent[1]!.text).toBe("works asks to use: run r3 (Mend it)");
});

test("says that sessions ended only where the operator wants that, and nothing of changes that were applied", async () => {
  const { notices, sent, held } = given({ after_ms: 20, on: ["held", "ended"] });
  held.add("s1");
  notices.seeHeld("s1", 2);
  notices.seeHeld("s2", 1);
  notices.see({ sessionId: "s1" }, started);
  notices.see({ sessionId: "s1" }, ended);
  await vi.waitFor(() => expect(sent.flatMap(({ items }) => items)).toHaveLength(2));
  expect(sent.flatMap(({ items }) => items).map(({ kind, session_id, text }) => [kind, session_id, text])).toEqual([
    ["held", "s1", "2 changes can run programs"],
    ["ended", "s1", "completed (end_turn)"],
  ]);

  const other = given({ after_ms: 0 });
  other.notices.see({ sessionId: "s1" }, started);
  other.notices.see({ sessionId: "s1" }, ended);
  await quiet();
  expect(other.sent).toEqual([]);
});

test("a flood is one notice with a bounded list", async () => {
  const { notices, sent, waiting } = given();
  waiting["s1"] = Array.from({ length: 500 }, (_, number) => asks(`r${number}`));
  notices.see({ sessionId: "s1" }, started);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]).toMatchObject({ text: "500 things wait for you: works.", more: 450 });
  await quiet();
  expect(sent).toHaveLength(1);
});

test("what a call that failed had to say is in a later one, and the log has one line", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    let fails = true;
    const { notices, sent, log, waiting, held } = given({ after_ms: 0 }, () => {
      if (fails) throw new Error("no bell");
    });
    held.add("s1");
    notices.seeHeld("s1", 1);
    waiting["s1"] = [asks("r1")];
    notices.see({ sessionId: "s1" }, started);
    await vi.waitFor(() => expect(log).toHaveLength(1));
    expect(log[0]!.message).toContain("no bell");
    await quiet();
    vi.setSystemTime(Date.now() + 31_000);
    await quiet();
    expect(log).toHaveLength(1);
    fails = false;
    vi.setSystemTime(Date.now() + 61_000);
    await vi.waitFor(() => expect(sent).toHaveLength(1));
    expect(sent[0]!.items.map(({ kind }) => kind)).toEqual(["request", "held"]);
  } finally {
    vi.useRealTimers();
  }
});

test("what is posted has no words of agents and clients, unless the operator wants them there", () => {
  const item = { adapter_id: "works", title: "TITLE", at: "", answer_by: null, request_id: "r", command: "" };
  const notice = noticeOf([{ ...item, kind: "request", session_id: "s", text: "asks: SECRET" }], { more: 0 });
  expect(notice.text).toBe("works asks: SECRET (TITLE)");
  expect(JSON.stringify(withoutContent(notice))).not.toMatch(/SECRET|TITLE/);
  expect(withoutContent(notice).text).toBe("works waits for an answer.");
});

/** Receives posts; `statuses` are its answers, one after the other. */
async function receiver(...statuses: number[]) {
  const posts: { headers: Record<string, unknown>; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    posts.push({ headers: request.headers, body });
    response.writeHead(statuses.shift() ?? 200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise((resolve) => server.close(resolve));
  return { posts, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?k=v`, close };
}

test("a host calls its operator's program, and posts with a secret in a header, for a question of a real session", async () => {
  const folder = await temporary();
  const hook = await receiver();
  try {
    const [program, told] = [join(folder, "bell.mjs"), join(folder, "told.json")];
    await writeFile(
      program,
      `import { writeFileSync, readFileSync } from "node:fs";
      writeFileSync(${JSON.stringify(told)}, JSON.stringify({ heard: readFileSync(0, "utf8"), env: process.env }));`,
    );
    const run = JSON.stringify([...interpreter, program]);
    const manifest = await hostManifest(
      `secrets: { HOOK: env:PATH }
notify: { after_ms: 200, url: "${hook.url}", headers: { x-key: "\${secret:HOOK}" }, run: ${run} }
`,
    );
    const { host, add, workdir } = await openHost(manifest);
    await add("works", {
      code: adapterCode(`
        yield { type: "question", request_id: "q", question: "Which colour?", options: ["red", "blue"] };
        yield { type: "output", stream: "stdout", data: String(await ctx.answer("q")) };
        yield ${completed};`),
    });
    process.env["BULKHEAD_TEST_KEY"] = "key";
    const session = await host.runSession({ workdir, prompt: "Paint the shed" }, { adapter: "works" });
    await vi.waitFor(async () => expect(JSON.parse(await readFile(told, "utf8"))).toBeTruthy(), 20_000);
    await vi.waitFor(() => expect(hook.posts).toHaveLength(1), 10_000);
    const { heard, env } = JSON.parse(await readFile(told, "utf8"));
    expect(JSON.parse(heard)).toMatchObject({
      version: 1,
      text: "works asks: Which colour? (Paint the shed)",
      items: [{ kind: "request", session_id: session.id, adapter_id: "works", title: "Paint the shed" }],
    });
    expect(env).not.toHaveProperty("BULKHEAD_TEST_KEY");
    expect(JSON.parse(hook.posts[0]!.body)).toMatchObject({ text: "works waits for an answer.", more: 0 });
    expect(hook.posts[0]!.body).not.toMatch(/colour|shed/);
    expect(hook.posts[0]!.headers["x-key"]).toBe(process.env["PATH"]);
  } finally {
    delete process.env["BULKHEAD_TEST_KEY"];
    await hook.close();
  }
});

const interpreter = "Deno" in globalThis ? [process.execPath, "run", "-A"] : [process.execPath];
const settings = { openSecrets: async () => ({ secrets: new Map() }) } as never;
const signal = new AbortController().signal;
const notice = noticeOf([], { more: 1 });

test("a post that meets a busy place is tried again, and one that is refused is not", async () => {
  const busy = await receiver(503);
  const wrong = await receiver(400, 400);
  try {
    const posting = (url: string) => sendNotice(notice, { ...defaultNotifySettings, url }, { settings, signal });
    await posting(busy.url);
    expect(busy.posts).toHaveLength(2);
    await expect(posting(wrong.url)).rejects.toMatchObject({ code: "network_error" });
    expect(wrong.posts).toHaveLength(1);
  } finally {
    await busy.close();
    await wrong.close();
  }
});

test("a program that is missing, fails or hangs is told in a sentence", async () => {
  const calling = (...run: string[]) => sendNotice(notice, { ...defaultNotifySettings, run }, { settings, signal });
  await expect(calling("no-such-bell")).rejects.toMatchObject({ code: "binary_missing" });
  await expect(calling("sh", "-c", "echo broken bell >&2; exit 3")).rejects.toThrow('"sh" failed: broken bell');
  await calling("true");
  const soon = AbortSignal.timeout(300);
  const hangs = { ...defaultNotifySettings, run: ["sleep", "600"] };
  await expect(sendNotice(notice, hangs, { settings, signal: soon })).rejects.toMatchObject({ code: "timeout" });
});

test("a program that an agent could change and that has changed is not run", async () => {
  const root = await temporary();
  vi.stubEnv("XDG_DATA_HOME", join(root, "data"));
  const [project, bell, rung] = [join(root, "project"), join(root, "project", "bell"), join(root, "rung")];
  await mkdir(project);
  await writeFile(bell, "true\n");
  const run = ["sh", bell];
  const manifest = parseHostManifest(`bulkhead: 1\nnotify: { run: ${JSON.stringify(run)} }\n`, {
    file: "bulkhead.yaml",
  });
  const actedOn = actedOnPlaces([project], { root, manifest, secretsFile: join(root, "s"), plugins: [], problems: [] });
  const end = await exposeFolders({ id: "s1", folders: [project], actedOn });
  await writeFile(bell, `touch ${rung}\n`);
  await end();
  const calling = sendNotice(notice, { ...defaultNotifySettings, run }, { settings, signal });
  await expect(calling).rejects.toMatchObject({ code: "unaccepted_change", details: { kind: "program" } });
  await expect(stat(rung)).rejects.toThrow();
});

test("the manifest's section has defaults, and refuses what calls nobody or a program by a path of the folder", () => {
  const read = (lines: string) =>
    parseHostManifest(`bulkhead: 1\nnotify: ${lines}\n`, { file: "bulkhead.yaml" }).notify;
  expect(read("{ run: [bell] }")).toEqual({ ...defaultNotifySettings, run: ["bell"] });
  expect(read("{ url: https://hooks.example.org/a?b=c, on: [ended], after_ms: 2m }")).toMatchObject({
    after_ms: 120_000,
  });
  for (
    const wrong of [
      "{}",
      "{ run: [] }",
      "{ run: [./bell] }",
      "{ run: [bin/bell] }",
      "{ url: ftp://a }",
      "{ url: https://user:word@a/b }",
      "{ run: [bell], on: [never] }",
      "{ run: [bell], more: 1 }",
    ]
  ) expect(() => read(wrong), wrong).toThrow(/notify/);
});
