import { nextTurn } from "../../ground/platform/engine/next-turn.ts";
import type { GroupPage, SessionGroup } from "./session-groups.ts";
import type { SessionFilter, SessionRecord, SessionSpan, SessionStretch } from "./session-record.ts";
import type { SessionTable } from "./session-table.ts";

/** Rows that are looked at in one turn of this thread, which has other work. */
const rowsInATurn = 2000;

/** Reads the table, and gives faults their words. */
type Look = <T>(read: (table: SessionTable) => T) => T | Promise<T>;

/** Lists sessions, the newest first, in turns that end soon however many sessions match nothing. */
export async function listSessions(look: Look, filter: SessionFilter): Promise<SessionRecord[]> {
  const found: SessionRecord[] = [];
  for (let before = filter.before;;) {
    const stretch = await look((table) => nextStretch(table, before));
    const limit = filter.limit - found.length;
    found.push(...(await look((table) => table.list({ ...filter, limit }, stretch))));
    const { downTo } = stretch;
    if (found.length >= filter.limit || downTo === null || isBefore(downTo, filter.since)) return found;
    before = downTo;
    await nextTurn();
  }
}

/** Groups sessions for counting: those of so many rows that one turn looks at. */
export async function groupPage(
  look: Look,
  span: SessionSpan,
  before: SessionFilter["before"],
): Promise<GroupPage> {
  const stretch = await look((table) => nextStretch(table, before));
  const { downTo } = stretch;
  const groups = await look((table) => table.groups(span, stretch));
  return { groups, next: downTo === null || isBefore(downTo, span.since) ? null : downTo };
}

/** Groups all sessions of a journal for counting, page by page: a group may stand in several. */
export async function* groupPages(
  journal: { groups(span: SessionSpan, before: SessionFilter["before"]): Promise<GroupPage> },
  span: SessionSpan,
): AsyncGenerator<SessionGroup[], void, void> {
  let page = await journal.groups(span, undefined);
  yield page.groups;
  while (page.next !== null) {
    await nextTurn();
    page = await journal.groups(span, page.next);
    yield page.groups;
  }
}

function nextStretch(table: SessionTable, before: SessionFilter["before"]): SessionStretch {
  return { before, downTo: table.rowAfter(before, rowsInATurn) };
}

/** Whether all later sessions of the order began before a time: the order never goes back. */
function isBefore({ sorted_at }: NonNullable<SessionFilter["before"]>, since: string | undefined): boolean {
  return since !== undefined && sorted_at < since;
}
