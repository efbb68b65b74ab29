import process from "node:process";
import { agentWalls } from "./agent-walls.ts";
import { artifacts } from "./artifacts.ts";
import { checkpoints } from "./checkpoints.ts";
import { cluster } from "./cluster.ts";
import { coldStart } from "./cold-start.ts";
import { doors } from "./doors.ts";
import { daemonMemory } from "./daemon-memory.ts";
import { events } from "./events.ts";
import { http } from "./http.ts";
import { installing } from "./installing.ts";
import { journal } from "./journal.ts";
import { manySessions } from "./many-sessions.ts";
import type { Figure } from "./measure.ts";
import { meter } from "./meter.ts";
import { peers } from "./peers.ts";
import { roundTrip } from "./round-trip.ts";
import { scale } from "./scale.ts";
import { spinning } from "./spinning.ts";
import { startUp } from "./start-up.ts";
import { telemetry } from "./telemetry.ts";
import { touchedFiles } from "./touched-files.ts";
import { turns } from "./turns.ts";

interface BenchOptions {
  quick: boolean;
  long: boolean;
  /** One part of a benchmark that has parts; absent: all. */
  part: string | undefined;
}

/** Every benchmark, by the word that chooses it on the command line. To add one: a file and a line here. */
const benches: Record<string, (options: BenchOptions) => Promise<Figure[]>> = {
  round_trip: roundTrip,
  events,
  many_sessions: manySessions,
  cold: coldStart,
  spinning,
  journal,
  start_up: startUp,
  artifacts,
  checkpoints,
  agent_walls: agentWalls,
  daemon_memory: daemonMemory,
  http,
  doors,
  install: installing,
  cluster,
  peers,
  scale,
  telemetry,
  meter,
  touched: touchedFiles,
  turns,
};

const flags = ["--quick", "--long", "--json", "--part"];
const words = process.argv.slice(2);
const quick = words.includes("--quick");
const long = words.includes("--long");
const json = words.includes("--json");
const part = words.includes("--part") ? words[words.indexOf("--part") + 1] : undefined;
const chosen = words.filter((word) => !word.startsWith("--") && word !== part);
const known = Object.keys(benches);
const unknown = [
  ...chosen.filter((name) => !known.includes(name)),
  ...words.filter((word) => word.startsWith("--") && !flags.includes(word)),
];
if (unknown.length > 0) {
  process.stderr.write(
    `Usage: npm run bench -- [name ...] [${flags.join("] [")}]\nNames: ${known.join(", ")}; default: all\nUnknown: ${
      unknown.join(" ")
    }\n`,
  );
  process.exit(2);
}
const figures: Figure[] = [];
for (const [name, bench] of Object.entries(benches)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const own = await bench({ quick, long, part });
  figures.push(...own);
  if (!json) { for (const figure of own) process.stdout.write(`${line(figure)}\n`); }
}
if (json) process.stdout.write(`${JSON.stringify(report())}\n`);

function report(): object {
  const runtime = "Deno" in globalThis ? `deno ${process.versions["deno"]}` : `node ${process.versions.node}`;
  const values = figures.map(({ name, value, ...rest }) => [name, { value: Number(value.toPrecision(4)), ...rest }]);
  return { runtime, quick, figures: Object.fromEntries(values) };
}

function line({ name, value, unit, aim, met }: Figure): string {
  const digits = unit === "per_second" ? 0 : value < 10 ? 3 : 1;
  const shown = `${value.toFixed(digits)} ${unit === "ratio" ? "x" : unit === "per_second" ? "/s" : unit}`;
  const target = aim === undefined ? "" : `  aim ${aim} ${met ? "met" : "MISSED"}`;
  return `${name.padEnd(42)}${shown.padStart(16)}${target}`;
}
