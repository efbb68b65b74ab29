import { type Link, linksOf, listFiles } from "./source.ts";

/** The attacks: data that tests and the package share, and that stand in the house as the room of what runs them. */
export const corpus = "test/hostile/cases";

/**
 * The floors from the roof down. On a floor stand wings, in a wing rows of rooms: a room imports from lower floors, and
 * from lower rows of its wing. Rooms beside each other share types, which vanish on compiling, and nothing else.
 */
const house = [
  { doors: "cli / daemon / http mcp acp client console" },
  { cluster: "machines / log / engine" },
  { kit: "attack conformance author" },
  { "mod.ts": "mod.ts" },
  { sessions: "host / session / routing" },
  {
    packages: "install / registry / permissions bundler / manifest",
    walls: "pool / worker warden broker secrets / agent channel",
    records: "history telemetry / journal workspace / checkpoints / git / gate wire",
  },
  { ground: "recorded / config / checks / platform / errors log prompt" },
  { "plugin-sdk": "plugin-sdk" },
];

/** Where each `wing/room` stands: the wing, its floor, and its row there. */
const levels = new Map<string, { wing: string; floor: number; row: number }>(
  house.flatMap((wings, floor) =>
    Object.entries(wings).flatMap(([wing, rows]) =>
      rows.split(" / ").flatMap((rooms, row) =>
        rooms.split(" ").map((room) => [`${wing}/${room}`, { wing, floor, row }] as const)
      )
    )
  ),
);

/** The wing of a file and its room there: a file of core that stands in no room is its own, the SDK is one room. */
function placeOf(path: string): string {
  if (path.startsWith(`${corpus}/`)) return "kit/attack";
  const [top = "", wing = "", ...rest] = path.split("/");
  if (top !== "core") return `${top}/${top}`;
  return `${wing}/${rest.length > 1 ? rest[0] : wing}`;
}

/** Room of a file: that of `core/sessions/host/host.ts` is `host`, that of `plugin-sdk/events.ts` is `plugin-sdk`. */
export function roomOf(path: string): string {
  return placeOf(path).split("/")[1] as string;
}

/** Null for a file that stands in no room, or in a room of another wing. */
export function levelOf(path: string): { wing: string; floor: number; row: number } | null {
  return levels.get(placeOf(path)) ?? null;
}

/** All imports of one file of core or the SDK that do not go down: a sentence for each. */
export function breachesOf(path: string, links: readonly Link[]): string[] {
  return links.flatMap((link) => {
    const why = whyNot(path, link);
    return why === null ? [] : [`${path}:${link.line} ${link.kind} "${link.specifier}": ${why}`];
  });
}

function whyNot(path: string, { target, kind, specifier }: Link): string | null {
  const room = roomOf(path);
  const to = target === null ? "" : roomOf(target);
  if (room === "client" && to !== room && !(to === "plugin-sdk" && kind === "type")) {
    return "the client imports types of the SDK and nothing else";
  }
  if (target === null) {
    if (room === "plugin-sdk" && !/^@sinclair\/typebox(\/|$)/.test(specifier)) return "plugin-sdk imports only TypeBox";
    return specifier.startsWith("bulkhead") ? "core names its files, not the package" : null;
  }
  // A URL loads nothing here: a file of data, or code that runs elsewhere.
  if (kind === "url" && (to === "worker" || to === "warden" || !target.startsWith("core/"))) return null;
  return placeOf(path) === placeOf(target) ? null : whyNotBetween(path, target, kind);
}

function whyNotBetween(path: string, target: string, kind: Link["kind"]): string | null {
  const [from, to] = [levelOf(path), levelOf(target)];
  if (from === null || to === null) return `"${from === null ? path : target}" stands in no room of a wing`;
  const down = from.wing === to.wing ? to.row - from.row : to.floor - from.floor;
  if (down > 0 || (down === 0 && kind === "type")) return null;
  return `${roomOf(target)} is ${down < 0 ? "above" : "beside"} ${roomOf(path)}`;
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
