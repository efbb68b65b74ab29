import { lstat, mkdir, readdir, realpath, stat } from "../../ground/platform/files/files.ts";
import { agentPlaces } from "../../ground/platform/places/key-places.ts";
import { readPlainText } from "../../ground/platform/files/read-plain-file.ts";
import { basename, isBelow, isInside, join } from "../../ground/platform/files/paths.ts";
import { agentLogins, type AgentRecord, agentRecords, mixedLogins, namedFolders } from "./agent-files.ts";
import { approveSource, type LeftOut, type SourceRules } from "./approve-source.ts";
import { copyPlain, type CopyScope, copyTree, newBudget } from "./copy-settings.ts";
import { projectFolder } from "./project-folder.ts";
import type { Bound } from "./program-view.ts";
import type { WriteBack } from "./write-back.ts";

/** Folders of settings that steer an agent, or hold programs: it reads the real ones, which may be large. */
const steeringFolder =
  /^\.?(agents?|bin|commands?|extensions?|hooks?|lib|local|mcp.*|modes?|node_modules|packages?|plugins?|policies|prompts?|rules?|scripts?|settings.*|skills?|themes?|tools?|versions?|workflows?)$/i;

/** Folders in which an agent leaves things behind that no later session needs: it begins with empty ones. */
const passingFolder =
  /^\.?(backups?|cache[sd]?|debug|file-history|history|ide|ipc|logs?|paste-cache|projects|session-env|sessions?|shell[-_]snapshots|snapshots?|statsig|telemetry|te?mp|todos|tool-output)$/i;

interface SettingsOptions {
  /** Names under which the settings of the program stand. */
  tools: readonly string[];
  home: string;
  workdir: string;
  project: string;
  /** Places of settings that the operator names in variables. */
  named: readonly string[];
  copies: string;
  rules: SourceRules;
  leftOut(place: LeftOut): void;
  /** Makes folders in the home where they are missing; those that are still empty go with the session. */
  keepAtHome(folders: readonly string[]): Promise<void>;
}

/** Settings of an agent as its view has them. */
interface OwnSettings {
  shown: string[];
  bound: Bound[];
  writeBacks: WriteBack[];
}

/** Places of the tables as paths. */
interface Tables {
  records: { at: string; record: AgentRecord }[];
  logins: ReadonlySet<string>;
  mixed: ReadonlyMap<string, readonly string[]>;
  /** Folders in which there is one folder for each project. */
  sorted: ReadonlySet<string>;
}

/**
 * Settings of the agent itself, at home and where the operator says in a variable: copies, besides the records and logins that the
 * tables name. Of the agent's own folder in the project, which is guarded, it has a copy: some agents do not start where they cannot
 * write into it.
 */
export async function ownSettings(options: SettingsOptions): Promise<OwnSettings> {
  const { tools, home, named, project, rules, leftOut } = options;
  const found: OwnSettings = { shown: [], bound: [], writeBacks: [] };
  const scope: Scope = {
    ...options,
    found,
    scope: { rules, budget: newBudget(), leftOut },
    tables: await tablesOf(options),
  };
  for (const { at, record } of scope.tables.records) await addRecord(at, record, scope);
  const atHome = tools.flatMap((tool) => [...agentPlaces[tool] ?? [], `.${tool}`, `.config/${tool}`]);
  const places = new Set([...atHome.map((place) => join(home, place)), ...named]);
  for (const place of places) {
    if (!scope.tables.records.some(({ at }) => isInside(at, place))) await addPlace(place, scope);
  }
  for (const tool of tools) await addProjectFolder(join(project, `.${tool}`), scope);
  return found;
}

/** Copies what lies in the folder itself: the links in it may be an agent's. */
async function addProjectFolder(place: string, { found, copies, scope }: Scope): Promise<void> {
  const info = await lstat(place).catch(() => null);
  if (!info?.isDirectory()) return;
  const copy = join(copies, String(found.bound.length), basename(place));
  await copyTree(place, copy, scope);
  found.bound.push({ from: copy, at: place, isOwn: true });
}

interface Scope extends Pick<SettingsOptions, "copies" | "keepAtHome" | "leftOut" | "rules"> {
  found: OwnSettings;
  scope: CopyScope;
  tables: Tables;
}

async function tablesOf({ tools, home, named, workdir, keepAtHome }: SettingsOptions): Promise<Tables> {
  // A folder that a variable names stands for the usual one, whose records and logins are in it too.
  const pathsOf = (tool: string, place: string) => {
    const usual = `${namedFolders[tool] ?? agentPlaces[tool]?.[0] ?? `.${tool}`}/`;
    const below = place.startsWith(usual)
      ? place.slice(usual.length)
      : place in (mixedLogins[tool] ?? {})
      ? place
      : null;
    return [join(home, place), ...(below === null ? [] : named.map((folder) => join(folder, below)))];
  };
  const listed = tools.flatMap((tool) =>
    (agentRecords[tool] ?? []).flatMap((record) => pathsOf(tool, record.at).map((path) => ({ path, record })))
  );
  const records = await Promise.all(
    listed.map(async ({ path, record }) => ({ at: await recordPath(path, { workdir, keepAtHome }), record })),
  );
  const logins = tools.flatMap((tool) => (agentLogins[tool] ?? []).flatMap((place) => pathsOf(tool, place)));
  const mixed = tools.flatMap((tool) =>
    Object.entries(mixedLogins[tool] ?? {}).flatMap(([place, fields]) =>
      pathsOf(tool, place).map((path) => [path, fields] as const)
    )
  );
  const sorted = listed.flatMap(({ path }) => path.includes("/{") ? [path.slice(0, path.indexOf("/{"))] : []);
  return { records, logins: new Set(logins), mixed: new Map(mixed), sorted: new Set(sorted) };
}

