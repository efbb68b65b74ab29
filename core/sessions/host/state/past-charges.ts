import { fieldsOrNone, parseJson, stringOf } from "../../../../plugin-sdk/json-fields.ts";
import type { Plugin } from "../../../packages/manifest/plugin.ts";
import type { Journal } from "../../../records/journal/journal.ts";
import { sessionPages } from "../../../records/journal/read-page.ts";
import type { SessionRecord } from "../../../records/journal/session-record.ts";
import type { Spent, SpentRecord } from "../../../records/journal/spend-table.ts";
import { beyond, type PastCharge } from "../../session/spend/named-budgets.ts";
import { highestPrice } from "../../session/spend/priced-usage.ts";
import type { MergedLog } from "../../session/merged-log.ts";
import type { ElsewhereSessions } from "../host-seams.ts";
import { spentPages } from "../session-usage.ts";

/** Sessions of one journal. */
interface Source extends Pick<ElsewhereSessions, "spent"> {
  find(sessionId: string): Promise<Pick<Journal, "read"> | null>;
}

interface PastDeps {
  journal: Pick<Journal, "openSessions" | "read" | "session" | "sessions" | "spent">;
  log: Pick<MergedLog, "written">;
  others: readonly Source[];
  plugin(id: string): Plugin | undefined;
}

/** In a cluster whose servers are away, what is durable counts. Milliseconds. */
const longestWaitMs = 500;

/** Sessions over the beginning of a day that are looked at. */
const mostOver = 10_000;

/**
 * Returns what sessions have used between two times, in parts. A session that began and ended between them counts by its
 * result, any other one by its calls.
 */
export async function* pastCharges(
  { journal, log, others, plugin }: PastDeps,
  { since, until }: { since: number; until: number },
): AsyncGenerator<readonly PastCharge[], void, void> {
  await log.written({ atMostMs: longestWaitMs });
  const begin = new Date(since).toISOString();
  const open = await Promise.all((await journal.openSessions()).map((id) => journal.session(id)));
  const running = open.filter((one) => one !== null);
  const over = await journal.sessions({ over: begin, limit: mostOver });
  const runs = new Set(running.map(({ first_gseq }) => first_gseq));
  const isWhole = ({ started_at }: Pick<SpentRecord, "started_at">) => {
    const started = Date.parse(started_at);
    return started >= since && started < until;
  };
  const priced = (spent: Priced) => costOf(spent, plugin(spent.adapter_id));
  const own: Source = { spent: (time) => spentPages(journal, time), find: () => Promise.resolve(journal) };
  for (const source of [own, ...others]) {
    for await (const page of source.spent(begin)) {
      const those = page.filter((one) => isWhole(one) && (source !== own || !runs.has(one.first_gseq)));
      yield await Promise.all(those.map((one) => untoldOf(wholeOf(one, priced(one)), { spent: one, source })));
    }
  }
  const parted = new Map([...over, ...running].map((record) => [record.session_id, record]));
  for (const record of parted.values()) yield* partsOf(record, { journal, since, until, priced });
}

/** Figures of a session or of a call. */
type Priced = Pick<Spent, "adapter_id" | "model" | "cost" | "currency" | "tokens_in" | "tokens_out" | "tokens_cached">;

function wholeOf({ labels, currency, tokens_in, tokens_out }: SpentRecord, cost: number | null): PastCharge {
  const texts = Object.entries(fieldsOrNone(parseJson(labels))).flatMap(([name, value]) => {
    const text = stringOf(value);
    return text === null ? [] : [[name, text] as const];
  });
  return { labels: Object.fromEntries(texts), cost, currency, tokens: (tokens_in ?? 0) + (tokens_out ?? 0) };
}

/** Adds what the calls of a session did not tell: its last event has it, where the host sent some and has not all figures. */
async function untoldOf(
  whole: PastCharge,
  { spent: { requests, basis, cost, last_gseq, session_id: sessionId }, source }: {
    spent: SpentRecord;
    source: Source;
  },
): Promise<PastCharge> {
  if (requests === null || basis === "wire" && cost !== null) return whole;
  const found = await source.find(sessionId);
  const [last] = await found?.read({ after: last_gseq - 1, sessionId, limit: 1, skipDamaged: true }) ?? [];
  const { counted } = last?.event.type === "session_ended" ? last.event.result.usage.wire ?? {} : {};
  if (counted === undefined) return whole;
  return { ...whole, cost: Math.max(whole.cost ?? 0, counted.cost), tokens: Math.max(whole.tokens, counted.tokens) };
}

/** Yields the calls of one session between two times, and at its end what it used beyond all of its calls. */
async function* partsOf(
  { session_id, labels }: SessionRecord,
  { journal, since, until, priced }: {
    journal: PastDeps["journal"];
    since: number;
    until: number;
    priced(spent: Priced): number | null;
  },
): AsyncGenerator<readonly PastCharge[], void, void> {
  const all = { cost: 0, tokens: 0 };
  for await (const page of sessionPages(journal, session_id, { skipDamaged: true })) {
    const charges: PastCharge[] = [];
    for (const { event, ts, adapter } of page) {
      const at = Date.parse(ts);
      const isBetween = at >= since && at < until;
      if (event.type === "model_call" && event.refused === undefined) {
        const cost = event.counted?.cost ?? priced({ ...event, adapter_id: adapter.id });
        const tokens = event.counted?.tokens ?? (event.tokens_in ?? 0) + (event.tokens_out ?? 0);
        all.cost += cost ?? 0;
        all.tokens += tokens;
        if (isBetween) charges.push({ labels, cost, currency: event.currency, tokens });
      } else if (event.type === "session_ended" && isBetween) {
        const { usage } = event.result;
        const said = (usage.tokens_in ?? 0) + (usage.tokens_out ?? 0);
        const more = { cost: beyond(usage.cost ?? 0, all.cost), tokens: Math.max(0, said - all.tokens) };
        if (more.cost > 0 || more.tokens > 0) charges.push({ labels, ...more, currency: usage.currency });
      }
    }
    yield charges;
  }
}

/** Returns a cost as it was told, or by the highest price of the plugin's own modes; null where there is none. */
function costOf(spent: Priced, plugin: Plugin | undefined): number | null {
  const { cost, tokens_in, tokens_out } = spent;
  if (cost !== null || (tokens_in === null && tokens_out === null)) return cost;
  const figures = { ...spent, tokens_out: tokens_out ?? 0, scope: null, basis: "unknown" as const };
  const costs = (plugin?.manifest.access_modes ?? []).flatMap((mode) => {
    const { cost: most } = mode.type === "api" ? highestPrice(figures, { mode, model: spent.model }) : { cost: null };
    return most === null ? [] : [most];
  });
  return costs.length === 0 ? null : Math.max(...costs);
}
