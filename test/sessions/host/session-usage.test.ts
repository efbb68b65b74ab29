import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openSqlite } from "../../../core/ground/platform/state/sqlite.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import type { SpentRecord } from "../../../core/records/journal/spend-table.ts";
import { verifyJournal } from "../../../core/records/journal/verify-journal.ts";
import { stateJournals } from "../../../core/sessions/host/state/state-journals.ts";
import { addUpUsage, spentPages } from "../../../core/sessions/host/session-usage.ts";
import { adapterCode, closeHosts, completed, openHost } from "./test-host.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-usage-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(closeHosts);

const none = {
  model: null,
  cost: null,
  currency: null,
  tokens_in: null,
  tokens_out: null,
  tokens_cached: null,
  requests: null,
};

/** Sessions as one journal has them. */
async function* pageOf(...records: Partial<SpentRecord>[]) {
  yield records.map((record, at): SpentRecord => ({
    session_id: `s${at}`,
    first_gseq: at + 1,
    last_gseq: at + 1,
    started_at: new Date().toISOString(),
    adapter_id: "a",
    basis: "unknown",
    partial: 0,
    labels: "{}",
    ...none,
    ...record,
  }));
}

test("100,000 sessions are added up page by page, and other work has its turn in between", async () => {
  const file = join(folder, "many.db");
  await (await openJournal(file)).close();
  const database = await openSqlite(file, { busyTimeoutMs: 1000 });
  const [now, old] = [0, 3].map((days) => new Date(Date.now() - days * 86_400_000).toISOString());
  database.exec(`
    WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 101000)
      INSERT INTO session (first_gseq, session_id, state, last_gseq, workdir, title, labels, started_at, sorted_at, ended_at)
      SELECT n, 's' || n, 1, n, '/w', 'title', '{}', at, at, at
        FROM (SELECT n, iif(n > 1000, '${now}', '${old}') AS at FROM number);
    INSERT INTO spend SELECT first_gseq, 'agent' || (first_gseq % 5), 'm', 'reported', 0.001, 'USD', 10, 5, 4, 0, NULL FROM session;
  `);
  database.close();
  const journal = await openJournal(file);
  // Processor time: other tests may take the processor away.
  const busyMs = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  const addUp = async () => {
    const seen = { longest: 0, turns: 0 };
    let last = busyMs();
    let watches = true;
    const watch = () => {
      const at = busyMs();
      [seen.longest, last] = [Math.max(seen.longest, at - last), at];
      seen.turns++;
      if (watches) setImmediate(watch);
    };
    setImmediate(watch);
    const rows = await addUpUsage({ days: 1, time_zone: "UTC" }, (since) => [spentPages(journal, since)]);
    watches = false;
    return { rows, ...seen };
  };
  const passes = [await addUp()];
  // The collector's threads count as well, now and then in one moment: what holds this thread does so each time.
  while (passes.length < 3 && passes.at(-1)!.longest >= 50) passes.push(await addUp());
  await journal.close();
  const { rows, turns, longest } = passes.at(-1)!;
  expect(rows).toHaveLength(5);
  for (const row of rows) {
    expect(row).toMatchObject({ sessions: 20_000, cost: 20, tokens_in: 200_000, tokens_cached: 80_000 });
  }
  expect(turns).toBeGreaterThanOrEqual(200);
  expect(longest).toBeLessThan(50);
});

test("what is unknown is null in rows of its own, and currencies and agents are kept apart", async () => {
  const pages = () => [
    pageOf(
      { cost: 0.1, currency: "USD", tokens_in: 5, basis: "reported" },
      { cost: 0.2, currency: "USD", tokens_in: 6, basis: "reported", partial: 1 },
      { cost: 1, currency: "EUR", tokens_in: 6, basis: "reported" },
      { tokens_in: 7, requests: 2 },
      {},
    ),
    pageOf({ adapter_id: "b" }, { started_at: "no time" }),
  ];
  const rows = await addUpUsage({}, pages);
  const of = (figures: object) => expect.objectContaining(figures);
  expect(rows).toHaveLength(5);
  expect(rows).toEqual(expect.arrayContaining([
    of({
      adapter_id: "a",
      currency: "USD",
      cost: 0.3,
      tokens_in: 11,
      tokens_out: null,
      requests: null,
      sessions: 2,
      partial: 1,
    }),
    of({ adapter_id: "a", currency: "EUR", cost: 1, tokens_in: 6, sessions: 1 }),
    of({ adapter_id: "a", cost: null, tokens_in: 7, requests: 2, sessions: 1, partial: 0 }),
    of({ adapter_id: "a", cost: null, tokens_in: null, sessions: 1 }),
    of({ adapter_id: "b", cost: null, tokens_in: null, sessions: 1 }),
  ]));
  expect(await addUpUsage({ adapter: "b" }, pages)).toMatchObject([{ adapter_id: "b", sessions: 1 }]);
});

