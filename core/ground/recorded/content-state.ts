import { digestFile } from "../platform/files/file-digest.ts";
import { markOfFile } from "../platform/files/file-mark.ts";
import { lstat, readdir, readFile } from "../platform/files/files.ts";
import { sha256Hex } from "../platform/files/hash.ts";
import { join } from "../platform/files/paths.ts";
import type { Road } from "./places-on-the-way.ts";

/** Content of a path: what is compared, shown and accepted. */
export interface Content {
  /** `sha256:` and hex digits, or {@link absent}. */
  digest: string;
  /** Text of a small file; absent for others. */
  text?: string;
  /** Digest of each file of a folder, by its path; absent for a file. */
  files?: Record<string, string>;
}

/** Digest of a path where nothing is. */
export const absent = "absent";

/** Times of a path and of all below it. Milliseconds since 1970. */
interface ContentTimes {
  /** When one of them changed last. No program can set it. */
  changed: number;
  /** When the oldest of them was made. No program can set that either. */
  made: number;
}

/** A look at a path, without reading a file. */
export interface ContentLook {
  /** Text that changes with the content; null where a change may not have shown yet. */
  mark: string | null;
  times: ContentTimes;
}

/** Bytes of a text that is kept to show what changed. */
const mostTextBytes = 64 * 1024;

/** A file that is larger counts by its size and times alone. */
const mostFileBytes = 64 * 1024 * 1024;

/** Entries of a folder that are looked at one by one; one with more is compared by the names of its first. */
const mostEntries = 50_000;

/** Looks at so many entries at once. */
const atOnce = 64;

/** Looks at identity, size and times of the links to a place, of the place, and of everything below it. */
export async function lookAt({ places }: Pick<Road, "places">): Promise<ContentLook> {
  const before = Date.now();
  const own = await Promise.all(places.map((place) => entryAt(place, place)));
  const found = own.at(-1)!.info?.isDirectory() ? [...own, ...await entriesBelow(places.at(-1)!)] : own;
  const marks = found.map(({ name, info }) => {
    const mark = info === null ? absent : markOfFile(info, { before });
    return mark === null ? null : `${name} ${mark}`;
  });
  const infos = found.flatMap(({ info }) => info === null ? [] : [info]);
  return {
    mark: marks.includes(null) ? null : sha256Hex(marks.join("\n")),
    times: {
      changed: infos.reduce((latest, { ctimeMs }) => Math.max(latest, ctimeMs), 0),
      made: infos.reduce((first, { birthtimeMs }) => Math.min(first, birthtimeMs), Infinity),
    },
  };
}

/**
 * Reads what stands at the end of a road now. A road of links has a digest of its own, which changes with them.
 * @param options.sha256 digest of the file's bytes as the caller has read them, instead of another read
 */
export async function readContent(
  { places }: Pick<Road, "places">,
  { sha256 }: { sha256?: string | undefined } = {},
): Promise<Content> {
  const place = places.at(-1)!;
  const content = await contentAt(place, sha256);
  if (places.length === 1 || content.digest === absent) return content;
  return { ...content, digest: digestOf(JSON.stringify([...places, content.digest])) };
}

async function contentAt(place: string, sha256: string | undefined): Promise<Content> {
  const info = await lstat(place).catch(() => null);
  if (info === null) return { digest: absent };
  if (info.isDirectory()) {
    const files = await digestsBelow(place);
    return { digest: digestOf(JSON.stringify(Object.entries(files))), files };
  }
  const own = sha256 ?? (await digestFile(place, { maxBytes: mostFileBytes }))?.sha256;
  const digest = own === undefined || own === null
    ? digestOf(`${info.ino} ${info.size} ${info.ctimeMs}`)
    : `sha256:${own}`;
  if (!info.isFile() || info.size > mostTextBytes) return { digest };
  const text = await readFile(place, "utf8").catch(() => undefined);
  return text === undefined ? { digest } : { digest, text };
}

async function digestsBelow(folder: string): Promise<Record<string, string>> {
  const found = await entriesBelow(folder);
  const all = await inTurns(found, async ({ name, info }): Promise<[string, string] | null> => {
    if (info === null || info.isDirectory()) return null;
    const digest = await digestFile(join(folder, name), { maxBytes: mostFileBytes });
    return [name, digest?.sha256 ?? `${info.ino} ${info.size} ${info.ctimeMs}`];
  });
  return Object.fromEntries(all.filter((one) => one !== null).sort(([a], [b]) => a < b ? -1 : 1));
}

type Stats = Awaited<ReturnType<typeof statsOf>>;

async function statsOf(path: string) {
  return await lstat(path);
}

interface Entry {
  /** Path below the folder that was asked for. */
  name: string;
  /** Null where nothing is. */
  info: Stats | null;
}

async function entryAt(path: string, name: string): Promise<Entry> {
  return { name, info: await statsOf(path).catch(() => null) };
}

/** All entries below a folder but those of a `.git`, links not followed; none for anything else. */
async function entriesBelow(folder: string): Promise<Entry[]> {
  const all: Entry[] = [];
  let open = [""];
  while (open.length > 0 && all.length < mostEntries) {
    const listed = await inTurns(open, async (below) => {
      const names = await readdir(join(folder, below)).catch(() => []);
      return names.filter((name) => name !== ".git").sort().map((name) => below === "" ? name : `${below}/${name}`);
    });
    const entries = await inTurns(listed.flat(), (name) => entryAt(join(folder, name), name));
    all.push(...entries);
    open = entries.flatMap(({ name, info }) => info?.isDirectory() ? [name] : []);
  }
  return all;
}

async function inTurns<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += atOnce) {
    results.push(...await Promise.all(items.slice(from, from + atOnce).map(act)));
  }
  return results;
}

function digestOf(text: string): string {
  return `sha256:${sha256Hex(text)}`;
}
