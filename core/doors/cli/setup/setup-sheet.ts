import { containsPrograms } from "../../../packages/registry/contained-programs.ts";
import { grantsFor, undecidedPermissions } from "../../../packages/install/asked-permissions.ts";
import { broadPlaces } from "../../../packages/registry/broad-permissions.ts";
import type { NewGrant } from "../../../packages/registry/edit-host-manifest.ts";
import type { EntryValue } from "../../../packages/registry/edit-plugin-entry.ts";
import type { ExplainedPermission } from "../../../packages/registry/explain-permissions.ts";
import type { Plugin } from "../../../packages/registry/plugin.ts";
import { type ProgramWalls, wallsOnceGranted } from "../../../packages/registry/program-walls.ts";
import { safeLine } from "../render/agent-text.ts";
import type { Paint } from "../render/paint.ts";
import { askedLines } from "../render/permission-words.ts";
import { besideWalls, briefWallLines, type WallLineOptions } from "../render/wall-lines.ts";
import type { AskedAgent } from "./ask-agents.ts";

/** Permissions that an agent would be granted. */
export interface SetupSheet {
  id: string;
  /** Source and options of an instance that is made; empty for a plugin that is there. */
  values: EntryValue[];
  /** Sorted by risk, the highest first. */
  rows: ExplainedPermission[];
  grants: NewGrant[];
  /** Walls around its programs once that is granted. */
  programs: ProgramWalls[];
}

/** Collects what an agent asks for and is not granted yet. */
export function setupSheet(
  { plugin, isNew = false }: { plugin: Plugin; isNew?: boolean },
  manifestFile: string | undefined,
): SetupSheet {
  const { id, manifest, grant, enabled, config, hidden_texts: hidden = [] } = plugin;
  const rows = undecidedPermissions({
    manifest,
    before: null,
    granted: enabled ? grant : {},
    places: { ...broadPlaces(manifestFile), contained: containsPrograms(plugin) },
    config,
    hidden,
  });
  const options = Object.entries(config).map(([option, value]): EntryValue => [["config", option], value]);
  const values: EntryValue[] = isNew ? [[["source"], manifest.id], ...options] : [];
  return { id, values, rows, grants: grantsFor(id, rows), programs: wallsOnceGranted(plugin) };
}

/** The sheet as lines for people: one for each program, however many commands of it the manifest lists. */
export function sheetLines(
  { id, rows: all, programs: walls }: SetupSheet,
  agent: Pick<AskedAgent, "program">,
  { paint, columns }: WallLineOptions,
): string[] {
  const rows = besideWalls(all, walls);
  const commands = rows.filter(({ permission }) => permission === "run");
  const programs = [...new Set(commands.flatMap(({ binary }) => binary ?? []))];
  const lines = [
    ...programs.flatMap((program) => programLines(program, { commands, where: agent.program, paint })),
    ...askedLines(rows.filter(({ permission }) => permission !== "run" && permission !== "run_env"), paint),
    ...askedLines(rows.filter(({ permission, breadth }) => permission === "run_env" && breadth !== "bounded"), paint),
  ];
  return [
    `${paint("bold", id)} may`,
    ...(all.length === 0 ? ["    do what it is granted already"] : lines),
    ...briefWallLines(walls, { paint, columns }),
  ];
}

function programLines(
  program: string,
  { commands, where, paint }: { commands: readonly ExplainedPermission[]; where: string | null; paint: Paint },
): string[] {
  const own = commands.filter(({ binary }) => binary === program);
  const broad = own.filter(({ breadth }) => breadth !== "bounded");
  const place = where === null ? "" : ` (${safeLine(where)})`;
  const words = `start ${JSON.stringify(safeLine(program))}${place}, with the commands that its manifest lists`;
  if (broad.length === 0) return [`    ${words}`];
  const weight = broad.some(({ breadth }) => breadth === "everything")
    ? paint("red", "amounts to everything")
    : paint("yellow", "more than it seems");
  const reasons = [...new Set(broad.flatMap(({ broad_because }) => broad_because ?? []))];
  return [
    `  ${paint("red", "!")} ${words}: ${weight}.`,
    ...reasons.map((reason) => paint("dim", `      ${safeLine(reason)}`)),
  ];
}
