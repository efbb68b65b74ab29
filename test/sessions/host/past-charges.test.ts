import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Plugin } from "../../../core/packages/manifest/plugin.ts";
import { openSqlite } from "../../../core/ground/platform/state/sqlite.ts";
import type { Journal } from "../../../core/records/journal/journal.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import type { ElsewhereSessions } from "../../../core/sessions/host/host-seams.ts";
import { spentPages } from "../../../core/sessions/host/session-usage.ts";
import { pastCharges } from "../../../core/sessions/host/state/past-charges.ts";
import type { PastCharge } from "../../../core/sessions/session/spend/named-budgets.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-charges-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const midnight = Date.parse("2026-05-31T00:00:00Z");
const log = { written: () => Promise.resolve() };
const minutes = (count: number) => new Date(midnight + count * 60_000).toISOString();

async function all(
  journal: Journal,
  { plugin, until = midnight + 3_600_000, others = [] }: {
    plugin?: Plugin;
    until?: number;
    others?: (Pick<ElsewhereSessions, "spent"> & { find(id: string): Promise<Journal> })[];
  } = {},
) {
  const charges: PastCharge[] = [];
  const deps = { journal, log, others, plugin: () => plugin };
  for await (const page of pastCharges(deps, { since: midnight, until })) charges.push(...page);
  return charges;
}

/** Writes sessions: each event with its minute after midnight. */
class Written {
  #gseq = 0;
  readonly journal: Journal;

  constructor(journal: Journal) {
    this.journal = journal;
  }

  async session(session_id: string, events: [minute: number, event: object][]): Promise<void> {
    const envelopes = events.map(([minute, event], at) => ({
      v: 1,
      seq: at + 1,
      gseq: ++this.#gseq,
      ts: minutes(minute),
      session_id,
      attempt: 1,
      adapter: { id: "a", version: "1.0.0" },
      source: "host",
      event,
    } as unknown as Envelope));
    await this.journal.append({ session_id, envelopes });
  }
}

const begun = {
  type: "session_started",
  workdir: "/w",
  task_id: null,
  labels: { team: "a" },
  requested: { prompt: "p" },
};
const call = (cost: number | null, tokens_in = 10) => ({
  type: "model_call",
  model: "m",
  status: 200,
  tokens_in,
  tokens_out: 1,
  tokens_cached: 0,
  cost,
  currency: "USD",
});
const ended = (cost: number | null, tokens_in: number | null) => ({
  type: "session_ended",
  result: {
    outcome: "completed",
    stop_reason: "end_turn",
    usage: { cost, currency: "USD", tokens_in, tokens_out: 0, tokens_cached: 0, model: "m", basis: "wire" },
  },
});

test("a session over midnight counts each call on its day, and at its end what its agent alone told", async () => {
  const journal = await openJournal(join(folder, "midnight.db"));
  const written = new Written(journal);
  await written.session("before", [[-30, begun], [-29, call(8)], [-28, ended(8, 10)]]);
  await written.session("over", [
    [-5, begun],
    [-1, call(1)],
    [1, call(2)],
    [2, { ...call(9), refused: "budget_cost" }],
    [3, ended(4, 30)],
  ]);
  await written.session("whole", [[4, begun], [5, call(16)], [6, ended(16, 11)]]);
  await written.session("running", [[7, begun], [8, call(32)], [59, call(1)], [61, call(64)]]);
  expect((await all(journal)).map(({ cost, tokens }) => [cost, tokens])).toEqual([
    [16, 11],
    [2, 11],
    [1, 8],
    [32, 11],
    [1, 11],
  ]);
  expect((await all(journal)).every(({ labels }) => labels["team"] === "a")).toBe(true);
  await journal.close();
});

test("calls that told no figures count by their size, also of a session that is over", async () => {
  const journal = await openJournal(join(folder, "untold.db"));
  const written = new Written(journal);
  const untold = { ...call(null), tokens_in: null, tokens_out: null, partial: true, counted: { tokens: 600, cost: 6 } };
  const wire = { calls: 2, unknown: 1, tokens_in: 10, tokens_out: 1, tokens_cached: 0, cost: null, currency: null };
  const usage = { ...ended(null, null).result.usage, tokens_out: null, requests: 2, basis: "unknown" };
  const result = {
    ...ended(null, null).result,
    usage: { ...usage, wire: { ...wire, counted: { tokens: 611, cost: 7 } } },
  };
  await written.session("whole", [[1, begun], [2, untold], [3, call(1)], [4, { type: "session_ended", result }]]);
  const unpriced = {
    ...usage,
    tokens_in: 10,
    tokens_out: 1,
    basis: "wire",
    wire: { ...wire, counted: { tokens: 11, cost: 3 } },
  };
  await written.session("unpriced", [[5, begun], [6, {
    type: "session_ended",
    result: { ...result, usage: unpriced },
  }]]);
  await written.session("running", [[7, begun], [8, untold]]);
  const amounts = async (...of: Parameters<typeof all>) => (await all(...of)).map(({ cost, tokens }) => [cost, tokens]);
  expect(await amounts(journal)).toEqual([[7, 611], [3, 11], [6, 600]]);
  // Of another host: those that are over.
  const other = { spent: (since: string) => spentPages(journal, since), find: () => Promise.resolve(journal) };
  const own = await openJournal(join(folder, "own.db"));
  expect(await amounts(own, { others: [other] })).toEqual([[7, 611], [3, 11]]);
  await own.close();
  await journal.close();
});

test("a cost that was not told is the highest by the plugin's prices", async () => {
  const journal = await openJournal(join(folder, "prices.db"));
  await new Written(journal).session("whole", [[4, begun], [6, ended(null, 1000)]]);
  const pricing = { input_per_1k_tokens: 3, output_per_1k_tokens: 1, currency: "USD" };
  const mode = { type: "api", priority: 1, enabled: true, model: "m", max_tokens: 1, pricing };
  const plugin = { manifest: { access_modes: [mode] } } as unknown as Plugin;
  expect(await all(journal, { plugin })).toMatchObject([{ cost: 3, tokens: 1000 }]);
  expect(await all(journal)).toMatchObject([{ cost: null, tokens: 1000 }]);
  await journal.close();
});

test("100,000 sessions of a day are read in turns that end soon", async () => {
  const file = join(folder, "many.db");
  await (await openJournal(file)).close();
  const database = await openSqlite(file, { busyTimeoutMs: 1000 });
  database.exec(`
    WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 100000)
      INSERT INTO session (first_gseq, session_id, state, last_gseq, workdir, title, labels, started_at, sorted_at, ended_at)
      SELECT n, 's' || n, 1, n, '/w', 't', '{"team":"a"}', '${minutes(1)}', '${minutes(1)}', '${
    minutes(1)
  }' FROM number;
    INSERT INTO spend SELECT first_gseq, 'a', 'm', 'wire', 0.001, 'USD', 10, 5, 4, 0, NULL FROM session;
  `);
  database.close();
  const journal = await openJournal(file);
  let [turns, watches] = [0, true];
  const watch = () => {
    turns++;
    if (watches) setImmediate(watch);
  };
  watch();
  expect(await all(journal)).toHaveLength(100_000);
  watches = false;
  // 200 pages of usage, and 50 stretches of sessions.
  expect(turns).toBeGreaterThanOrEqual(250);
  await journal.close();
});
