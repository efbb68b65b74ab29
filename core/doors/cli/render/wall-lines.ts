import type { ProgramWalls } from "../../../packages/registry/program-walls.ts";
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
  const alike = new Map<string, { walls: ProgramWalls; names: string[] }>();
  for (const walls of programs) {
    const key = JSON.stringify({ ...walls, program: null });
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { walls, names: [safeLine(walls.program)] });
    else known.names.push(safeLine(walls.program));
  }
  return [...alike.values()].flatMap(({ walls, names }) => {
    return [
      `${paint("bold", names.join(", "))} ${names.length === 1 ? "runs" : "run"} ${headlines[walls.contained]}`,
      ...facts(walls).flatMap(([name, text]) =>
        wrapText(text, columns - 11, 20).map((line, index) =>
          `  ${paint("dim", (index === 0 ? name : "").padEnd(6))}  ${safeLine(line)}`
        )
      ),
    ];
  });
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

function facts({ contained, writes, hosts, hosts_missing, keys_kept, keys_seen }: ProgramWalls): [string, string][] {
  const place = places[contained];
  const seen = keys_seen.length === 0 ? [] : [`the program sees ${keys_seen.join(", ")}`];
  const kept = keys_kept.length === 0 ? [] : [`${keys_kept.join(", ")} stays with the host`];
  const missing = hosts_missing.length === 0 ? "" : `; not granted yet: ${hosts_missing.join(", ")}`;
  const called = hosts === null ? "any host" : hosts.length === 0 ? "no host" : hosts.join(", ");
  return [
    ...(place === null ? [] : [
      ["writes", [place.writes, ...writes].join(", ")] as [string, string],
      ["reads", place.reads] as [string, string],
      ["calls", `${called}${missing}`] as [string, string],
    ]),
    ...(kept.length + seen.length === 0 ? [] : [["keys", [...kept, ...seen].join("; ")] as [string, string]]),
  ];
}
