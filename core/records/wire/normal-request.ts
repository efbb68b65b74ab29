import { Breath } from "../../ground/platform/engine/breath.ts";
import { textOrBase64 } from "../../ground/platform/files/text-or-base64.ts";
import { ownListsInOrder } from "./own-lists.ts";
import { Digits, Fields, readSpelled, type SpelledJson } from "./spelled-json.ts";

/** A call of a model, as the program made it. */
interface MadeCall {
  method: string;
  path: string;
  body: Uint8Array;
}

/** A call without what may differ from one run to the next. */
export interface NormalCall {
  /** Method and path. */
  line: string;
  /** The body, to be shown: JSON with its keys in order, or a text. */
  body: unknown;
  /** Both as one text: the same for calls that count as the same, and for no others. */
  text: string;
}

/** Paths of a session, by the word that stands for each. */
export type SessionPlaces = Readonly<Record<string, string>>;

const month = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*";
const weekday = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*";
const time = String
  .raw`\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AP]M)?(?: ?(?:Z|UTC|GMT)?(?:[+-]\d\d:?\d\d)?(?: \([A-Z][A-Za-z ]+\))?)?`;

/**
 * Texts that may differ, by the word that stands for them. Those of one line of the table are told apart: each other one gets
 * the next number.
 */
const variables: Readonly<Record<string, string>> = {
  address: String.raw`(?:127\.0\.0\.1|localhost):\d{2,5}`,
  date: [
    String.raw`\d{4}-\d\d-\d\d(?:[T ]${time})?`,
    String.raw`(?:${weekday},? )?${month} {1,2}\d{1,2}(?:st|nd|rd|th)?,?(?: \d{4})?(?:,? ${time})?(?: \d{4})?`,
    String.raw`(?:${weekday},? )?\d{1,2} ${month} \d{4}(?:,? ${time})?`,
    String.raw`\d{1,2}/\d{1,2}/\d{4}(?:,? ${time})?`,
    String.raw`\d{1,2}:\d\d:\d\d(?:[.,]\d+)?`,
    // Seconds, milliseconds and more since 1970, of this time.
    String.raw`1[789]\d{8}(?:\d{3}){0,3}(?:\.\d+)?`,
  ].join("|"),
  duration: String.raw`\d+(?:\.\d+)? ?(?:ms|milliseconds|s|sec|secs|seconds)`,
  id: [
    "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
    // A word before a long part with digits: ses_…, toolu_…, call-….
    String.raw`[A-Za-z]{2,12}[_-](?=[A-Za-z]*\d)[A-Za-z0-9]{16,64}`,
    // Some number each output of a command so.
    String.raw`(?<=\bChunk ID: )[0-9a-f]{6}`,
    // Hex of seven digits and more has a letter and a digit, or it is a word or a number.
    String.raw`(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}`,
  ].join("|"),
};

/** Words of the groups of a pattern. */
const groupNames = ["own folder", "branch", "place", ...Object.keys(variables)];

/** Returns a call without what may differ: two calls of one text count as the same. Other work has its turn meanwhile. */
export async function normalCall({ method, path, body }: MadeCall, places: SessionPlaces): Promise<NormalCall> {
  const names = new Names(places);
  const line = `${method} ${names.in(withoutKey(path))}`;
  const read = textOrBase64(body);
  if ("base64" in read) return { line, body: read.base64, text: `${line}\nbytes ${read.base64}` };
  const value = await readSpelled(read.text, names.breath);
  const normal = value === undefined
    ? await names.inLong(read.text)
    : await names.inValue(await ownListsInOrder(value, names.breath));
  return { line, body: normal.body, text: `${line}\n${value === undefined ? "text " : ""}${normal.text}` };
}

/** A path without the parameter in which some models take their key. */
export function withoutKey(path: string): string {
  const [before = "", query] = path.split(/\?(.*)/s);
  if (query === undefined) return path;
  const kept = query.split("&").filter((part) => !part.startsWith("key="));
  return kept.length === 0 ? before : `${before}?${kept.join("&")}`;
}

/** Letters that are looked through in one turn. */
const lettersInATurn = 64 * 1024;

/** Parts a long text at ends of lines, beyond which no pattern reaches. */
function* partsOf(text: string): Generator<string, void, void> {
  for (let from = 0; from < text.length;) {
    const end = text.length - from <= lettersInATurn ? -1 : text.indexOf("\n", from + lettersInATurn);
    const to = end < 0 ? text.length : end;
    yield text.slice(from, to);
    from = to;
  }
}

/** A value without what may differ: to be shown, and as a text that no other value has. */
interface NormalValue {
  body: unknown;
  text: string;
}

