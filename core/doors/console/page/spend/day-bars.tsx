import { useState } from "preact/hooks";
import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import type { UsageRow } from "../../../../../plugin-sdk/usage-row.ts";
import { plainText } from "../shown-text.ts";
import { CostPlot, type PlotLayer } from "./cost-plot.tsx";
import { costText } from "./cost-text.ts";
import { type DaySpan, isIn, sumOf, type UsageSum } from "./spend-sums.ts";

/** Agents with a colour of their own; the others share the last one. */
const mostColours = 6;

interface BarsProps {
  rows: readonly UsageRow[];
  /** The most expensive first. */
  agents: readonly { name: string | null; sum: UsageSum }[];
  spans: readonly DaySpan[];
  currency: string | null;
  span: DaySpan | null;
  agent: string | null;
  chooseSpan: (span: DaySpan | null) => void;
  chooseAgent: (agent: string | null) => void;
}

/** One bar, with the part of each agent, the most expensive agent at the bottom. */
interface Bar {
  span: DaySpan;
  sum: UsageSum;
  parts: { name: string | null; sum: UsageSum }[];
}

/** Costs as a bar for each day, in the colours of the agents. A click on a day or an agent shows its part of the figures. */
export function DayBars({ rows, agents, spans, currency, span, agent, chooseSpan, chooseAgent }: BarsProps) {
  const [pointed, setPointed] = useState(-1);
  if (currency === null) return null;
  const bars = spans.map((one) => barOf(one, { rows, agents, currency, agent }));
  const bar = bars[pointed];
  return (
    <figure class="day-bars">
      <figcaption>
        {bar === undefined
          ? `Cost per ${spans[0]?.first === spans[0]?.last ? "day" : "week"}, by agent`
          : <BarFacts of={bar} currency={currency} />}
      </figcaption>
      <CostPlot
        layers={layersOf(bars)}
        names={spans.map(({ names: [weekday, month, day] }) => `${weekday}\n${month} ${day}`)}
        sums={bars.map(({ sum }) => costText(sum, currency).replace(" and ", "\n"))}
        chosen={spans.findIndex(({ first }) => first === span?.first)}
        text={(amount) => amount === 0 ? "0" : formatCost(amount, currency)}
        point={setPointed}
        choose={(at) => chooseSpan(spans[at]?.first === span?.first ? null : spans[at] ?? null)}
      />
      <Legend agents={bar?.parts ?? agents} agent={agent} currency={currency} choose={chooseAgent} />
    </figure>
  );
}

/** The figures of the bar under the pointer; the legend has those of its parts. */
function BarFacts({ of: { span, sum }, currency }: { of: Bar; currency: string }) {
  return (
    <>
      <b>{span.title}</b>: {costText(sum, currency)} · {sum.sessions} {sum.sessions === 1 ? "session" : "sessions"}
      {sum.by.unknown > 0 && ` · ${sum.by.unknown} of unknown cost`}
    </>
  );
}

function barOf(
  span: DaySpan,
  { rows, agents, currency, agent }: Pick<BarsProps, "rows" | "agents" | "currency" | "agent">,
): Bar {
  const here = rows.filter((row) => isIn(row, span) && (agent === null || row.adapter_id === agent));
  const parts = agents.map(({ name }) => ({
    name,
    sum: sumOf(here.filter(({ adapter_id }) => adapter_id === name), currency),
  }));
  return { span, sum: sumOf(here, currency), parts };
}

/** Puts the parts of all bars on one another; an estimated cost is a frame. */
function layersOf(bars: readonly Bar[]): PlotLayer[] {
  const tops = bars.map(() => 0);
  const layers = (bars[0]?.parts ?? []).flatMap((_, part) =>
    (["wire", "reported", "estimated"] as const).map((kind) => ({
      colour: colourOf(part),
      isFrame: kind === "estimated",
      tops: bars.map(({ parts }, at) => {
        const cost = parts[part]?.sum[kind] ?? 0;
        tops[at] = (tops[at] ?? 0) + cost;
        return cost > 0 ? tops[at] ?? 0 : null;
      }),
    }))
  );
  return layers.filter((layer) => layer.tops.some((top) => top !== null));
}

/** Returns the colour of an agent. */
function colourOf(at: number): string {
  return `var(--series-${Math.min(at, mostColours)})`;
}

function Legend(
  { agents, agent, currency, choose }: Pick<BarsProps, "agents" | "agent" | "currency"> & {
    choose: BarsProps["chooseAgent"];
  },
) {
  return (
    <div class="chips day-legend" role="group" aria-label="Agents">
      {agents.map(({ name, sum }, at) => (
        <button
          type="button"
          class="chip"
          aria-pressed={agent === name}
          onClick={() => choose(agent === name ? null : name)}
        >
          <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
            <rect fill={colourOf(at)} width="10" height="10" rx="2" />
          </svg>{" "}
          {plainText(name ?? "", 40)}
          <span class="count">{costText(sum, currency)}</span>
        </button>
      ))}
    </div>
  );
}
