import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { UsageRow } from "../../../../../plugin-sdk/usage-row.ts";
import { countText } from "./count-text.ts";
import { plainText } from "../shown-text.ts";
import { amountText } from "./cost-text.ts";
import { grouped, sumOf, type UsageSum } from "./spend-sums.ts";

const groupings = { day: "Day", agent: "Agent", model: "Model" } as const;
type Grouping = keyof typeof groupings | "label";

interface SpendTableProps {
  rows: readonly UsageRow[];
  currency: string | null;
  /** Names of labels by which the host can add up. */
  labels: readonly string[];
  label: string | null;
  askLabel: (name: string | null) => void;
  /** The day that is chosen, if one is. */
  day: string | null;
  /** Chooses a day, or all of them again. */
  chooseDay: (day: string | null) => void;
}

/** Sums by day, agent, model or the values of a label. */
export function SpendTable({ rows, currency, labels, label, askLabel, day, chooseDay }: SpendTableProps) {
  const [by, setBy] = useState<Grouping>(label === null ? "day" : "label");
  const groups = grouped(rows, (row) => nameIn(row, by), currency);
  if (by === "day") groups.sort((a, b) => (b.name ?? "").localeCompare(a.name ?? ""));
  const title = by === "label" ? plainText(label ?? "", 40) : groupings[by];
  return (
    <section>
      <div class="chips spend-sums" role="group" aria-label="Sums by">
        {(["day", "agent", "model"] as const).map((one) => (
          <GroupChip
            name={one}
            is={by === one}
            choose={() => setBy(one)}
          />
        ))}
        {labels.map((name) => {
          const choose = () => (setBy("label"), askLabel(name));
          return <GroupChip name={plainText(name, 40)} is={by === "label" && label === name} choose={choose} />;
        })}
      </div>
      <div class="table-scroll" tabIndex={0} role="region" aria-label={`Sums by ${title}`}>
        <table class="figures">
          <Head title={title} />
          <tbody>
            {groups.map(({ name, sum }) => {
              const shown = by === "day" ? <DayButton name={name} day={day} choose={chooseDay} /> : nameText(name, by);
              return <SumRow key={name} name={shown} sum={sum} currency={currency} />;
            })}
          </tbody>
          {groups.length > 1 && (
            <tfoot>
              <SumRow name="All" sum={sumOf(rows, currency)} currency={currency} />
            </tfoot>
          )}
        </table>
      </div>
    </section>
  );
}

function GroupChip({ name, is, choose }: { name: string; is: boolean; choose: () => void }) {
  return <button type="button" class="chip" aria-pressed={is} onClick={choose}>By {name}</button>;
}

function nameIn(row: UsageRow, by: Grouping): string | null {
  if (by === "day") return row.day;
  if (by === "agent") return row.adapter_id;
  return (by === "model" ? row.model : row.label) ?? null;
}

const dayNames = new Intl.DateTimeFormat("en", { weekday: "short", day: "numeric", month: "short" });

function nameText(name: string | null, by: Grouping): string {
  if (name === null) return by === "label" ? "without it" : "not told";
  // Noon, so that no zone makes it another day.
  return by === "day" ? dayNames.format(new Date(`${name}T12:00:00`)) : plainText(name, 60);
}

function Head({ title }: { title: string }) {
  const columns = [
    "Sessions",
    "Counted",
    "Reported",
    "Estimated",
    "Cost unknown",
    "Tokens in",
    "Of them cached",
    "Tokens out",
    "Requests",
  ];
  return (
    <thead>
      <tr>
        <th scope="col">{title}</th>
        {columns.map((name) => <th scope="col" class="number">{name}</th>)}
      </tr>
    </thead>
  );
}

/** Chooses a day, as a click on its bar does. */
function DayButton(
  { name, day, choose }: { name: string | null; day: string | null; choose: (day: string | null) => void },
) {
  const isChosen = name === day;
  return (
    <button type="button" class="more" aria-pressed={isChosen} onClick={() => choose(isChosen ? null : name)}>
      {nameText(name, "day")}
    </button>
  );
}

function SumRow({ name, sum, currency }: { name: ComponentChildren; sum: UsageSum; currency: string | null }) {
  const tokens = (count: number | null) =>
    count === null ? "unknown" : `${sum.partial > 0 ? "at least " : ""}${countText(count)}`;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="number">{sum.sessions.toLocaleString("en")}</td>
      <td class="number">{amountText(sum.wire, currency)}</td>
      <td class="number">{amountText(sum.reported, currency)}</td>
      <td class="number">{amountText(sum.estimated, currency)}</td>
      <td class="number">{sum.by.unknown === 0 ? "—" : sum.by.unknown.toLocaleString("en")}</td>
      <td class="number">{tokens(sum.tokens_in)}</td>
      <td class="number">{sum.tokens_cached === null ? "unknown" : countText(sum.tokens_cached)}</td>
      <td class="number">{tokens(sum.tokens_out)}</td>
      <td class="number">{sum.requests === null ? "—" : countText(sum.requests)}</td>
    </tr>
  );
}