async function recordPath(path: string, options: Pick<SettingsOptions, "workdir" | "keepAtHome">): Promise<string> {
  if (path.includes("{slug}")) {
    const [folder = "", records = ""] = path.split("/{slug}");
    return await projectFolder(folder, { ...options, records });
  }
  return path.replace("{dashes}", options.workdir.replaceAll(/[^a-zA-Z0-9]/g, "-"));
}

/** Mounts real records, with what is none of them covered. */
async function addRecord(at: string, { without = [], readOnly = [] }: AgentRecord, scope: Scope): Promise<void> {
  const { found, copies, rules, keepAtHome } = scope;
  await keepAtHome([at]);
  const source = await take(at, scope);
  // Hidden places inside what is written would have to be kept from being made, too.
  if (source === null || rules.hidden.some((place) => isBelow(source, place))) return;
  found.bound.push({ from: source, at });
  await keepAtHome([...without, ...readOnly].map((name) => join(source, name)));
  for (const name of [...without, ...readOnly]) {
    const inside = await take(join(source, name), scope);
    const copy = join(copies, String(found.bound.length), name);
    await mkdir(copy, { recursive: true, mode: 0o700 });
    if (inside !== null && readOnly.includes(name)) {
      found.bound.push({ from: inside, at: join(at, name), isReadOnly: true });
    } else {
      if (inside !== null) await copyTree(inside, copy, scope.scope);
      found.bound.push({ from: copy, at: join(at, name), isOwn: true });
    }
  }
}

async function addPlace(place: string, scope: Scope): Promise<void> {
  const { found, copies, rules } = scope;
  const real = await take(place, scope);
  const info = real === null ? null : await stat(real).catch(() => null);
  // What lies in the project is seen there.
  if (real === null || info === null || rules.written.some((folder) => isInside(folder, real))) return;
  const copy = join(copies, String(found.bound.length), basename(place));
  if (info.isDirectory()) {
    await mkdir(copy, { recursive: true, mode: 0o700 });
    found.bound.push({ from: copy, at: place, isOwn: true });
    await addEntries(place, copy, scope);
  } else if (await addFile(place, { real, copy }, scope)) found.bound.push({ from: copy, at: place, isOwn: true });
}

/** @returns whether the file was copied; else it is shown as it is */
async function addFile(
  place: string,
  { real, copy }: { real: string; copy: string },
  { found, scope, tables }: Scope,
): Promise<boolean> {
  if (!await copyPlain(real, copy, scope)) {
    found.shown.push(place);
    return false;
  }
  const fields = tables.mixed.get(place);
  if (fields !== undefined) {
    const before = await readPlainText(copy, 1_000_000);
    if (before !== null) found.writeBacks.push({ copy, real, before, fields });
  }
  return true;
}

async function addEntries(place: string, copy: string, scope: Scope): Promise<void> {
  const { found, tables } = scope;
  const isSorted = tables.sorted.has(place);
  for (const entry of await readdir(place).catch(() => [])) {
    const at = join(place, entry);
    if (tables.records.some((record) => record.at === at)) continue;
    const real = await take(at, scope);
    const info = real === null ? null : await stat(real).catch(() => null);
    if (real === null || info === null) continue;
    if (tables.logins.has(at)) {
      if (info.isFile()) found.bound.push({ from: real, at });
    } else if (info.isDirectory()) await addFolder({ at, real, copy: join(copy, entry), isSorted }, scope);
    else if (info.isFile() && !isSorted) await addFile(at, { real, copy: join(copy, entry) }, scope);
  }
}

async function addFolder(
  { at, real, copy, isSorted }: { at: string; real: string; copy: string; isSorted: boolean },
  scope: Scope,
): Promise<void> {
  const { found, tables } = scope;
  const holds = [...tables.records.map((record) => record.at), ...tables.logins].some((path) => isBelow(at, path));
  if (holds) {
    await mkdir(copy, { recursive: true, mode: 0o700 });
    await addEntries(at, copy, scope);
  } else if (steeringFolder.test(basename(at))) {
    // A private home holds nothing of what links lead to, so that they must be followed for it.
    if (await leadsOut(real)) await copyTree(real, copy, scope.scope);
    else found.shown.push(at);
  } else if (isSorted) return;
  else if (passingFolder.test(basename(at))) await mkdir(copy, { recursive: true, mode: 0o700 });
  else await copyTree(real, copy, scope.scope);
}

/** Whether links in a folder, or in those in it, lead out of it, as those of a manager of dotfiles do. */
async function leadsOut(folder: string, depth = 2): Promise<boolean> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.slice(0, 100)) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) {
      const end = await realpath(path).catch(() => null);
      if (end !== null && !isInside(folder, end)) return true;
    } else if (depth > 1 && entry.isDirectory() && await leadsOut(path, depth - 1)) return true;
  }
  return false;
}

/** The real path of a place that may be a source; null for one that is missing or left out. */
async function take(place: string, { rules, leftOut }: Scope): Promise<string | null> {
  const source = await approveSource(place, rules);
  if (source === null) return null;
  if ("because" in source) {
    leftOut(source);
    return null;
  }
  return source.real;
}
