import { isShallow } from "../../ground/checks/depth.ts";
import { Breath } from "../../ground/platform/engine/breath.ts";
import { dashed, literal, type SessionPlaces } from "./normal-request.ts";

/** Replaces paths of one session by those of another one. */
export interface PathMoves {
  pattern: RegExp;
  to: ReadonlyMap<string, string>;
  /** Letters of the longest path. */
  longest: number;
}

/** Returns the moves from the paths of one session to those of another one; null where they are the same. */
export function movesBetween(recorded: SessionPlaces, now: SessionPlaces): PathMoves | null {
  const pairs = Object.entries(recorded).flatMap(([word, from]): [string, string][] => {
    const to = now[word];
    if (word === "branch" || to === undefined || from === to || from.length < 2) return [];
    return [[from, to], [dashed(from), dashed(to)]];
  });
  if (pairs.length === 0) return null;
  const longestFirst = pairs.map(([from]) => from).sort((a, b) => b.length - a.length);
  return {
    pattern: new RegExp(`(?:${longestFirst.map(literal).join("|")})(?![\\w-])`, "g"),
    to: new Map(pairs),
    longest: longestFirst[0]!.length,
  };
}

/** Letters that are looked through at once; an event of more is read as a text. */
const lettersAtOnce = 64 * 1024;

/** Events of one answer that are read as streams. */
const mostEvents = 200_000;

/** Nesting of an event. */
const maxDepth = 128;

/**
 * Returns a recorded answer with the paths of this session: what a model said about files is about those of the worktree. In
 * a stream of events a path may be spread over several; not so in an event of over 64 KiB, or behind the first 200,000.
 * Other work has its turn meanwhile.
 */
export async function movedAnswer(text: string, moves: PathMoves | null): Promise<string> {
  if (moves === null) return text;
  const work = { moves, breath: new Breath() };
  const events: ReadEvent[] = [];
  const streams = new Map<string, Leaf[]>();
  for (const { from, to } of dataLines(text)) {
    if (events.length === mostEvents) break;
    const event = { from, to, fields: fieldsIn(text.slice(from, to)), isChanged: false };
    events.push(event);
    if (event.fields !== null) {
      collect(event.fields, { streams, name: "", onChange: () => event.isChanged = true });
    }
    await work.breath.take();
  }
  for (const leaves of streams.values()) await moveAlong(leaves, work);
  let moved = "";
  let at = 0;
  for (const { from, to, fields, isChanged } of events) {
    if (fields !== null && !isChanged) continue;
    moved += text.slice(at, from) +
      (fields === null ? await movedText(text.slice(from, to), work) : JSON.stringify(fields));
    at = to;
    await work.breath.take();
  }
  const isRead = events.length > 0 && events.length < mostEvents;
  return moved + (isRead ? text.slice(at) : await movedText(text.slice(at), work));
}

interface Work {
  moves: PathMoves;
  breath: Breath;
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

/** Finds the lines of data that hold an object each. */
function* dataLines(text: string): Generator<{ from: number; to: number }, void, void> {
  const start = /^data: ?(?=\{)/gm;
  for (let found = start.exec(text); found !== null; found = start.exec(text)) {
    const from = start.lastIndex;
    const end = text.indexOf("\n", from);
    const to = end < 0 ? text.length : end;
    yield { from, to: text[to - 1] === "\r" ? to - 1 : to };
    start.lastIndex = to;
  }
}

function fieldsIn(json: string): Fields | null {
  if (json.length > lettersAtOnce) return null;
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

/** Moves the paths in a text that several events make together: each comes whole, where it begins. */
async function moveAlong(leaves: readonly Leaf[], work: Work): Promise<void> {
  const texts = leaves.map(({ holder, name }) => String(holder[name]));
  const found = await pathsIn(texts.join(""), work);
  let next = 0;
  let at = 0;
  for (const [index, { holder, name, onChange }] of leaves.entries()) {
    if (next === found.length) return;
    const text = texts[index]!;
    const end = at + text.length;
    let [kept, last] = ["", at];
    for (let path = found[next]; path !== undefined && path.at < end; path = found[next]) {
      if (path.at >= at) kept += text.slice(last - at, path.at - at) + path.moved;
      last = Math.min(path.end, end);
      if (path.end > end) break;
      next++;
    }
    kept += text.slice(last - at);
    if (kept !== text) {
      holder[name] = kept;
      onChange();
    }
    at = end;
    await work.breath.take();
  }
}

async function movedText(text: string, work: Work): Promise<string> {
  let moved = "";
  let last = 0;
  for (const { at, end, moved: path } of await pathsIn(text, work)) {
    moved += text.slice(last, at) + path;
    last = end;
    await work.breath.take();
  }
  return moved + text.slice(last);
}

interface FoundPath {
  at: number;
  end: number;
  /** The path that stands there now. */
  moved: string;
}

/** Finds the paths in a text, window by window. */
async function pathsIn(text: string, { moves: { pattern, to, longest }, breath }: Work): Promise<FoundPath[]> {
  const found: FoundPath[] = [];
  for (let from = 0; from < text.length;) {
    const next = from + lettersAtOnce;
    let end = next;
    // A path that begins in this window is seen whole, and the letter behind it.
    for (const { 0: path, index } of text.slice(from, next + longest + 1).matchAll(pattern)) {
      if (from + index >= next) break;
      end = from + index + path.length;
      found.push({ at: from + index, end, moved: to.get(path) ?? path });
    }
    from = Math.max(next, end);
    await breath.take();
  }
  return found;
}
