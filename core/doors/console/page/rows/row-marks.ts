import { type EventMark, marksOf } from "../../../../ground/checks/event-marks.ts";
import type { TimelineRow } from "../fold.ts";

/** Whether a row has something of a kind in it. */
export function hasMark(row: TimelineRow, mark: EventMark): boolean {
  switch (row.kind) {
    case "text":
      return mark === "said" && row.voice === "stdout";
    case "tool":
      return [row.call, row.result, ...row.parts.map(({ event }) => event)].some((event) =>
        event !== null && marksOf(event).includes(mark)
      ) || row.agents.some((one) => hasMark(one, mark));
    case "event":
      return marksOf(row.event).includes(mark);
    case "reads":
      return mark === "tools";
    case "agent":
      return row.rows.some((one) => hasMark(one, mark));
    case "plan":
    case "used":
    case "process":
      return false;
  }
}
