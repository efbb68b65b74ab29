import { execFileSync } from "node:child_process";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseHostManifest } from "../../../core/packages/manifest/find-host-manifest.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import type { Journal } from "../../../core/records/journal/journal.ts";
import type { RewindReport } from "../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { adapterCode, openHost, type TestHost, until, writePlugin } from "./test-host.ts";

/** Each turn writes `<turn>.txt`. */
const writes = adapterCode(`
    for await (const turn of ctx.turns) {
      await ctx.fs.writeText(turn.number + ".txt", "x");
      yield { type: "completed", success: true, output: turn.prompt, files_changed: [], tokens_used: null, cost: null };
    }`);

function git(cwd: string, ...args: string[]): void {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", "-C", cwd, ...args], { env });
}

/** The next host of the same state, which knows the plugin when it is made. */
async function nextHost({ root, stateDir }: TestHost): Promise<TestHost> {
  const text = `bulkhead: 1
plugins:
  writes:
    source: ${join(root, "packages", "writes")}
    enabled: true
    grant: { write: [workdir], read: [workdir] }
`;
  const manifest = await parseHostManifest(text, { file: join(root, "bulkhead.yaml") });
  return await openHost({ root, stateDir, manifest });
}

async function filesOf(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name !== ".git").sort();
}

interface Left {
  setting: TestHost;
  id: string;
  workdir: string;
  rewound: { conversation: string; to: number; session_id: string; client: string; before: string; after: string };
  journal: Journal;
  /** The store's own record of the files. */
  store: string;
}

/** Leaves a state as a host does that was killed in the middle of a rewind to turn 1, of files and talk. */
async function killed(
  { isWritten, then = async () => {} }: { isWritten: boolean; then?(left: Left): Promise<void> },
): Promise<Left> {
  const empty = await openHost();
  const { root, workdir, stateDir } = empty;
  git(workdir, "init", "-q");
  await writeFile(join(workdir, "mine.txt"), "mine\n");
  git(workdir, "add", ".");
  git(workdir, "commit", "-qm", "first");
  await writePlugin(join(root, "packages", "writes"), "writes", {
    code: writes,
    manifest: "accepts: [turns]\npermissions:\n  write: [workdir]\n  read: [workdir]",
  });
  await empty.host.close();
  const setting = await nextHost(empty);
  const { conversations } = setting.host.sessions;
  const session = await setting.host.runSession({ workdir, prompt: "one", checkpoints: true }, { adapter: "writes" });
  await session.result();
  for (const text of ["two", "three"]) {
    const said = await conversations.say(session.id, { content: [{ type: "text", text }] });
    await (await setting.host.sessions.open(said.session_id)).result();
  }
  const id = session.id;
  const request = { to: 1, dry_run: !isWritten };
  const { before, after }: RewindReport = await conversations.rewind(id, request);
  await setting.host.close();
  const journal = await openJournal(join(stateDir, "host-1", "journal.db"), { onProblem: () => {} });
  const rewound = { conversation: id, to: 1, session_id: "next", client: "ann", before, after };
  await journal.noteKey({ name: "rewound talks", digest: JSON.stringify([rewound]), session_id: "" }, 100);
  const left = { setting, id, workdir, rewound, journal, store: join(stateDir, "checkpoints", id, "record.json") };
  await then(left);
  await journal.close();
  return left;
}

/** The next host has finished it, and no other one does it again. */
async function finished({ setting, id, workdir }: Left): Promise<void> {
  for (let hosts = 0; hosts < 2; hosts++) {
    const { host } = await nextHost(setting);
    const { conversations } = host.sessions;
    const { sessions, head } = await conversations.get(id);
    expect(sessions.map(({ why }) => why)).toEqual([null, "message", "message", "rewind"]);
    expect(head).toBe("next");
    expect(await filesOf(workdir)).toEqual(["1.txt", "mine.txt"]);
    if (hosts === 1) {
      const { session_id } = await conversations.say(id, { content: [{ type: "text", text: "other" }] });
      const { output } = await (await host.sessions.open(session_id)).result();
      expect(output).toMatch(/"one".*other/s);
      expect(output).not.toContain("two");
      expect(await filesOf(workdir)).toEqual(["1.txt", "4.txt", "mine.txt"]);
    }
    await host.close();
  }
}

test("a host that is killed between the files and the talk is followed by one that takes back the talk", async () => {
  await finished(await killed({ isWritten: true }));
});

test("one that is killed while it writes the files, too", async () => {
  const left = await killed({
    isWritten: false,
    async then({ store, rewound: { before: now, after: want }, workdir }) {
      const record = JSON.parse(await readFile(store, "utf8")) as object;
      const swap = { now, want, to: 1, line_before: [1, 2, 3], line_after: [1], undo: false };
      await writeFile(store, JSON.stringify({ ...record, swap }));
      await rm(join(workdir, "2.txt"));
    },
  });
  await finished(left);
});

test("one that is killed while it writes the talk's session, too", async () => {
  const left = await killed({
    isWritten: true,
    async then({ journal, id, rewound: { session_id } }) {
      const [first] = await journal.read({ after: 0, sessionId: id }) as [Envelope];
      const follows = { conversation_id: id, session_id: id, turn: 1, why: "rewind", memory: "briefing" };
      const { requested } = first.event as { requested: object };
      const event = { ...first.event, follows, requested: { ...requested, prompt: "" } };
      const envelope = { ...first, session_id, event, gseq: journal.lastGseq + 1 } as unknown as Envelope;
      await journal.append({ session_id, envelopes: [envelope] });
    },
  });
  await finished(left);
});

test("one that is killed before it writes a file leaves both as they were", async () => {
  const { setting, id, workdir } = await killed({ isWritten: false });
  const { host } = await nextHost(setting);
  const { conversations } = host.sessions;
  expect((await conversations.get(id)).sessions.map(({ why }) => why)).toEqual([null, "message", "message"]);
  expect(await filesOf(workdir)).toEqual(["1.txt", "2.txt", "3.txt", "mine.txt"]);
  // It is forgotten: the same rewind of the files later has no talk with it.
  await conversations.rewind(id, { to: 1 });
  await host.close();
  const next = await nextHost(setting);
  expect((await next.host.sessions.conversations.get(id)).sessions).toHaveLength(3);
});

test("one whose conversation was deleted meanwhile is forgotten", async () => {
  const { setting, id } = await killed({
    isWritten: true,
    async then({ journal, id }) {
      for (const { session_id } of await journal.sessions({ conversation_id: id, limit: 10 })) {
        await journal.delete(session_id, "client");
      }
    },
  });
  const { host, logs } = await nextHost(setting);
  await until(async () => await host.sessions.conversations.get(id).then(() => false, () => true));
  expect(logs.filter(({ level }) => level === "error")).toEqual([]);
  expect(await host.sessions.list({ state: "running" })).toEqual([]);
});
