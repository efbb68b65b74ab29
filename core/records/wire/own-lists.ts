import type { Breath } from "../../ground/platform/engine/breath.ts";
import { Fields, type SpelledJson } from "./spelled-json.ts";

/** Fields of a call in which a program says what it is and can do; what was said and done stands in others. */
const ownFields = new Set(["system", "systemInstruction", "system_instruction", "instructions", "tools"]);

/**
 * Puts lists in order that a program makes of what it finds in folders, in whatever order it finds it: in its own fields
 * alone, the values that a tool takes (`enum`), quoted names in a row, and neighbours of one tag on lines of their own.
 * Returns another value where it changed something.
 */
export async function ownListsInOrder(call: SpelledJson, breath: Breath): Promise<SpelledJson> {
  if (!(call instanceof Fields)) return call;
  const ordered = new Fields();
  for (const [name, value] of call.entries) {
    ordered.entries.push([name, ownFields.has(name) ? await inOrder(value, breath) : value]);
  }
  return ordered;
}

async function inOrder(value: SpelledJson, breath: Breath): Promise<SpelledJson> {
  await breath.take();
  if (typeof value === "string") return namesInOrder(tagsInOrder(value));
  if (Array.isArray(value)) {
    const items: SpelledJson[] = [];
    for (const item of value) items.push(await inOrder(item, breath));
    return items;
  }
  if (!(value instanceof Fields)) return value;
  const fields = new Fields();
  for (const [name, held] of value.entries) {
    const isSet = name === "enum" && Array.isArray(held) && held.every((one) => typeof one === "string");
    fields.entries.push([name, isSet ? held.toSorted() : await inOrder(held, breath)]);
  }
  return fields;
}

function namesInOrder(text: string): string {
  return text.replace(/'[\w.-]+'(?:, '[\w.-]+')+/g, (names) => names.split(", ").toSorted().join(", "));
}

function tagsInOrder(text: string): string {
  if (!text.includes("</")) return text;
  const lines = text.split("\n");
  const ends = endsOfTags(lines);
  const done: string[] = [];
  for (let at = 0; at < lines.length;) {
    const entries: [from: number, to: number][] = [];
    let after = at;
    for (let end; lines[after] === lines[at] && (end = ends.get(after)) !== undefined; after = end + 1) {
      entries.push([after, end + 1]);
    }
    // One alone has no order; there may be a list in it.
    if (entries.length > 1) done.push(...entries.map(([from, to]) => lines.slice(from, to).join("\n")).toSorted());
    else done.push(...lines.slice(at, after = at + 1));
    at = after;
  }
  return done.join("\n");
}

/** The line at which each tag ends that has lines of its own, by the line at which it begins. */
function endsOfTags(lines: readonly string[]): Map<number, number> {
  const ends = new Map<number, number>();
  const next = new Map<string, number>();
  for (let at = lines.length - 1; at >= 0; at--) {
    const [, blanks = "", slash, name] = /^([ \t]*)<(\/?)([\w-]+)>$/.exec(lines[at] ?? "") ?? [];
    if (name === undefined) continue;
    if (slash) next.set(blanks + name, at);
    else {
      const end = next.get(blanks + name);
      if (end !== undefined) ends.set(at, end);
    }
  }
  return ends;
}
