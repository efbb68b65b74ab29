import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import type { NamedCount, SessionCounts } from "../../../../../plugin-sdk/queries.ts";
import { StandingMark } from "../parts.tsx";
import { type Standing, standings } from "../session-list.ts";
import { plainText } from "../shown-text.ts";
import { type Grouping, groupings } from "./list-groups.ts";
import { type ListFilter, noFilter } from "./list-filter.ts";

interface FiltersProps {
  filter: ListFilter;
  ask(change: Partial<ListFilter>): void;
  counts: SessionCounts | null;
  /** Running sessions by how they stand: the host counts them as running only. */
  live: ReadonlyMap<Standing, number>;
  group: Grouping;
  setGroup(group: Grouping): void;
  search: RefObject<HTMLInputElement | null>;
}

/** Fields that narrow the list: words, state, agent, repository, label and days; and how it is grouped. */
export function Filters({ filter, ask, counts, live, group, setGroup, search }: FiltersProps) {
  const [isOpen, setIsOpen] = useState(false);
  const isNarrowed = Object.values(filter).some((value) => value !== null && value !== "");
  return (
    <div class="filters">
      <div class="filter-line">
        <input
          ref={search}
          type="search"
          placeholder="Search: words, label=value, or a changed file"
          aria-label="Search sessions"
          value={filter.text}
          onInput={({ currentTarget }) => ask({ text: currentTarget.value })}
        />
        <button type="button" class="more-filters" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          Filters
        </button>
        <Fields {...{ filter, ask, counts, group, setGroup, isOpen }} />
      </div>
      <div class="chips" role="group" aria-label="Filter by state">
        <States filter={filter} ask={ask} counts={counts} live={live} />
        {isNarrowed && <button type="button" class="plain" onClick={() => ask(noFilter)}>Clear all filters</button>}
      </div>
    </div>
  );
}

interface FieldsProps extends Pick<FiltersProps, "filter" | "ask" | "counts" | "group" | "setGroup"> {
  isOpen: boolean;
}

function Fields({ filter, ask, counts, group, setGroup, isOpen }: FieldsProps) {
  return (
    <div class={isOpen ? "filter-fields is-open" : "filter-fields"}>
      <Named name="Agent" all={counts?.adapters} value={filter.adapter} choose={(adapter) => ask({ adapter })} />
      <Named name="Repository" all={counts?.folders} value={filter.folder} choose={(folder) => ask({ folder })} />
      <Named name="Label" all={counts?.labels} value={filter.label} choose={(label) => ask({ label })} />
      <Day name="From" value={filter.from} choose={(from) => ask({ from })} />
      <Day name="To" value={filter.to} choose={(to) => ask({ to })} />
      <label class="filter-field">
        <span>Group by</span>
        <select value={group} onChange={({ currentTarget }) => setGroup(currentTarget.value as Grouping)}>
          {Object.entries(groupings).map(([name, title]) => <option value={name}>{title}</option>)}
        </select>
      </label>
    </div>
  );
}

function States({ filter, ask, counts, live }: Pick<FiltersProps, "filter" | "ask" | "counts" | "live">) {
  const count = (name: Standing): number => {
    const ended = endedCounts[name];
    return ended === undefined ? live.get(name) ?? 0 : counts?.states[ended] ?? 0;
  };
  const { standing } = filter;
  return (
    <>
      <button type="button" class="chip" aria-pressed={standing === null} onClick={() => ask({ standing: null })}>
        All <span class="count">{counts === null ? "" : sumOf(counts.states).toLocaleString("en")}</span>
      </button>
      {(Object.keys(standings) as Standing[]).filter((name) => count(name) > 0 || standing === name).map((name) => (
        <button
          type="button"
          class="chip"
          aria-pressed={standing === name}
          onClick={() => ask({ standing: standing === name ? null : name })}
        >
          <StandingMark of={name} /> <span class="count">{count(name).toLocaleString("en")}</span>
        </button>
      ))}
    </>
  );
}

function sumOf(states: SessionCounts["states"]): number {
  return Object.values(states).reduce((sum, count) => sum + count, 0);
}

const endedCounts: Partial<Record<Standing, keyof SessionCounts["states"]>> = {
  done: "completed",
  blocked: "blocked",
  failed: "error",
  stopped: "interrupted",
};

interface NamedProps {
  name: string;
  all: readonly NamedCount[] | undefined;
  value: string;
  choose(value: string): void;
}

/** One of the names that sessions have, with how many have each. */
function Named({ name, all = [], value, choose }: NamedProps) {
  if (all.length === 0 && value === "") return null;
  const isListed = value === "" || all.some((one) => one.name === value);
  return (
    <label class="filter-field">
      <span>{name}</span>
      <select value={value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value="">Any</option>
        {!isListed && <option value={value}>{plainText(value, 60)}</option>}
        {all.map((one) => (
          <option value={one.name}>
            {plainText(one.name, 60)} ({one.count.toLocaleString("en")})
          </option>
        ))}
      </select>
    </label>
  );
}

function Day({ name, value, choose }: { name: string; value: string; choose(value: string): void }) {
  return (
    <label class="filter-field">
      <span>{name}</span>
      <input type="date" value={value} onChange={({ currentTarget }) => choose(currentTarget.value)} />
    </label>
  );
}
