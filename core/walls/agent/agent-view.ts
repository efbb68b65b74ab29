import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { copyFile, mkdir, readdir, readFile, realpath, stat } from "../../ground/runtime/files.ts";
import { agentPlaces, agentPrograms, agentRecords, keyPlaces } from "../../ground/runtime/key-places.ts";
import type { AgentView, Bound } from "./program-view.ts";
import { guardedPlaces } from "./guarded-names.ts";
import { pathsOfMachine } from "./real-paths.ts";
import { basename, dirname, isAbsolute, isBelow, isInside, join, resolve, sep } from "../../ground/runtime/paths.ts";
import { hostEnv } from "../../ground/runtime/platform.ts";
import { toolPlaces } from "./tool-places.ts";

/** The session of an agent, as far as its view depends on it. Paths are real and absolute. */
interface ViewedSession {
  workdir: string;
  /** Top of the project, where that is another folder than `workdir`. */
  workspaceDir?: string | undefined;
  pluginDir: string;
  tempDir: string;
  permissions: Pick<Permissions, "read" | "write">;
  /** Environment values of the client. */
  requestEnv: Readonly<Record<string, string>>;
  /** Places that it neither reads nor writes. */
  protectedPaths?: readonly string[] | undefined;
  /** Places that it reads and never writes. */
  sealedPaths?: readonly string[] | undefined;
  /** Folder for what the walls of all sessions of a host share; absent: the session's own. */
  sharedWallsDir?: string | undefined;
}

/** Places that a session's grants open besides its folders. Real paths. */
export interface GrantedPlaces {
  /** Places of the project to write although they are guarded. */
  opened: readonly string[];
  written: readonly string[];
  read: readonly string[];
}

/** Needs of an agent's program besides its working directory. */
export interface AgentNeeds {
  /** The program's name in the grant. */
  binary: string;
  /** Real paths of the program and of files that its arguments name. */
  shown: readonly string[];
  /** Its environment: some variables name a folder of its settings. */
  env: Readonly<Record<string, string>>;
  /** Folders in which its commands are searched. */
  searched: readonly string[];
  /** Folder of the session for what belongs to the walls, with the private home in it. */
  wallsDir: string;
}

/** Bytes of one file of an agent's settings that is copied into its private home. */
const maxSettingsBytes = 1_000_000;

/** Files that an agent renews while it runs: a copy would log the person out. */
const loginFile = /cred|auth|token|account|session|\.lock$/i;

/** Folders of settings that steer an agent, or name programs, wherever it is started next. */
const steeringFolder =
  /^\.?(agents?|bin|commands?|extensions?|hooks?|mcp.*|modes?|plugins?|policies|prompts?|rules?|scripts?|settings.*|skills?|themes?|tools?|workflows?)$/i;

/** Places that the views of all programs of a session have in common. */
export interface ViewPlaces extends GrantedPlaces {
  /** The home to replace; null where the session works in the home itself, or above it. */
  home: string | null;
  guarded: Awaited<ReturnType<typeof guardedPlaces>>;
  /** Whether the project is read-only as a whole, since not all of its guards could be made. */
  isClosed: boolean;
  repository: readonly string[];
}

/** Finds what does not depend on the program, so that it can be looked up before one is asked for. */
export async function viewPlaces(
  session: ViewedSession,
  { isClosed, granted }: Pick<ViewPlaces, "isClosed"> & { granted: Promise<GrantedPlaces> },
): Promise<ViewPlaces> {
  const { workdir, workspaceDir = workdir } = session;
  const [home, guarded, places, repository] = await Promise.all([
    homeOf(session),
    guardedPlaces(workspaceDir),
    granted,
    repositoryOf(workspaceDir),
  ]);
  return { home, guarded, isClosed, ...places, repository };
}

/**
 * View of an agent's program: a private home with its own settings and the tools of the person, the working directory
 * with its guarded places read-only, and nothing of other projects. Its settings are copies, so that it cannot change what
 * it obeys when the person starts it; its login and its records are the real ones.
 */