test("the values of a label stand in rows of their own when the question names it", async () => {
  const pages = () => [
    pageOf({ labels: `{"team":"shore","ticket":"1"}` }, { labels: `{"team":"shore","ticket":"2"}` }, { labels: "{}" }),
  ];
  const rows = await addUpUsage({ label: "team" }, pages);
  expect(rows.map(({ label, sessions }) => [label, sessions])).toEqual(
    expect.arrayContaining([["shore", 2], [null, 1]]),
  );
  expect((await addUpUsage({}, pages)).map(({ sessions, ...row }) => [sessions, "label" in row])).toEqual([[3, false]]);
});

test("a day begins where the question says, and agents cannot make an answer grow without end", async () => {
  const started_at = new Date(Date.now() - 86_400_000).toISOString();
  const days = await Promise.all(["Pacific/Kiritimati", "Etc/GMT+12"].map(async (time_zone) => {
    const rows = await addUpUsage({ days: 5, time_zone }, () => [pageOf({ started_at })]);
    return rows.map(({ day }) => day);
  }));
  // Of these two zones, 26 hours apart, one is always a day or two ahead.
  expect(days[0]![0]! > days[1]![0]!).toBe(true);
  await expect(addUpUsage({ time_zone: "Nowhere/Land" }, () => [])).rejects.toMatchObject({ code: "invalid_request" });
  const many = Array.from({ length: 10_500 }, (_, at) => ({ model: `m${at}` }));
  const rows = await addUpUsage({}, () => [pageOf(...many)]);
  expect(rows).toHaveLength(10_001);
  expect(rows.find(({ model }) => model === null)).toMatchObject({ sessions: 500 });
});

test("a host adds up its sessions, forgets deleted ones, and vouches for the figures", async () => {
  const made = await openHost();
  const usage = `yield { type: "usage", scope: "session", tokens_in: 9, tokens_out: 3, tokens_cached: 2, cost: 0.5,
    currency: "EUR", model: "m", partial: true };`;
  const trusted = { trusted: true, isolation: "thread" } as const;
  await made.add("alpha", { code: adapterCode(`${usage} yield ${completed};`) }, trusted);
  const { result } = await made.run("alpha");
  await made.run("alpha");
  const figures = { adapter_id: "alpha", model: "m", basis: "reported", currency: "EUR" };
  const usageOf = () => made.host.sessions.usage({ days: 1 });
  expect(await usageOf()).toEqual([
    {
      ...figures,
      day: expect.any(String),
      cost: 1,
      tokens_in: 18,
      tokens_out: 6,
      tokens_cached: 4,
      requests: null,
      sessions: 2,
      partial: 2,
    },
  ]);
  await made.host.sessions.delete(result.session_id);
  expect(await usageOf()).toMatchObject([{ sessions: 1, tokens_in: 9 }]);
  expect(await made.host.sessions.usage({ adapter: "other" })).toEqual([]);
  expect(await made.host.verify()).toMatchObject({ ok: true });
});

test("a figure that was changed in the table is found", async () => {
  const made = await openHost();
  const trusted = { trusted: true, isolation: "thread" } as const;
  await made.add("alpha", { code: adapterCode(`yield ${completed};`) }, trusted);
  await made.run("alpha");
  const [journal] = await stateJournals(made.stateDir);
  await made.host.close();
  const file = journal!.file;
  const database = await openSqlite(file, { busyTimeoutMs: 1000 });
  database.exec("UPDATE spend SET cost = 5");
  database.close();
  expect((await verifyJournal(file)).ok).toBe(false);
});
