import { useState } from "preact/hooks";
import type { UsageRow } from "../../../../../plugin-sdk/usage-row.ts";
import { useConsole } from "../console-context.ts";
import { Empty, Failed, Screen, useLoaded } from "../parts.tsx";
import { useCounts } from "../sessions/use-counts.ts";
import { plainText } from "../shown-text.ts";
import { Budgets } from "./budgets.tsx";
import { costText } from "./cost-text.ts";
import { DayBars } from "./day-bars.tsx";
import { MonthLine } from "./month-line.tsx";
import { SpendSessions } from "./spend-sessions.tsx";
import { currenciesOf, dayOf, type DaySpan, grouped, isIn, spansOf, sumOf } from "./spend-sums.ts";
import { SpendTable } from "./spend-table.tsx";
import { CostTiles } from "./cost-tiles.tsx";

/** Names of labels to choose from. */
const mostLabels = 8;

/** Cost of sessions as bars by day and agent, with sums. Reported, estimated and unknown costs are never added up. */
export function Spend() {
  const { api } = useConsole();
  const [days, setDays] = useState(7);
  const [label, setLabel] = useState<string | null>(null);
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const query = { days, time_zone, label: label ?? undefined };
  const [loaded] = useLoaded((signal) => api.get<{ rows: UsageRow[] }>("/v1/spend", query, signal), [days, label]);
  const named = useCounts()?.labels.map(({ name }) => name.slice(0, name.indexOf("="))) ?? [];
  const labels = [...new Set(named)].slice(0, mostLabels).sort();
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
      {loaded === undefined && <p class="quiet-line" role="status">Adding up …</p>}
      {loaded !== undefined && "failed" in loaded && <Failed of={loaded.failed} />}
      {loaded !== undefined && "value" in loaded && (
        <>
          <Budgets />
          <Figures key={days} rows={loaded.value.rows} days={days} labels={labels} label={label} askLabel={setLabel} />
        </>
      )}
    </Screen>
  );
}

interface FiguresProps {
  rows: readonly UsageRow[];
  days: number;
  labels: readonly string[];
  label: string | null;
  askLabel: (name: string | null) => void;
}

function Figures({ rows, days, labels, label, askLabel }: FiguresProps) {
  const [span, setSpan] = useState<DaySpan | null>(null);
  const [agent, setAgent] = useState<string | null>(null);
  const currencies = currenciesOf(rows);
  const [chosen, setCurrency] = useState<string | null>(null);
  if (rows.length === 0) return <NoSession />;
  const currency = chosen ?? currencies[0] ?? null;
  const agents = grouped(rows, ({ adapter_id }) => adapter_id, currency);
  const day = span !== null && span.first === span.last ? span.first : null;
  const shown = rows.filter((row) =>
    (span === null || isIn(row, span)) && (agent === null || row.adapter_id === agent)
  );
  return (
    <>
      <MonthLine currency={currency} />
      <CostTiles rows={rows} currencies={currencies} />
      {currencies.length > 1 && <Currencies all={currencies} current={currency} choose={setCurrency} />}
      <DayBars
        rows={rows}
        agents={agents}
        spans={spansOf(days)}
        currency={currency}
        span={span}
        agent={agent}
        chooseSpan={setSpan}
        chooseAgent={setAgent}
      />
      <Chosen span={span} agent={agent} clear={() => (setSpan(null), setAgent(null))}>
        {costText(sumOf(shown, currency), currency)}
      </Chosen>
      {(span !== null || agent !== null) && <SpendSessions span={span} agent={agent} />}
      <SpendTable
        {...{ rows: shown, currency, labels, label, askLabel }}
        day={day}
        chooseDay={(name) => setSpan(name === null ? null : dayOf(name))}
      />
    </>
  );
}

function NoSession() {
  return (
    <Empty title="No session has ended in these days">
      <p>Each session that ends adds its cost and tokens here.</p>
    </Empty>
  );
}

function Currencies(
  { all, current, choose }: { all: readonly string[]; current: string | null; choose: (currency: string) => void },
) {
  return (
    <div class="chips" role="group" aria-label="Currency">
      {all.map((one) => (
        <button type="button" class="chip" aria-pressed={one === current} onClick={() => choose(one)}>{one}</button>
      ))}
    </div>
  );
}

/** Says which part of the figures is shown below, and shows all of them again. */
function Chosen(
  { span, agent, clear, children }: { span: DaySpan | null; agent: string | null; clear: () => void; children: string },
) {
  if (span === null && agent === null) return null;
  return (
    <p class="spend-chosen" role="status">
      <span>
        <b>{[span?.title, agent === null ? null : plainText(agent, 60)].filter((one) => one != null).join(" · ")}</b>:
        {" "}
        {children}
      </span>
      <button type="button" onClick={clear}>Show all</button>
    </p>
  );
}
