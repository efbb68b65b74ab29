import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import type { UsageRow } from "../../../../../plugin-sdk/usage-row.ts";
import { useState } from "preact/hooks";
import { noticeOf, useConsole } from "../console-context.ts";
import { countText, Empty, Failure, Screen, useLoaded } from "../parts.tsx";
import { plainText } from "../shown-text.ts";

type Basis = UsageRow["basis"];

const bases: readonly Basis[] = ["reported", "estimated", "unknown"];

/** Spend per day, agent and model. What is reported, estimated and unknown is never added up. */
export function Spend() {
  const { api } = useConsole();
  const [days, setDays] = useState(30);
  const [loaded] = useLoaded((signal) => api.get<{ rows: UsageRow[] }>("/v1/spend", { days }, signal), [days]);
  return (
    <Screen
      title="Spend"
      lead="Reported by agents, estimated by the host, or unknown: never added up"
      actions={
        <div class="chips" role="group" aria-label="Days">
          {[7, 30, 90].map((count) => (
            <button
              type="button"
              class="chip"
              aria-pressed={days === count}
              onClick={() => setDays(count)}
            >
              {count} days
            </button>
          ))}
        </div>
      }
    >
      {loaded === undefined && <p class="quiet-line">Adding up …</p>}
      {loaded !== undefined && "failed" in loaded && <Failure {...noticeOf(loaded.failed)} />}
      {loaded !== undefined && "value" in loaded && <Figures rows={loaded.value.rows} days={days} />}
    </Screen>
  );
}

function Figures({ rows, days }: { rows: readonly UsageRow[]; days: number }) {
  if (rows.length === 0) {
    return (
      <Empty title="No session has ended in these days">
        <p>Each session that ends adds its cost and tokens here.</p>
      </Empty>
    );
  }
  return (
    <>
      <div class="tiles">
        {bases.map((basis) => <Tile basis={basis} rows={rows.filter((row) => row.basis === basis)} />)}
      </div>
      <Bars rows={rows} days={days} />
      <SpendTable rows={rows} />
    </>
  );
}

function SpendTable({ rows }: { rows: readonly UsageRow[] }) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Spend per day, agent and model">
      <table class="figures">
        <thead>
          <tr>
            {["Day", "Agent", "Model", "Basis"].map((name) => <th scope="col">{name}</th>)}
            {["Cost", "Tokens in", "Of them cached", "Tokens out", "Requests"].map((name) => (
              <th scope="col" class="number">{name}</th>
            ))}
            <th scope="col" class="number">Sessions</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              <td>{row.day}</td>
              <td>{plainText(row.adapter_id, 60)}</td>
              <td>{row.model === null ? "—" : plainText(row.model, 60)}</td>
              <td>
                <span class={`tag basis-${row.basis}`}>{row.basis}</span>
                {row.partial > 0 && <span class="tag">partial</span>}
              </td>
              <td class="number">{formatCost(row.cost, row.currency)}</td>
              <td class="number">{tokensText(row.tokens_in, row)}</td>
              <td class="number">{row.tokens_cached === null ? "unknown" : countText(row.tokens_cached)}</td>
              <td class="number">{tokensText(row.tokens_out, row)}</td>
              <td class="number">{row.requests === null ? "unknown" : countText(row.requests)}</td>
              <td class="number">{row.sessions}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Agents that count a part of their calls have used at least what they tell. */
function tokensText(tokens: number | null, { partial }: Pick<UsageRow, "partial">): string {
  if (tokens === null) return "unknown";
  return `${partial > 0 ? "at least " : ""}${countText(tokens)}`;
}

function Tile({ basis, rows }: { basis: Basis; rows: readonly UsageRow[] }) {
  const sums = new Map<string, number>();
  for (const { cost, currency } of rows) {
    if (cost !== null && currency !== null) sums.set(currency, (sums.get(currency) ?? 0) + cost);
  }
  const unknown = rows.filter(({ cost }) => cost === null).reduce((sum, row) => sum + row.sessions, 0);
  const sessions = rows.reduce((sum, row) => sum + row.sessions, 0);
  return (
    <div class={`tile basis-${basis}`}>
      <h2>{basis}</h2>
      <p class="tile-figure">
        {sums.size === 0
          ? sessions === 0 ? "—" : formatCost(unknown === sessions ? null : 0, null)
          : [...sums].map(([currency, cost]) => formatCost(cost, currency)).join(" + ")}
      </p>
      <p class="quiet-line">
        {sessions} {sessions === 1 ? "session" : "sessions"}
        {unknown > 0 && unknown < sessions && `, ${unknown} of unknown cost`}
      </p>
    </div>
  );
}

/** Costs per day, one bar a basis, side by side: they have nothing to do with one another. */
function Bars({ rows, days }: { rows: readonly UsageRow[]; days: number }) {
  const currency = rows.find(({ cost, currency }) => cost !== null && currency !== null)?.currency ?? null;
  const known = rows.filter((row) => row.cost !== null && row.currency === currency);
  if (known.length === 0) return null;
  const names = dayNames(days);
  const sum = (day: string, basis: Basis) =>
    known.filter((row) => row.day === day && row.basis === basis).reduce((all, row) => all + (row.cost ?? 0), 0);
  const most = Math.max(...names.flatMap((day) => bases.map((basis) => sum(day, basis))), 1e-9);
  const width = 720 / days;
  return (
    <figure class="bars">
      <figcaption>
        Cost per day{currency !== null && ` in ${currency}`}, at most {formatCost(most, currency)}
      </figcaption>
      <svg
        viewBox="0 0 720 120"
        role="img"
        aria-label={`Cost per day, at most ${formatCost(most, currency)}`}
        preserveAspectRatio="none"
      >
        {names.flatMap((day, index) =>
          bases.slice(0, 2).map((basis, place) => (
            <Bar
              title={`${day}: ${formatCost(sum(day, basis), currency)} ${basis}`}
              basis={basis}
              x={index * width + place * width * 0.42 + width * 0.08}
              width={width * 0.4}
              height={sum(day, basis) / most * 116}
            />
          ))
        )}
      </svg>
      <p class="quiet-line bars-days">
        <span>{names[0]}</span>
        <span>{names.at(-1)}</span>
      </p>
    </figure>
  );
}

/** The last days, as in `UsageRow.day`. */
function dayNames(days: number): string[] {
  const today = Date.now();
  return Array.from(
    { length: days },
    (_, index) => new Date(today - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  );
}

function Bar(
  { title, basis, x, width, height }: { title: string; basis: Basis; x: number; width: number; height: number },
) {
  return (
    <rect class={`bar-${basis}`} x={x} y={120 - height} width={width} height={height}>
      <title>{title}</title>
    </rect>
  );
}
