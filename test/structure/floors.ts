import { type Link, linksOf, listFiles } from "./source.ts";

/**
 * The rooms from the roof down. A room imports rooms of lower rows only. Rooms of one row are blind to each other,
 * but for types, which vanish on compiling.
 */
export const floors: readonly (readonly string[])[] = [
  ["cli"],
  ["attack", "conformance", "author"],
  ["mod.ts"],
  ["daemon"],
  ["http", "mcp", "acp", "client"],
  ["host"],
  ["session"],
  ["routing"],
  ["pool", "install"],
  ["worker", "warden", "registry", "broker", "secrets", "journal", "workspace"],
  ["git"],
  ["channel"],
  ["config"],
  ["runtime"],
  ["errors", "log", "prompt"],
];

/** One import that breaks the floors: a sentence. */
export type Breach = string;

/** Room of a file: `core/host/host.ts` is in `host`, `core/mod.ts` is itself, `plugin-sdk/…` is `plugin-sdk`. */
export function roomOf(path: string): string {
  const [top, second] = path.split("/");
  return top === "core" ? second ?? "" : top ?? "";
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
  if (!link.target.startsWith("core/") && target !== "plugin-sdk") return "it leaves core and plugin-sdk";
  if (room === "plugin-sdk") return "plugin-sdk is the ground floor";
  if (room === "client") {
    return target === "plugin-sdk" && link.kind === "type" ? null : "the client imports types of plugin-sdk only";
  }
  if (target === "plugin-sdk") return null;
  const from = floorOf(room);
  const to = floorOf(target);
  if (from === -1) return `room "${room}" stands on no floor`;
  if (to === -1) return `room "${target}" stands on no floor`;
  if (to > from) return null;
  if (to === from) {
    return link.kind === "type" ? null : `${room} and ${target} are on one floor and do not see each other`;
  }
  return `${target} is above ${room}`;
}

function foreign(room: string, link: Link): string | null {
  if (room === "client") return "the client imports types of plugin-sdk and nothing else";
  if (room === "plugin-sdk" && !/^@sinclair\/typebox(\/|$)/.test(link.specifier)) {
    return "plugin-sdk imports only TypeBox";
  }
  return link.specifier.startsWith("bulkhead") ? "core names its files, not the package" : null;
}

function floorOf(room: string): number {
  return floors.findIndex((rooms) => rooms.includes(room));
}

/** Circles of files through links that load something when the module does; each as the list of its files. */
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
      if (link.kind === "value" && link.target !== null) visit(link.target, [...trail, path]);
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