export async function agentView(
  session: ViewedSession,
  needs: AgentNeeds,
  { home, guarded, isClosed, opened, written, read, repository }: ViewPlaces,
): Promise<AgentView> {
  const { workdir, pluginDir, tempDir, workspaceDir, protectedPaths = [], sealedPaths = [] } = session;
  const own = await ownSettings(session, needs, home);
  const project = workspaceDir ?? workdir;
  const folders = [...new Set([workdir, project])].filter((folder) => !isClosed || folder !== project);
  return {
    writable: [...folders, ...written],
    tmp: tempDir,
    hidden: [
      ...protectedPaths,
      ...(home === null ? await hiddenAtHome([...toolsOf(needs.binary), ...configTools(session.permissions)]) : []),
    ],
    shown: [
      ...sealedPaths,
      ...(isClosed ? [project] : []),
      pluginDir,
      ...needs.shown.map((file) => packageOf(file, [tempDir, workdir, ...(home === null ? [] : [home])])),
      ...repository,
      ...read,
      ...(home === null ? [] : toolPlaces.map((place) => join(home, place))),
      ...needs.searched.filter((folder) => home !== null && isBelow(home, folder)),
      ...own.shown,
    ],
    sealed: guarded.sealed.filter((place) =>
      !opened.some((path) => isInside(path, place)) && !own.bound.some(({ at }) => at === place)
    ),
    held: isClosed ? [] : guarded.held,
    bound: [...(home === null ? [] : [{ from: join(needs.wallsDir, "home"), at: home, isNew: true }]), ...own.bound],
    network: "none",
    filterFolder: session.sharedWallsDir ?? needs.wallsDir,
  };
}

/** As {@link ViewPlaces.home}. */
async function homeOf({ workdir }: ViewedSession): Promise<string | null> {
  const named = hostEnv("HOME");
  if (named === undefined || !isAbsolute(named)) return null;
  const home = await pathsOfMachine().of(named);
  return home === null || home === sep || isInside(workdir, home) ? null : home;
}

/** The folder of a program's package: its modules lie beside it, or above it. Just the file where that would show more. */
function packageOf(file: string, others: readonly string[]): string {
  const parts = file.split(sep);
  const modules = parts.indexOf("node_modules");
  const folder = modules > 0 ? parts.slice(0, modules + 1).join(sep) : dirname(file);
  const whole = basename(folder) === "bin" ? dirname(folder) : folder;
  return whole === "/tmp" || others.some((other) => isInside(whole, other)) ? file : whole;
}

/** Git's folder of the repository that a folder lies in, where it stands above it or elsewhere. */
async function repositoryOf(folder: string): Promise<string[]> {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    const git = join(at, ".git");
    const info = await stat(git).catch(() => null);
    if (info?.isDirectory()) return [git];
    if (info?.isFile() && info.size < 4096) {
      const [, place] = /^gitdir: (.+)$/m.exec(await readFile(git, "utf8").catch(() => "")) ?? [];
      // A worktree's own folder lies in `worktrees` of the repository's.
      if (place !== undefined) return [git, dirname(dirname(resolve(at, place)))];
    }
  }
  return [];
}

/**
 * Settings of the agent itself: files as copies, logins and records as they are. They stand in its home, in the project,
 * and where the operator or the client says in a variable; an adapter cannot say where.
 */
async function ownSettings(
  session: ViewedSession,
  { binary, env, wallsDir }: AgentNeeds,
  home: string | null,
): Promise<{ shown: string[]; bound: Bound[] }> {
  const { permissions, workdir, workspaceDir = workdir } = session;
  const tools = [...toolsOf(binary), ...configTools(permissions)];
  const records = tools.flatMap((tool) => agentRecords[tool] ?? []);
  const named = await namedPlaces(session, { tools, env, home });
  const atHome = tools.flatMap((tool) => [...agentPlaces[tool] ?? [], `.${tool}`, `.config/${tool}`]);
  const places = [
    ...(home === null ? [] : atHome.map((place) => join(home, place))),
    ...tools.map((tool) => join(workspaceDir, `.${tool}`)),
    ...named,
  ];
  const kept = home === null ? [] : records.map((record) => join(home, record));
  for (const record of kept) await makeFolder(record);
  // A folder that a variable names stands for the one that holds the records.
  for (const place of home === null ? [] : named) {
    for (const record of records) await mkdir(join(place, basename(record))).catch(() => {});
  }
  const found = { shown: [] as string[], bound: kept.map((path): Bound => ({ from: path, at: path })) };
  const wanted = [...new Set(places.filter((path) => !kept.includes(path)))];
  const real = await Promise.all(wanted.map((place) => realpath(place).catch(() => null)));
  for (const [index, place] of wanted.entries()) {
    await settingsAt({ place, real: real[index] ?? null }, { found, copies: join(wallsDir, "settings") });
  }
  return found;
}

