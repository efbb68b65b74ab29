import type { ExplainedPermission, ProgramWalls } from "../../../../plugin-sdk/plugin-report.ts";
import { withoutWalls } from "../../../packages/permissions/broad-run.ts";
import { safeLine } from "./agent-text.ts";
import type { Paint } from "./paint.ts";
import { wrapText } from "./text-width.ts";

/** Options of {@link wallLines}. */
export interface WallLineOptions {
  paint: Paint;
  columns: number;
}

/** Says where programs may write, whom they may call and which keys they see; those with the same walls together. */
export function wallLines(programs: readonly ProgramWalls[], { paint, columns }: WallLineOptions): string[] {
  return alike(programs).flatMap(({ walls, names }) => [
    `${paint("bold", names.join(", "))} ${names.length === 1 ? "runs" : "run"} ${headlines[walls.contained]}`,
    ...factLines(facts(walls), { paint, columns, indent: 2 }),
  ]);
}

/** The same in short, below the permissions that a person decides on: nothing of programs that have all your rights. */
export function briefWallLines(programs: readonly ProgramWalls[], { paint, columns }: WallLineOptions): string[] {
  return alike(programs.filter(({ contained }) => contained !== "none")).flatMap(({ walls, names }) => [
    `    ${names.join(", ")} then ${names.length === 1 ? "runs" : "run"} ${headlines[walls.contained]}`,
    ...factLines(facts(walls).filter(([name]) => name !== "reads"), { paint, columns, indent: 6 }),
  ]);
}

/** Leaves out what {@link briefWallLines} say of a program that is new: its walls, hosts that it calls, and its keys. */
export function besideWalls<
  T extends Pick<ExplainedPermission, "permission" | "target" | "binary" | "breadth" | "broad_because">,
>(
  rows: readonly T[],
  programs: readonly ProgramWalls[],
): T[] {
  const started = new Set(rows.flatMap(({ permission, binary }) => (permission === "run" ? binary ?? [] : [])));
  const held = programs.filter(({ program, contained }) => contained !== "none" && started.has(program));
  const kept = rows.filter(({ permission, target, binary, breadth }) => {
    if (breadth !== "bounded") return true;
    if (permission === "net") return !held.some(({ hosts }) => hosts?.includes(target));
    if (permission !== "run_env") return true;
    const own = held.filter(({ program }) => program === binary);
    return !own.flatMap(({ keys_kept, keys_seen }) => [...keys_kept, ...keys_seen])
      .some((key) => target === `${binary} ${key}`);
  });
  return kept.map((row) => {
    const why = held.some(({ program }) => program === row.binary) ? row.broad_because : undefined;
    return why === undefined ? row : { ...row, broad_because: withoutWalls(why) };
  });
}

/** Puts the programs with the same walls together. */
function alike(programs: readonly ProgramWalls[]): { walls: ProgramWalls; names: string[] }[] {
  const found = new Map<string, { walls: ProgramWalls; names: string[] }>();
  for (const walls of programs) {
    const key = JSON.stringify({ ...walls, program: null });
    const known = found.get(key);
    if (known === undefined) found.set(key, { walls, names: [safeLine(walls.program)] });
    else known.names.push(safeLine(walls.program));
  }
  return [...found.values()];
}

function factLines(
  told: readonly [name: string, text: string][],
  { paint, columns, indent }: WallLineOptions & { indent: number },
): string[] {
  return told.flatMap(([name, text]) =>
    wrapText(text, columns - indent - 9, 20).map((line, index) =>
      `${" ".repeat(indent)}${paint("dim", (index === 0 ? name : "").padEnd(6))}  ${safeLine(line)}`
    )
  );
}

const headlines: Readonly<Record<ProgramWalls["contained"], string>> = {
  agent: "contained",
  workdir: "contained in the working directory",
  none: "with all your rights: that amounts to everything you can do",
};

const places: Readonly<Record<ProgramWalls["contained"], { writes: string; reads: string } | null>> = {
  agent: {
    writes: "the working directory, a home of its own that is gone after the session, its login and its records",
    reads: "the system, compilers and package managers; not the rest of your home, keys or other agents' logins",
  },
  workdir: {
    writes: "the working directory and a temporary folder",
    reads: "all files but keys, other agents' logins and the host's state",
  },
  none: null,
};

function facts(
  { contained, writes, reads = [], settings_of, hosts, hosts_missing, hosts_not_needed, keys_kept, keys_seen }:
    ProgramWalls,
): [string, string][] {
  const place = places[contained];
  const seen = keys_seen.length === 0 ? [] : [`the program sees ${keys_seen.join(", ")}`];
  const kept = keys_kept.length === 0 ? [] : [`${keys_kept.join(", ")} stays with the host`];
  const missing = hosts_missing.length === 0 ? "" : `; not granted yet: ${hosts_missing.join(", ")}`;
  const quiet = hosts_not_needed.length === 0 ? "" : `; denied, and not needed: ${hosts_not_needed.join(", ")}`;
  const called = hosts === null ? "any host" : hosts.length === 0 ? "no host" : hosts.join(", ");
  const more = [...(settings_of === undefined ? [] : [`the settings of ${settings_of}`]), ...reads];
  return [
    ...(place === null ? [] : [
      ["writes", [place.writes, ...writes].join(", ")] as [string, string],
      ["reads", [place.reads, ...(more.length === 0 ? [] : [`and ${more.join(", ")}`])].join("; ")] as [string, string],
      ["calls", `${called}${missing}${quiet}`] as [string, string],
    ]),
    ...(kept.length + seen.length === 0 ? [] : [["keys", [...kept, ...seen].join("; ")] as [string, string]]),
  ];
}