/** Replaces what may differ by words; the same text gets the same word in all of a call. */
class Names {
  readonly #pattern: RegExp;
  readonly #places: ReadonlyMap<string, string>;
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly breath = new Breath();

  constructor(places: SessionPlaces) {
    const { branch, ...folders } = places;
    this.#places = new Map(Object.entries(folders).flatMap(([word, path]) => [[path, word], [dashed(path), word]]));
    // The longest first: one place may lie in another.
    const paths = [...this.#places.keys()].filter((path) => path.length > 1).sort((a, b) => b.length - a.length);
    const words = Object.values(variables).map((text) => `(${text})`).join("|");
    const place = paths.length === 0 ? "(?!)" : paths.map(literal).join("|");
    this.#pattern = new RegExp(
      `(${ownFolder(folders)})|(${branchIn(branch)})|(?:(${place})|(?<![A-Za-z0-9])(?:${words}))(?![A-Za-z0-9])`,
      "g",
    );
  }

  in(text: string): string {
    return text.replace(this.#pattern, (found: string, ...groups: unknown[]) => {
      const word = groupNames[groups.findIndex((group) => group !== undefined)] ?? "";
      if (word === "place") return `<${this.#places.get(found)}>`;
      // Times go on: which of them are the same is no part of a call.
      return word === "id" ? this.#numbered(word, found) : `<${word}>`;
    });
  }

  async inValue(value: SpelledJson): Promise<NormalValue> {
    await this.breath.take();
    if (typeof value === "string") return await this.inLong(value);
    if (value instanceof Digits) return numberOf(value.text);
    if (value instanceof Fields) return await this.#inFields(value);
    if (!Array.isArray(value)) return { body: value, text: String(value) };
    const items: NormalValue[] = [];
    for (const item of value) items.push(await this.inValue(item));
    return { body: items.map(({ body }) => body), text: `[${items.map(({ text }) => text).join(",")}]` };
  }

  async inLong(text: string): Promise<NormalValue> {
    let done = "";
    for (const part of partsOf(text)) {
      done += this.in(part);
      await this.breath.take();
    }
    return { body: done, text: JSON.stringify(done) };
  }

  /** Several fields may have one name, as dates do: each of them counts. */
  async #inFields({ entries }: Fields): Promise<NormalValue> {
    const body = new Map<string, unknown>();
    const counts = new Map<string, number>();
    const texts: string[] = [];
    for (const [name, value] of entries.toSorted(([one], [other]) => one < other ? -1 : one > other ? 1 : 0)) {
      const [normalName, normal] = [this.in(name), await this.inValue(value)];
      const count = (counts.get(normalName) ?? 0) + 1;
      counts.set(normalName, count);
      body.set(count === 1 ? normalName : `${normalName} (${count})`, normal.body);
      texts.push(`${JSON.stringify(normalName)}:${normal.text}`);
    }
    return { body: Object.fromEntries(body), text: `{${texts.join(",")}}` };
  }

  #numbered(word: string, found: string): string {
    const known = this.#known.get(found);
    if (known !== undefined) return known;
    const number = (this.#counts.get(word) ?? 0) + 1;
    this.#counts.set(word, number);
    const name = `<${word} ${number}>`;
    this.#known.set(found, name);
    return name;
  }
}

/** A folder below the home that an agent keeps for the project, by its name and perhaps a number. */
function ownFolder({ home, workdir }: SessionPlaces): string {
  const name = workdir?.replace(/.*\//, "");
  if (home === undefined || !name) return "(?!)";
  return String.raw`${literal(home)}/\.[\w.-]+/(?:[\w-]+/){0,3}${literal(name)}(?:-\d+)?(?![\w.-])`;
}

/** Words about the branch that is checked out: a worktree has none. */
function branchIn(branch: string | undefined): string {
  const name = branch === undefined ? "HEAD" : `(?:HEAD|${literal(branch)})`;
  const detached = String.raw`HEAD detached (?:at|from) [0-9a-f]{7,40}|Not currently on any branch\.`;
  return String
    .raw`(?:[Oo]n branch |[Bb]ranch: )${name}(?![\w/.-])|${detached}|\[(?:detached HEAD|${name}) (?=[0-9a-f]{7})`;
}

/** A number that JavaScript would write in another way is one of its own. */
function numberOf(digits: string): NormalValue {
  const value = Number(digits);
  if (isTime(value)) return { body: "<date>", text: "<date>" };
  return { body: String(value) === digits ? value : digits, text: digits };
}

function isTime(value: number): boolean {
  return value >= 1.7e9 && value < 2e9 || value >= 1.7e12 && value < 2e12;
}

/** How some programs name a folder of their own for a project. */
export function dashed(path: string): string {
  return path.replace(/[^A-Za-z0-9]/g, "-");
}

/** A text as a pattern. */
export function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