/** Places that variables of the operator or the client name, without those that hold keys. */
async function namedPlaces(
  { requestEnv, protectedPaths = [] }: ViewedSession,
  { tools, env, home }: { tools: readonly string[]; env: Readonly<Record<string, string>>; home: string | null },
): Promise<string[]> {
  const places = Object.entries(env).filter(([name, value]) =>
    /_(HOME|DIR|CONFIG|FILE)$/.test(name) && isAbsolute(value) &&
    (value === hostEnv(name) || value === requestEnv[name]) && value !== home
  ).map(([, value]) => value);
  if (places.length === 0) return [];
  const secret = [...protectedPaths, ...await hiddenAtHome(tools)];
  return places.filter((at) => !secret.some((place) => isInside(place, at) || isInside(at, place)));
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 }).catch(() => {});
}

async function settingsAt(
  { place, real }: { place: string; real: string | null },
  { found, copies }: { found: { shown: string[]; bound: Bound[] }; copies: string },
): Promise<void> {
  const info = real === null ? null : await stat(real).catch(() => null);
  if (real === null || info === null) return;
  const copy = join(copies, String(found.bound.length), basename(place));
  if (!info.isDirectory()) {
    if (info.size > maxSettingsBytes) return void found.shown.push(place);
    await copyTo(real, copy);
    return void found.bound.push({ from: copy, at: place });
  }
  await mkdir(copy, { recursive: true, mode: 0o700 });
  found.bound.push({ from: copy, at: place });
  for (const entry of await readdir(real)) {
    const from = join(real, entry);
    const at = join(place, entry);
    const kind = await stat(from).catch(() => null);
    if (kind === null) continue;
    if (kind.isDirectory()) {
      if (steeringFolder.test(entry)) found.shown.push(at);
      else found.bound.push({ from, at });
    } else if (loginFile.test(entry)) found.bound.push({ from, at });
    else if (kind.isFile() && kind.size <= maxSettingsBytes) await copyTo(from, join(copy, entry));
    else found.shown.push(at);
  }
}

async function copyTo(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await copyFile(from, to).catch(() => {});
}

/** Names under which the settings of a program on PATH stand. */
function toolsOf(binary: string): string[] {
  const name = basename(binary);
  return binary.startsWith("./") || binary.startsWith("@") ? [] : [agentPrograms[name] ?? name];
}

/** Places of keys, and of the logins of all agents but these. */
export async function hiddenAtHome(ownTools: readonly string[]): Promise<string[]> {
  const home = hostEnv("HOME");
  if (home === undefined || home === "") return [];
  const logins = Object.entries(agentPlaces).filter(([tool]) => !ownTools.includes(tool)).flatMap(([, places]) =>
    places
  );
  return [...keyPlaces, ...await browsers(home), ...logins].map((place) => join(home, place));
}

/** Profiles of browsers, with what people are logged in to. */
async function browsers(home: string): Promise<string[]> {
  const settings = await readdir(join(home, ".config")).catch(() => []);
  return settings.filter((name) => /chrom|brave|vivaldi|opera|edge/i.test(name)).map((name) => join(".config", name));
}

/** Tools whose settings the plugin was granted: their logins are its own. */
export function configTools({ read = [], write = [] }: ViewedSession["permissions"]): string[] {
  return [...read, ...write].flatMap((root) => root.startsWith("config:") ? [root.slice("config:".length)] : []);
}
