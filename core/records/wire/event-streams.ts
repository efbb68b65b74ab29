import { isShallow } from "../../ground/checks/depth.ts";
import type { Breath } from "../../ground/platform/engine/breath.ts";

/** Events of one answer that are read as streams, letters of one such event, and its nesting. */
const mostEvents = 200_000;
const longestEvent = 64 * 1024;
const maxDepth = 128;

/** Changes the texts of an answer. */
interface Rewrite {
  /** Changes the texts of one stream, which together make one; null to leave them as they are. */
  stream(texts: readonly string[]): Promise<readonly string[] | null>;
  /** Changes a part of the answer that is read as a text: one without events, and an event that is too long. */
  text(part: string): Promise<string>;
  /** Called where texts of some events are not given: there are too many, or one is no JSON although it came to its end. */
  unread?(): void;
}

/**
 * Rewrites an answer of a model. What a model says is spread over many events: the texts of those that go on with one another
 * are given together. An event stays as it is, letter by letter, where no text of it changes.
 */
export async function rewriteAnswer(text: string, rewrite: Rewrite, breath: Breath): Promise<string> {
  const events: ReadEvent[] = [];
  const streams = new Map<string, Leaf[]>();
  for (const { from, to } of dataLines(text)) {
    if (events.length === mostEvents) break;
    const event = { from, to, fields: fieldsIn(text.slice(from, to)), isChanged: false };
    events.push(event);
    if (event.fields !== null) collect(event.fields, { streams, name: "", onChange: () => event.isChanged = true });
    await breath.take();
  }
  for (const leaves of streams.values()) await rewriteStream(leaves, { rewrite, breath });
  let written = "";
  let at = 0;
  for (const { from, to, fields, isChanged } of events) {
    if (fields !== null && !isChanged) continue;
    const event = fields === null ? await rewrite.text(text.slice(from, to)) : JSON.stringify(fields);
    written += text.slice(at, from) + event;
    at = to;
    await breath.take();
  }
  const isRead = events.length > 0 && events.length < mostEvents;
  if (events.length === mostEvents || events.some((event) => isBroken(event, text))) rewrite.unread?.();
  return written + (isRead ? text.slice(at) : await rewrite.text(text.slice(at)));
}

type Fields = Record<string, unknown>;

/** The data of one event, and where they stand in the answer. */
interface ReadEvent {
  from: number;
  to: number;
  /** Null for data that are read as a text. */
  fields: Fields | null;
  isChanged: boolean;
}

/** One text in an event. */
interface Leaf {
  holder: Fields;
  name: string;
  onChange(): void;
}

function isBroken({ from, to, fields }: ReadEvent, text: string): boolean {
  return fields === null && to - from <= longestEvent && to < text.length;
}

/** Finds the lines of data that hold an object each. */
export function* dataLines(text: string): Generator<{ from: number; to: number }, void, void> {
  const start = /^data: ?(?=\{)/gm;
  const end = /[\r\n]|$/g;
  for (let found = start.exec(text); found !== null; found = start.exec(text)) {
    const from = end.lastIndex = start.lastIndex;
    const to = end.exec(text)?.index ?? text.length;
    yield { from, to };
    start.lastIndex = to;
  }
}

function fieldsIn(json: string): Fields | null {
  if (json.length > longestEvent) return null;
  try {
    const fields = JSON.parse(json) as Fields;
    return isShallow(fields, maxDepth) ? fields : null;
  } catch {
    return null;
  }
}

/** Fields that tell the streams of one answer apart. */
const streamNames = /^(?:type|item_id|(?:\w+_)?index)$/;

/** Collects the texts of an event, by the stream that each goes on. */
function collect(
  holder: Fields,
  { streams, name, onChange }: { streams: Map<string, Leaf[]>; name: string; onChange(): void },
): void {
  const own = Array.isArray(holder)
    ? []
    : Object.entries(holder).filter(([key, value]) => streamNames.test(key) && typeof value !== "object");
  const stream = `${name}${own.length === 0 ? "" : JSON.stringify(own)}`;
  for (const [key, value] of Object.entries(holder)) {
    const below = `${stream}.${key}`;
    if (typeof value === "object" && value !== null) collect(value as Fields, { streams, name: below, onChange });
    if (typeof value !== "string") continue;
    const leaves = streams.get(below) ?? [];
    leaves.push({ holder, name: key, onChange });
    streams.set(below, leaves);
  }
}

async function rewriteStream(
  leaves: readonly Leaf[],
  { rewrite, breath }: { rewrite: Rewrite; breath: Breath },
): Promise<void> {
  const texts = leaves.map(({ holder, name }) => String(holder[name]));
  const written = await rewrite.stream(texts);
  if (written === null) return await breath.take();
  for (const [index, { holder, name, onChange }] of leaves.entries()) {
    if (written[index] !== texts[index]) {
      holder[name] = written[index];
      onChange();
    }
    await breath.take();
  }
}
