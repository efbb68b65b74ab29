import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { addUsage, type UsageRow, usedSessions } from "../../../core/doors/cli/usage-rows.ts";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import type { SessionQuery } from "../../../plugin-sdk/queries.ts";
import type { SessionHandle } from "../../../core/sessions/host/session-host.ts";
import type { UsageReport } from "../../../plugin-sdk/result.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import { fakeResult } from "./fake-host.ts";
import { fakeTerminal } from "./fake-terminal.ts";

interface Made {
  id: string;
  at: Date;
  adapter: string;
  usage: Partial<UsageReport>;
}

/** Sessions, the newest first, in pages as a host gives them. */
function sessionsOf(made: Made[], opened: string[] = []) {
  const summaries = made.map(({ id, at, adapter }) =>
    ({ session_id: id, adapter_id: adapter, started_at: at.toISOString() }) as SessionSummary
  );
  return {
    list({ adapter, before, limit = 50 }: SessionQuery = {}) {
      const from = before === undefined ? 0 : summaries.findIndex(({ session_id }) => session_id === before) + 1;
      const rest = summaries.slice(from).filter((one) => adapter === undefined || one.adapter_id === adapter);
      return Promise.resolve(rest.slice(0, limit));
    },
    open(id: string) {
      opened.push(id);
      const { usage } = fakeResult();
      const own = made.find((one) => one.id === id)!.usage;
      return Promise.resolve(
        { result: () => Promise.resolve(fakeResult({ usage: { ...usage, ...own } })) } as SessionHandle,
      );
    },
  };
}

async function rowsOf(sessions: ReturnType<typeof sessionsOf>, since: Date, adapter?: string): Promise<UsageRow[]> {
  const rows = new Map<string, UsageRow>();
  for await (const used of usedSessions(sessions, { since: since.getTime(), adapter })) addUsage(rows, used);
  return [...rows.values()];
}

const noon = (day: number) => new Date(2026, 4, day, 12);

test("usage is added up by day and adapter, each currency for itself, and what is unknown is counted", async () => {
  const none = { tokens_in: null, tokens_out: null, cost: null, currency: null, basis: "unknown" } as const;
  const opened: string[] = [];
  const sessions = sessionsOf([
    { id: "e", at: noon(3), adapter: "a", usage: { tokens_in: 1, tokens_out: 2, cost: 0.5, currency: "USD" } },
    {
      id: "d",
      at: noon(3),
      adapter: "a",
      usage: { tokens_in: 10, tokens_out: 20, cost: 0.25, currency: "EUR", basis: "estimated" },
    },
    { id: "c", at: noon(3), adapter: "b", usage: none },
    { id: "b", at: noon(2), adapter: "a", usage: { tokens_in: 5, tokens_out: 5, cost: null, currency: null } },
    { id: "a", at: noon(1), adapter: "a", usage: {} },
  ], opened);
  const named = { tokens_in: 0, tokens_out: 0, cost: {}, estimated: false, unknown: 0, sessions: 1 };
  expect(await rowsOf(sessions, noon(2))).toEqual([
    {
      ...named,
      day: "2026-05-03",
      adapter_id: "a",
      sessions: 2,
      tokens_in: 11,
      tokens_out: 22,
      cost: { USD: 0.5, EUR: 0.25 },
      estimated: true,
    },
    { ...named, day: "2026-05-03", adapter_id: "b", unknown: 1 },
    { ...named, day: "2026-05-02", adapter_id: "a", tokens_in: 5, tokens_out: 5 },
  ]);
  expect(opened).not.toContain("a");
  expect(await rowsOf(sessions, noon(1), "b")).toMatchObject([{ adapter_id: "b", sessions: 1 }]);
});

test("all pages are read, and none behind the first day", async () => {
  const made = Array.from({ length: 1200 }, (_, index): Made => ({
    id: `s${index}`,
    at: noon(index < 700 ? 9 : 1),
    adapter: "a",
    usage: { tokens_in: 1 },
  }));
  const opened: string[] = [];
  expect(await rowsOf(sessionsOf(made, opened), noon(9))).toMatchObject([{ sessions: 700, tokens_in: 700 }]);
  expect(opened).toHaveLength(700);
});

test("bulkhead usage says where there is nothing, and refuses days that are no number", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "bulkhead-usage-"));
  const cli = async (...args: string[]) => {
    const terminal = fakeTerminal({ args: ["usage", "--state-dir", join(cwd, "state"), ...args], cwd });
    const code = await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null }) });
    return { code, out: terminal.out(), err: terminal.err() };
  };
  try {
    expect(await cli()).toMatchObject({ code: 0, out: "No session has ended in the last 7 days.\n" });
    expect(await cli("--json")).toMatchObject({ code: 0, out: "" });
    expect((await cli("--days", "soon")).err).toContain("Expected a number of days.");
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
});
