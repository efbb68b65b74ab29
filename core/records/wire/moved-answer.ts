import { dashed, literal, type SessionPlaces } from "./normal-request.ts";

/** Replaces paths of one session by those of another one. */
export interface PathMoves {
  pattern: RegExp;
  to: ReadonlyMap<string, string>;
}

/** Returns the moves from the paths of one session to those of another one; null where they are the same. */
export function movesBetween(recorded: SessionPlaces, now: SessionPlaces): PathMoves | null {
  const pairs = Object.entries(recorded).flatMap(([word, from]): [string, string][] => {
    const to = now[word];
    if (word === "branch" || to === undefined || from === to || from.length < 2) return [];
    return [[from, to], [dashed(from), dashed(to)]];
  });
  if (pairs.length === 0) return null;
  const longestFirst = pairs.map(([from]) => literal(from)).sort((a, b) => b.length - a.length);
  return { pattern: new RegExp(`(?:${longestFirst.join("|")})(?![\\w-])`, "g"), to: new Map(pairs) };
}

/**
 * Returns a recorded answer with the paths of this session: what a model said about files is about those of the worktree. In
 * a stream of events a path may be spread over several.
 */
export function movedAnswer(text: string, moves: PathMoves | null): string {
  if (moves === null) return text;
  const lines = text.split("\n").map((line) => ({ line, event: eventOf(line), isChanged: false }));
  if (lines.every(({ event }) => event === null)) {
    return text.replace(moves.pattern, (from) => moves.to.get(from) ?? from);
  }
  const streams = new Map<string, Leaf[]>();
  for (const one of lines) {
    if (one.event !== null) collect(one.event, { streams, name: "", onChange: () => one.isChanged = true });
  }
  for (const leaves of streams.values()) moveAlong(leaves, moves);
  return lines.map(({ line, event, isChanged }) => isChanged ? `data: ${JSON.stringify(event)}` : line).join("\n");
}

type Fields = Record<string, unknown>;

/** One text in an event. */
interface Leaf {
  holder: Fields;
  name: string;
  onChange(): void;
}

function eventOf(line: string): Fields | null {
  const [, json] = /^data: ?(\{.*\})\s*$/.exec(line) ?? [];
  try {
    return json === undefined ? null : JSON.parse(json) as Fields;
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
  const own = Object.entries(holder).filter(([key, value]) => streamNames.test(key) && typeof value !== "object");
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
function moveAlong(leaves: readonly Leaf[], { pattern, to }: PathMoves): void {
  const texts = leaves.map(({ holder, name }) => String(holder[name]));
  const starts = [...texts.join("").matchAll(pattern)].map((match) => ({ at: match.index, from: match[0] }));
  if (starts.length === 0) return;
  let at = 0;
  leaves.forEach(({ holder, name, onChange }, index) => {
    const text = texts[index]!;
    let [kept, next] = ["", at];
    for (const { at: start, from } of starts) {
      if (start + from.length <= at || start >= at + text.length) continue;
      kept += text.slice(next - at, Math.max(start - at, next - at));
      if (start >= at) kept += to.get(from) ?? from;
      next = Math.min(start + from.length, at + text.length);
    }
    kept += text.slice(next - at);
    if (kept !== text) {
      holder[name] = kept;
      onChange();
    }
    at += text.length;
  });
}
