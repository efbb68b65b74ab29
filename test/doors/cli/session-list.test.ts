import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import type { Host } from "../../../core/sessions/host/host.ts";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import type { SessionQuery } from "../../../plugin-sdk/queries.ts";
import type { ListedFacts, SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import { ended, EnvelopeSource } from "../../records/journal/journal-fixture.ts";
import { workspaceFixture } from "../../records/workspace/workspace-fixture.ts";
import { fakeHost } from "./fake-host.ts";
import { fakeTerminal } from "./fake-terminal.ts";

const noFacts: ListedFacts = {
  step: null,
  last_event_at: null,
  beats: [],
  plan: null,
  cost: null,
  currency: null,
  lines: null,
};

function summary(start: string, changes: Partial<SessionSummary>): SessionSummary {
  const session_id = start.padEnd(32, "0");
  return {
    session_id,
    state: "ended",
    adapter_id: "claude-code",
    workdir: "/home/me/shop-api",
    title: "Make the rounding of totals exact, and add a test",
    task_id: null,
    labels: {},
    started_at: new Date(Date.now() - 61_000).toISOString(),
    ended_at: null,
    outcome: null,
    stop_reason: null,
    last_seq: 9,
    waiting: [],
    conversation_id: session_id,
    facts: noFacts,
    ...changes,
  };
}

const step = { text: "Bash npm run test --workspace totals", since: new Date().toISOString(), is_open: true };
const asked = { request_id: "r", type: "question", text: "Which?", choices: [] } as const;
const sessions = [
  summary("aa11", { state: "running", facts: { ...noFacts, step, cost: 0.1234, currency: "USD" } }),
  summary("aa22", { state: "running", waiting: [{ ...asked, choices: [] }] }),
  summary("bb11", {
    outcome: "completed",
    stop_reason: "end_turn",
    workdir: "/state/workspaces/0123456789abcdef/tree/billing",
    facts: { ...noFacts, cost: 1.5, currency: "USD", lines: { added: 1212, removed: 2 } },
  }),
  summary("bb22", { outcome: "error", stop_reason: "idle_timeout", adapter_id: null }),
  summary("cc22", {
    state: "running",
    adapter_id: null,
    facts: { ...noFacts, queued: { adapter_id: "codex", position: 1, since: new Date().toISOString() } },
  }),
  summary("cc11", { state: "running", turn: { number: 1, state: "kept" }, facts: { ...noFacts, step } }),
];

async function list(columns: number, ...flags: string[]) {
  const asked: SessionQuery[] = [];
  const terminal = fakeTerminal({ args: ["session", "list", "--embedded", ...flags], columns, cwd: tmpdir() });
  const list: Host["sessions"]["list"] = (query = {}) => {
    asked.push(query);
    return Promise.resolve(sessions);
  };
  const code = await runCli(terminal, {
    createHost: async (options) => {
      const host = await fakeHost().create(options);
      return { ...host, sessions: { ...host.sessions, list } };
    },
  });
  expect({ code, err: terminal.err() }).toEqual({ code: 0, err: "" });
  return { asked, lines: terminal.out().trimEnd().split("\n") };
}

test("session list has repository, changed lines, cost and step where the width allows, and never breaks its lines", async () => {
  const wide = (await list(160)).lines;
  expect(wide[0]).toMatch(/^ session +state +adapter +age +repository +lines +cost +step +prompt$/);
  expect(wide[1]).toMatch(
    /^ aa110000 +running +claude-code +1 min +shop-api +\$0\.12 +Bash npm run test --workspace t… +Make the/,
  );
  expect(wide[3]).toMatch(
    /^ bb110000 +completed · end_turn +claude-code +1 min +billing +\+1,212 −2 +\$1\.50 +Make the/,
  );
  for (const columns of [50, 60, 80, 100, 120, 160]) {
    for (const line of (await list(columns)).lines) expect(line.length, line).toBeLessThanOrEqual(columns);
  }
});

test("a narrow session list keeps id, state, agent, age and cost, and says what a running one does", async () => {
  const { lines } = await list(80);
  expect(lines[0]).toMatch(/^ session +state +adapter +age +cost +step or prompt$/);
  expect(lines[1]).toMatch(/^ aa110000 +running +claude-code +1 min +\$0\.12 +Bash npm run test/);
  expect(lines[2]).toMatch(/^ aa220000 +waits +claude-code +1 min +Which\?$/);
  expect(lines[3]).toMatch(/^ bb110000 +completed +claude-code +1 min +\$1\.50 +Make the rounding/);
  expect(lines[6]).toMatch(/^ cc110000 +kept +claude-code +1 min +Make the rounding/);
  expect(lines[4]).toMatch(/^ bb220000 +idle_timeout +none yet +1 min +Make the rounding/);
});

test("session list says which session waits for a slot, and of which agent", async () => {
  for (const columns of [50, 80, 120]) expect((await list(columns)).lines[5]).toMatch(/^ cc220000 +queued +codex /);
});

test("session list gives a pipe whole cells, and --json the facts", async () => {
  const { lines } = await list(0);
  expect(lines[1]).toContain("Bash npm run test --workspace totals  Make the rounding of totals exact, and add a test");
  const { asked, lines: rows } = await list(0, "--json");
  expect(asked).toMatchObject([{ facts: true }]);
  expect(JSON.parse(rows[0]!)).toMatchObject({ session_id: sessions[0]!.session_id, facts: { cost: 0.1234, step } });
});

test("session list --worktrees --json names title and adapter without a daemon", async () => {
  const f = workspaceFixture();
  const [known, gone] = ["aa11", "aa22"].map((start) => start.padEnd(32, "0")) as [string, string];
  for (const id of [known, gone]) await f.changed((at) => at.write("a.txt", `${id}\n`), id);
  mkdirSync(join(f.root, "state", "host-1"), { recursive: true });
  const journal = await openJournal(join(f.root, "state", "host-1", "journal.db"));
  const envelopes = new EnvelopeSource().batch(known, 3, "said");
  envelopes[2]!.event = ended;
  await journal.append({ session_id: known, envelopes });
  await journal.close();
  writeFileSync(join(f.root, "bulkhead.yaml"), "bulkhead: 1\n");
  const args = ["session", "list", "--worktrees", "--json", "--state-dir", join(f.root, "state")];
  const terminal = fakeTerminal({ args, cwd: f.root });
  await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null }) });
  const rows = terminal.out().trim().split("\n").map((row) => JSON.parse(row) as { session_id: string });
  expect(rows.find((row) => row.session_id === known)).toMatchObject({
    state: "open",
    adapter_id: expect.any(String) as string,
  });
  expect(rows.find((row) => row.session_id === known)).toHaveProperty("title", expect.any(String));
  expect(rows.find((row) => row.session_id === gone)).toMatchObject({ title: null, adapter_id: null });
});
