import type { NoticeKind } from "../../../ground/config/notify-settings.ts";

/** One thing that waits for a person, or has ended. */
export interface NoticeItem {
  kind: NoticeKind;
  session_id: string;
  adapter_id: string;
  /** Beginning of the prompt, on one line. */
  title: string;
  /** On one line, which may have an agent's words: its question, the held changes, or how the session ended. */
  text: string;
  /** Since when; RFC 3339, UTC. */
  at: string;
  /** When it is too late; null where nothing ends. */
  answer_by: string | null;
  request_id: string | null;
  /** Command line that shows or answers it. */
  command: string;
}

/** A call to a person: JSON on a program's standard input, or as the body of a post. */
export interface Notice {
  version: 1;
  /** All of it in a sentence. Chat services show this field of a post. */
  text: string;
  items: NoticeItem[];
  /** Items that are not in the list. */
  more: number;
}

/** Longest part of a sentence that is an agent's or a client's, in UTF-16 units. */
const longest = 120;

/** Makes a notice of what came due. */
export function noticeOf(items: NoticeItem[], { more }: { more: number }): Notice {
  const [first] = items;
  const count = items.length + more;
  if (first === undefined || count > 1) return { version: 1, text: countText(items, count), items, more };
  return { version: 1, text: `${first.adapter_id} ${sentences[first.kind](first)}`, items, more };
}

/** Returns a notice without words of agents and clients, for a place that is not to have them. */
export function withoutContent({ items, ...notice }: Notice): Notice {
  return noticeOf(items.map((item) => ({ ...item, title: "", text: "" })), notice);
}

const sentences: Readonly<Record<NoticeKind, (item: NoticeItem) => string>> = {
  request: ({ text, title }) => text === "" ? "waits for an answer." : `${cut(text)}${of(title)}`,
  held: ({ text, title }) => `changed what can run programs${text === "" ? "." : `: ${cut(text)}${of(title)}`}`,
  ended: ({ text, title }) => `has ended${text === "" ? "." : `: ${cut(text)}${of(title)}`}`,
};

function of(title: string): string {
  return title === "" ? "" : ` (${cut(title)})`;
}

function countText(items: readonly NoticeItem[], count: number): string {
  const agents = [...new Set(items.map(({ adapter_id }) => adapter_id))];
  const named = agents.length > 4 ? `${agents.length} agents` : agents.join(", ");
  const ended = items.every(({ kind }) => kind === "ended");
  return ended ? `${count} sessions have ended: ${named}.` : `${count} things wait for you: ${named}.`;
}

function cut(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
