import { useEffect, useRef } from "preact/hooks";
import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import type { UsageRow } from "../../../../../plugin-sdk/usage-row.ts";
import { plainText } from "../shown-text.ts";
import { costText } from "./cost-text.ts";
import { type DaySpan, heightOf, isIn, scaleEnd, sumOf, type UsageSum } from "./spend-sums.ts";

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
  parts: { agent: string; colour: number; sum: UsageSum }[];
}

/** Costs as a bar for each day, in the colours of the agents. A click on a day or an agent shows its part of the figures. */
export function DayBars({ rows, agents, spans, currency, span, agent, chooseSpan, chooseAgent }: BarsProps) {
  const bars = spans.map((one) => barOf(one, { rows, agents, currency, agent }));
  const end = scaleEnd(Math.max(...bars.map(({ sum }) => heightOf(sum))));
  const { element, onKey } = useArrows();
  if (currency === null) return null;
  const isWeekly = spans[0]?.first !== spans[0]?.last;
  return (
    <figure class="day-bars">
      <figcaption>Cost per {isWeekly ? "week" : "day"}, by agent</figcaption>
      <div class="day-plot">
        <div class="day-scale" aria-hidden="true">
          {[1, 0.5, 0].map((part) => <span>{part === 0 ? "0" : formatCost(end * part, currency)}</span>)}
        </div>
        <div class="day-scroll" ref={element}>
          <div class={`day-columns ${bars.length > 10 ? "many" : ""}`} role="group" aria-label="Days" onKeyDown={onKey}>
            {bars.map((bar, at) => (
              <DayColumn
                bar={bar}
                end={end}
                currency={currency}
                side={at * 2 < bars.length ? "start" : "end"}
                isChosen={span?.first === bar.span.first}
                isFirst={span === null ? at === bars.length - 1 : span.first === bar.span.first}
                choose={() => chooseSpan(span?.first === bar.span.first ? null : bar.span)}
              />
            ))}
          </div>
        </div>
      </div>
      <Legend agents={agents} agent={agent} currency={currency} choose={chooseAgent} />
    </figure>
  );
}

function barOf(
  span: DaySpan,
  { rows, agents, currency, agent }: Pick<BarsProps, "rows" | "agents" | "currency" | "agent">,
): Bar {
  const here = rows.filter((row) => isIn(row, span) && (agent === null || row.adapter_id === agent));
  const parts = agents.map(({ name }, at) => ({
    agent: name ?? "",
    colour: Math.min(at, mostColours),
    sum: sumOf(here.filter(({ adapter_id }) => adapter_id === name), currency),
  }));
  return { span, sum: sumOf(here, currency), parts: parts.filter(({ sum }) => sum.sessions > 0) };
}

/** One stop of Tab for all bars: the arrows go from day to day. The newest day is in view first. */
function useArrows() {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (element.current !== null) element.current.scrollLeft = element.current.scrollWidth;
  }, []);
  const onKey = (event: KeyboardEvent) => {
    const all = [...element.current?.querySelectorAll("button") ?? []];
    const at = all.findIndex((one) => one === document.activeElement);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key];
    if (next === undefined || at === -1) return;
    event.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, next))]?.focus();
  };
  return { element, onKey };
}

interface ColumnProps {
  bar: Bar;
  end: number;
  currency: string;
  /** The side of the column at which its facts begin, so that they stay in the figure. */
  side: "start" | "end";
  isChosen: boolean;
  isFirst: boolean;
  choose: () => void;
}

function DayColumn({ bar: { span, sum, parts }, end, currency, side, isChosen, isFirst, choose }: ColumnProps) {
  const cost = costText(sum, currency);
  const facts = parts.map((part) => `${plainText(part.agent, 40)} ${costText(part.sum, currency)}`).join(", ");
  return (
    <button
      type="button"
      class="day-column"
      tabIndex={isFirst ? 0 : -1}
      aria-pressed={isChosen}
      onClick={choose}
    >
      <span class="day-sum">
        {sum.wire > 0 && <span>{formatCost(sum.wire, currency)}</span>}
        {sum.reported > 0 && <span>{formatCost(sum.reported, currency)}</span>}
        {sum.estimated > 0 && <span>≈ {formatCost(sum.estimated, currency)}</span>}
      </span>
      <Stack parts={parts} end={end} />
      <span class="day-name">
        <b>{span.names[0]}</b>
        <span>
          <span class="day-month">{span.names[1]}</span> {span.names[2]}
        </span>
      </span>
      <span class="hidden">{`: ${sum.sessions} sessions${facts === "" ? "" : `, ${facts}`}`}</span>
      <span class={`day-facts day-facts-${side}`} aria-hidden="true">
        <b>{span.title}</b>
        <span>{cost} · {sum.sessions} {sum.sessions === 1 ? "session" : "sessions"}</span>
        {parts.slice(0, mostColours).map((part) => (
          <span class="day-fact">
            <Swatch colour={part.colour} />
            <span class="one-line">{plainText(part.agent, 40)}</span>
            <span class="number">{costText(part.sum, currency)}</span>
          </span>
        ))}
        {sum.by.unknown > 0 && <span>{sum.by.unknown} of unknown cost</span>}
      </span>
    </button>
  );
}

/** The parts of a bar, one on another; an estimated cost is a frame. */
function Stack({ parts, end }: { parts: Bar["parts"]; end: number }) {
  let top = 100;
  const pieces = parts.flatMap(({ colour, sum }) =>
    (["wire", "reported", "estimated"] as const).map((kind) => {
      const height = sum[kind] / end * 100;
      top -= height;
      return { colour, kind, height, y: top };
    })
  );
  return (
    <svg class="day-stack" viewBox="0 0 10 100" preserveAspectRatio="none" aria-hidden="true">
      {pieces.filter(({ height }) => height > 0).map(({ colour, kind, height, y }) => (
        <rect
          class={`series-${colour} ${kind === "estimated" ? "day-estimated" : ""}`}
          x="0"
          y={y}
          width="10"
          height={height}
        />
      ))}
    </svg>
  );
}

function Swatch({ colour }: { colour: number }) {
  return (
    <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
      <rect class={`series-${colour}`} width="10" height="10" rx="2" />
    </svg>
  );
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
          <Swatch colour={Math.min(at, mostColours)} /> {plainText(name ?? "", 40)}
          <span class="count">{costText(sum, currency)}</span>
        </button>
      ))}
    </div>
  );
}
