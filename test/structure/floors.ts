import { type Link, linksOf, listFiles } from "./source.ts";

/** A folder of core, and its rooms from the roof down. */
export interface Wing {
  name: string;
  rows: readonly (readonly string[])[];
}

/**
 * The wings from the roof down; `mod.ts` stands beside them as a file. A room imports from lower wings, and from lower
 * rows in its own. Wings of one floor and rooms of one row are blind to each other, but for types, which vanish on
 * compiling.
 */
export const floors: readonly (readonly Wing[])[] = [
  [
    { name: "doors", rows: [["cli"], ["daemon"], ["http", "mcp", "acp", "client", "console"]] },
  ],
  [
    { name: "cluster", rows: [["machines"], ["log"], ["engine"]] },
  ],
  [
    { name: "kit", rows: [["attack", "conformance", "author"]] },
  ],
  [
    { name: "mod.ts", rows: [["mod.ts"]] },
  ],
  [
    { name: "sessions", rows: [["host"], ["session"], ["routing"]] },
  ],
  [
    { name: "packages", rows: [["install"], ["registry"], ["permissions", "bundler"], ["manifest"]] },
    { name: "walls", rows: [["pool"], ["worker", "warden", "broker", "secrets"], ["agent", "channel"]] },
    { name: "records", rows: [["history"], ["journal", "workspace"], ["git"], ["gate"]] },
  ],
  [
    { name: "ground", rows: [["recorded"], ["config"], ["checks"], ["platform"], ["errors", "log", "prompt"]] },
  ],
];

/** The attacks: data that tests and the package share, and that stand in the house as the room of what runs them. */
export const corpus = "test/hostile/cases";

/** One import that breaks the floors: a sentence. */
export type Breach = string;

/**
 * Room of a file: `core/sessions/host/host.ts` is in `host`, `core/mod.ts` is itself, `plugin-sdk/…` is `plugin-sdk`.
 */
export function roomOf(path: string): string {
  const [top = "", second = "", third = ""] = path.split("/");
  if (path.startsWith(`${corpus}/`)) return "attack";
  if (top !== "core") return top;
  return path.split("/").length > 3 ? third : second;
}

/** Where a file of core stands: indexes from the roof, in the house and in its wing. */
export interface Level {
  wing: string;
  floor: number;
  row: number;
}

/** Null for a room that no wing has, or that stands in another wing. */
export function levelOf(path: string): Level | null {
  const wing = path.startsWith(`${corpus}/`) ? "kit" : path.split("/")[1] ?? "";
  const room = roomOf(path);
  for (const [floor, names] of floors.entries()) {
    const row = names.find(({ name }) => name === wing)?.rows.findIndex((rooms) => rooms.includes(room)) ?? -1;
    if (row !== -1) return { wing, floor, row };
  }
  return null;
}

/** All imports of one core or SDK file that do not go down. */
export function breachesOf(path: string, links: readonly Link[]): Breach[] {
  return links.flatMap((link) => {
    const why = whyNot(path, link);
    return why === null ? [] : [`${path}:${link.line} ${link.kind} "${link.specifier}": ${why}`];
  });
}

function whyNot(path: string, link: Link): string | null {
  const room = roomOf(path);
  if (link.target === null) return foreign(room, link);
  const target = roomOf(link.target);
  if (target === room) return null;
  // A URL loads nothing here: a file of data, or code that runs elsewhere.
  if (link.kind === "url" && (target === "worker" || target === "warden" || !link.target.startsWith("core/"))) {
    return null;
  }
  if (!/^(?:core|plugin-sdk)\//.test(link.target) && levelOf(link.target) === null) {
    return "it leaves core and plugin-sdk";
  }
  if (room === "plugin-sdk") return "plugin-sdk is the ground floor";
  if (room === "client") {
    return target === "plugin-sdk" && link.kind === "type" ? null : "the client imports types of plugin-sdk only";
  }
  if (target === "plugin-sdk") return null;
  return whyNotBetween(path, link.target, link.kind);
}

function whyNotBetween(path: string, target: string, kind: Link["kind"]): string | null {
  const from = levelOf(path);
  const to = levelOf(target);
  if (from === null) return `"${path}" stands in no room of a wing`;
  if (to === null) return `"${target}" stands in no room of a wing`;
  const down = from.wing === to.wing ? to.row - from.row : to.floor - from.floor;
  if (down > 0) return null;
  if (down < 0) return `${roomOf(target)} is above ${roomOf(path)}`;
  return kind === "type" ? null : `${roomOf(path)} and ${roomOf(target)} are on one floor and do not see each other`;
}

function foreign(room: string, link: Link): string | null {
  if (room === "client") return "the client imports types of plugin-sdk and nothing else";
  if (room === "plugin-sdk" && !/^@sinclair\/typebox(\/|$)/.test(link.specifier)) {
    return "plugin-sdk imports only TypeBox";
  }
  return link.specifier.startsWith("bulkhead") ? "core names its files, not the package" : null;
}

/** Circles of files that name one another, types and later imports counted; each as the list of its files. */
export function circlesIn(links: ReadonlyMap<string, readonly Link[]>): string[][] {
  const circles: string[][] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: string[]): void => {
    const at = trail.indexOf(path);
    if (at !== -1) {
      circles.push(trail.slice(at));
      return;
    }
    if (done.has(path)) return;
    for (const link of links.get(path) ?? []) {
      if (link.kind !== "url" && link.target !== null) visit(link.target, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of links.keys()) visit(path, []);
  return circles;
}

/** Links of every file of these folders. */
export function linkMap(...folders: string[]): Map<string, Link[]> {
  return new Map(folders.flatMap((folder) => listFiles(folder)).map((path) => [path, linksOf(path)]));
}
