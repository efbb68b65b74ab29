import { containsPrograms } from "../../../packages/permissions/contained-programs.ts";
import { grantsFor, undecidedPermissions } from "../../../packages/install/asked-permissions.ts";
import { broadPlaces } from "../../../packages/permissions/broad-permissions.ts";
import type { NewGrant } from "../../../packages/manifest/edit-host-manifest.ts";
import type { EntryValue } from "../../../packages/manifest/edit-plugin-entry.ts";
import type { ExplainedPermission, ProgramWalls } from "../../../../plugin-sdk/plugin-report.ts";
import type { Plugin } from "../../../packages/manifest/plugin.ts";
import { wallsOnceGranted } from "../../../packages/permissions/program-walls.ts";
import { safeLine } from "../render/agent-text.ts";
import { askedLines, weighedLines } from "../render/permission-words.ts";
import { wrapLines } from "../render/text-width.ts";
import { besideWalls, briefWallLines, type WallLineOptions } from "../render/wall-lines.ts";
import { type PointedHost, withHosts } from "./pointed-hosts.ts";
import type { AskedAgent } from "./find-agents.ts";

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
  /** Hosts among those grants that the environment points it to. */
  pointed: readonly PointedHost[];
  /** Whether its agent asks before it does something, where an approval wants that. */
  asks: boolean;
}

/** Collects what an agent asks for and is not granted yet. */
export function setupSheet(
  { plugin, isNew = false, pointed = [] }: { plugin: Plugin; isNew?: boolean; pointed?: readonly PointedHost[] },
  manifestFile: string | undefined,
): SetupSheet {
  const { id, grant, enabled, config, hidden_texts: hidden = [] } = plugin;
  const manifest = withHosts(plugin.manifest, pointed);
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
  return {
    id,
    values,
    rows,
    grants: grantsFor(id, rows),
    programs: wallsOnceGranted({ ...plugin, manifest }),
    pointed,
    asks: manifest.reports?.includes("permissions") === true,
  };
}

/** The sheet as lines for people: one for each program, however many commands of it the manifest lists. */
export function sheetLines(
  { id, rows: all, programs: walls, pointed, asks }: SetupSheet,
  agent: Pick<AskedAgent, "program">,
  { paint, columns }: WallLineOptions,
): string[] {
  const rows = besideWalls(all, walls);
  const commands = rows.filter(({ permission }) => permission === "run");
  const programs = [...new Set(commands.flatMap(({ binary }) => binary ?? []))];
  const lines = [
    ...programs.flatMap((program) => programLines(program, { commands, where: agent.program, paint, columns })),
    ...askedLines(rows.filter(({ permission }) => permission !== "run" && permission !== "run_env"), {
      paint,
      columns,
    }),
    ...askedLines(rows.filter(({ permission, breadth }) => permission === "run_env" && breadth !== "bounded"), {
      paint,
      columns,
    }),
  ];
  return [
    `${paint("bold", id)} may`,
    ...(all.length === 0 ? ["    do what it is granted already"] : lines),
    ...briefWallLines(walls, { paint, columns }),
    ...(asks || walls.length === 0
      ? []
      : wrapLines("    and does not ask before it runs commands or changes files", columns).split("\n")),
    ...pointed.flatMap(({ host, where }) =>
      wrapLines(`      ${safeLine(where)} points it to ${safeLine(host)}`, columns).split("\n")
    ).map((line) => paint("dim", line)),
  ];
}

function programLines(
  program: string,
  { commands, where, ...options }: WallLineOptions & { commands: readonly ExplainedPermission[]; where: string | null },
): string[] {
  const own = commands.filter(({ binary }) => binary === program);
  const broad = own.filter(({ breadth }) => breadth !== "bounded");
  const place = where === null ? "" : ` (${safeLine(where)})`;
  const words = `start ${JSON.stringify(safeLine(program))}${place}, with the commands that its manifest lists`;
  const reasons = [...new Set(broad.flatMap(({ broad_because }) => broad_because ?? []))];
  const breadth = broad.find((one) => one.breadth === "everything")?.breadth ?? broad[0]?.breadth ?? "bounded";
  return weighedLines(words, { ...options, breadth, reasons });
}
