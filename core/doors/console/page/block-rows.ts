import type { EventMark } from "../../../ground/checks/event-marks.ts";
import { foldRows, holds, isInOneRow, longestRow, type TimelineRow } from "./fold.ts";
import { hasMark } from "./rows/row-marks.ts";
import { type EventBlock, type SessionEvents, unknown } from "./session-events.ts";
import type { PlanPlace } from "./session/fold-places.ts";
import { blockOf, blockSize, type ShownEvent } from "./shown-event.ts";

/**
 * Returns a block with those before and after it that have parts of its rows, as far as they are here: an answer may be in
 * the next block, and a text goes on through several.
 * @param options.isSparse few blocks are shown: those beside this one are asked for
 */
export function blocksAround(events: SessionEvents, index: number, { isSparse }: { isSparse: boolean }): EventBlock[] {
  const found = [events.block(index)];
  const at = (number: number) => isSparse ? events.beside(number) : events.peek(number);
  for (const by of [-1, 1]) {
    let number = index;
    for (let goesOn = true; goesOn;) {
      number += by;
      const block = at(number);
      if (block === unknown) break;
      if (by < 0) found.unshift(block);
      else found.push(block);
      const isSameRow = Math.floor(number * blockSize / longestRow) === Math.floor(index * blockSize / longestRow);
      goesOn = isSameRow && isInOneRow(block.events);
    }
    // The calls to which answers in the first of them belong.
    const before = by < 0 ? at(number - 1) : unknown;
    if (before !== unknown) found.unshift(before);
  }
  return found;
}

interface BlockRowsOptions {
  index: number;
  /** The first and the last number of the part of the timeline. */
  from: number;
  to: number | null;
  /** Null: all rows are shown. */
  mark: EventMark | null;
  /** An event that has a row, wherever it would be folded. */
  target: number | null;
  /** The heads of turns have the prompts. */
  isDivided: boolean;
  /** The place of the plan; undefined until that is known. */
  plan: PlanPlace | undefined;
  /** Agents of the agent whose beginning no event tells. */
  homeless: readonly string[];
  /** Numbers of answers that their calls, far above, have. */
  above: readonly number[];
}

/** Makes the rows of a block, with the events of those around it. */
export function blockRows(events: readonly ShownEvent[], options: BlockRowsOptions): TimelineRow[] {
  const { index, from, to, mark, isDivided } = options;
  const [first, last] = [index * blockSize + 1, (index + 1) * blockSize];
  const isShown = ({ seq, event }: ShownEvent, at: number) => {
    if (event.type === "plan") return from <= seq && seq <= (to ?? Infinity) && isPlanShown(events, at, options);
    return !(isDivided && event.type === "session_started" && event.passed_over.length === 0);
  };
  const rows = foldRows(events.filter(isShown), {
    from: Math.max(from, first),
    to: Math.min(to ?? Infinity, last),
    isApart: true,
    isSparse: mark !== null,
  });
  return mark === null ? withoutInner(rows, options) : rows.filter((row) => hasMark(row, mark));
}

/** Whether a change of the plan has a row: the newest one, and one that a reader goes to. */
function isPlanShown(
  events: readonly ShownEvent[],
  at: number,
  { plan, target }: Pick<BlockRowsOptions, "plan" | "target">,
): boolean {
  const { seq } = events[at]!;
  if (plan !== undefined) return seq === plan.seq || seq === target;
  // Until it is known, each block has one row.
  const next = events.slice(at + 1).find(({ event }) => event.type === "plan");
  return next === undefined || blockOf(next.seq) !== blockOf(seq);
}

/** Leaves out what stands in the row of an agent of the agent elsewhere. */
function withoutInner(
  rows: readonly TimelineRow[],
  { target, homeless, above }: Pick<BlockRowsOptions, "target" | "homeless" | "above">,
): TimelineRow[] {
  const isOuter = (row: TimelineRow) => {
    if (row.kind === "tool") return row.call !== null || row.seq === target || !above.includes(row.seq);
    if (row.kind !== "agent") return true;
    const { started, agent_id } = row;
    if (started !== null && started.parent === undefined) return true;
    return target !== null && holds(row, target) || homeless.includes(started?.parent ?? agent_id);
  };
  return rows.filter(isOuter).map((row) => row.kind === "tool" ? { ...row, agents: row.agents.filter(isOuter) } : row);
}
