import { Breath } from "../../ground/platform/engine/breath.ts";
import { rewriteAnswer } from "./event-streams.ts";
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

/** Letters that are looked through at once. */
const lettersAtOnce = 64 * 1024;

/**
 * Returns a recorded answer with the paths of this session: what a model said about files is about those of the worktree. A path
 * may be spread over several events. Other work has its turn meanwhile.
 */
export async function movedAnswer(text: string, moves: PathMoves | null): Promise<string> {
  if (moves === null) return text;
  const work = { moves, breath: new Breath() };
  const rewrite = {
    stream: (texts: readonly string[]) => moveAlong(texts, work),
    text: (part: string) => movedText(part, work),
  };
  return await rewriteAnswer(text, rewrite, work.breath);
}

interface Work {
  moves: PathMoves;
  breath: Breath;
}

/** Moves the paths in a text that several parts make together: each comes whole, where it begins. */
async function moveAlong(texts: readonly string[], work: Work): Promise<string[] | null> {
  const found = await pathsIn(texts.join(""), work);
  if (found.length === 0) return null;
  const moved: string[] = [];
  let next = 0;
  let at = 0;
  for (const text of texts) {
    const end = at + text.length;
    let [kept, last] = ["", at];
    for (let path = found[next]; path !== undefined && path.at < end; path = found[next]) {
      if (path.at >= at) kept += text.slice(last - at, path.at - at) + path.moved;
      last = Math.min(path.end, end);
      if (path.end > end) break;
      next++;
    }
    moved.push(kept + text.slice(last - at));
    at = end;
    await work.breath.take();
  }
  return moved;
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
