import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { mkdir, readdir, realpath } from "../../ground/platform/files/files.ts";
import { agentPrograms } from "../../ground/platform/places/key-places.ts";
import { presentPlaces } from "../../ground/platform/places/key-paths.ts";
import {
  basename,
  dirname,
  isAbsolute,
  isBelow,
  isInside,
  join,
  resolve,
  sep,
} from "../../ground/platform/files/paths.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import { agentRecords } from "./agent-files.ts";
import { type LeftOut, sourceRules } from "./approve-source.ts";
import { closedPlaces } from "./closed-places.ts";
import { hiddenAtHome, homesToHide } from "./hidden-places.ts";
import { gathered } from "./mounts.ts";
import { ownSettings } from "./own-settings.ts";
import type { AgentView, Bound } from "./program-view.ts";
import { cachePlaces, toolPlaces } from "./tool-places.ts";
import type { WriteBack } from "./write-back.ts";

/** The session of an agent, as far as its view depends on it. Paths are real and absolute. */
interface ViewedSession {
  workdir: string;
  /** Top of the project, where that is another folder than `workdir`. */
  workspaceDir?: string | undefined;
  pluginDir: string;
  tempDir: string;
  permissions: Pick<Permissions, "read" | "write">;
  /** Agent whose settings its programs have, as the operator says. */
  settingsOf?: string | undefined;
  /** Environment values of the client. */
  requestEnv: Readonly<Record<string, string>>;
  /** Places that it neither reads nor writes. */
  protectedPaths?: readonly string[] | undefined;
  /** Places that it reads and never writes. */
  sealedPaths?: readonly string[] | undefined;
  /** Folder for what the walls of all sessions of a host share; absent: the session's own. */
  sharedWallsDir?: string | undefined;
  leftOut?(place: LeftOut): void;
  /** As for {@link ownSettings}. */
  keepAtHome(folders: readonly string[]): Promise<void>;
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
  /** Folder of the session for what belongs to the walls, with the private home in it. */
  wallsDir: string;
}

/** Places that the views of all programs of a session have in common. */
export interface ViewPlaces extends GrantedPlaces {
  /** Real paths of the person's homes that are replaced; without those in which the session works, or above which. */
  homes: readonly string[];
  /** All of them. */
  allHomes: readonly string[];
  /** Whether the project is read-only as a whole, since not all of its guards could be made. */
  isClosed: boolean;
  /** Places of tools in the homes. */
  tools: readonly string[];
  /** Caches of package managers in the homes. */
  caches: readonly string[];
}

/**
 * Finds what does not depend on the program, so that it can be looked up before one is asked for.
 * @throws {BulkheadError} `unavailable` where there is no home to keep from an agent
 */
export async function viewPlaces(
  session: Omit<ViewedSession, "keepAtHome">,
  { isClosed, granted, searched }: Pick<ViewPlaces, "isClosed"> & {
    granted: Promise<GrantedPlaces>;
    /** Folders in which the commands of programs are searched. */
    searched: readonly string[];
  },
): Promise<ViewPlaces> {
  const { workdir } = session;
  const [homes, places] = await Promise.all([homesToHide(), granted]);
  const replaced = homes.all.filter((home) => !isInside(workdir, home));
  const [tools, caches] = await Promise.all([
    toolsIn(replaced, searched),
    Promise.all(replaced.map((home) => presentPlaces(home, cachePlaces))),
  ]);
  return {
    homes: replaced,
    allHomes: homes.all,
    isClosed,
    ...places,
    tools,
    caches: caches.flat(),
  };
}

/** Tools of the person, the folders of the PATH, and what links in those lead to. */
async function toolsIn(homes: readonly string[], searched: readonly string[]): Promise<string[]> {
  const present = (await Promise.all(homes.map((home) => presentPlaces(home, toolPlaces)))).flat();
  const onPath = searched.filter((folder) => homes.some((home) => isBelow(home, folder)));
  const folders = [...new Set([...onPath, ...present.filter((place) => basename(place) === "bin")])];
  const shown = [...new Set([...present, ...onPath])];
  return [...shown, ...await leadingLinks(folders, { homes, shown })];
}

/** The view of one program, and what of its settings goes back when the session ends. */
interface MadeView {
  view: AgentView;
  writeBacks: readonly WriteBack[];
}

/**
 * View of an agent's program: a private home with its own settings and the tools of the person, the working directory
 * without the guards of what is in it, and nothing of other projects. Its settings are copies, so that it cannot change what
 * it obeys when the person starts it; its login and its records are the real ones.
 */
export async function agentView(session: ViewedSession, needs: AgentNeeds, places: ViewPlaces): Promise<MadeView> {
  const { pluginDir, tempDir, workdir, workspaceDir: project = workdir, sealedPaths = [] } = session;
  const { homes, allHomes, isClosed, written, read, tools, caches } = places;
  const [home] = homes;
  const folders = [...new Set([workdir, project])].filter((folder) => !isClosed || folder !== project);
  const names = [...toolsOf(needs.binary), ...ownTools(session)];
  const records = allHomes.flatMap((path) => recordFolders().map((place) => join(path, place)));
  const packages = needs.shown.map((file) => packageOf(file, [tempDir, workdir, ...homes]));
  const made = Promise.all([emptyHomes(homes, needs.wallsDir), layers(caches, needs.wallsDir)]);
  made.catch(() => {});
  const named = home === undefined ? [] : await namedPlaces(session, { env: needs.env, home, tools: names });
  const needed = [...folders, project, ...written, ...read, ...allHomes, ...packages, ...tools, ...named];
  const [atHome, closed] = await Promise.all([hiddenAtHome(allHomes, names), closedPlaces(needed)]);
  const hidden = [...session.protectedPaths ?? [], ...atHome, ...closed];
  const base = { writable: [...folders, ...written], hidden, homes: allHomes, records };
  const leftOut = (place: LeftOut) => session.leftOut?.(place);
  const rules = await sourceRules({ ...base, project });
  const own = home === undefined ? { shown: [], bound: [], writeBacks: [] } : await ownSettings({
    tools: names,
    home,
    workdir,
    project,
    named,
    copies: join(needs.wallsDir, "settings", needs.binary.replaceAll(/\W/g, "_")),
    rules,
    leftOut,
    keepAtHome: (folders) => session.keepAtHome(folders),
  });
  const view: AgentView = {
    ...base,
    tmp: tempDir,
    shown: [
      ...gathered(sealedPaths, project),
      ...(isClosed ? [project] : []),
      pluginDir,
      ...packages,
      ...read,
      ...tools,
      ...own.shown,
    ],
    own: [tempDir, needs.wallsDir, pluginDir, ...sealedPaths, workdir, project],
    bound: [...(await made).flat(), ...own.bound],
    network: "none",
    filterFolder: session.sharedWallsDir ?? needs.wallsDir,
    leftOut,
  };
  return { view, writeBacks: own.writeBacks };
}

/** A private folder over each home. */
function emptyHomes(homes: readonly string[], wallsDir: string): Promise<Bound[]> {
  return Promise.all(homes.map(async (at, index) => {
    const from = join(wallsDir, index === 0 ? "home" : `home-${index + 1}`);
    await mkdir(from, { recursive: true, mode: 0o700 });
    return { from, at, isNew: true };
  }));
}

/** Caches under layers of the session, which all of its programs share. */
function layers(caches: readonly string[], wallsDir: string): Promise<Bound[]> {
  return Promise.all(caches.map(async (at, index) => {
    const layer = join(wallsDir, "caches", String(index));
    await Promise.all(["upper", "work"].map((name) => mkdir(join(layer, name), { recursive: true, mode: 0o755 })));
    return { from: at, at, layer };
  }));
}

/** Folders of agents' records below a home: of those that are kept by project, the folder of all projects. */
function recordFolders(): string[] {
  return Object.values(agentRecords).flat().map(({ at }) => at.split("/{")[0]!);
}

/** The folder of a program's package: its modules lie beside it, or above it. Just the file where that would show more. */
function packageOf(file: string, others: readonly string[]): string {
  const parts = file.split(sep);
  const modules = parts.indexOf("node_modules");
  const folder = modules > 0 ? parts.slice(0, modules + 1).join(sep) : dirname(file);
  const whole = basename(folder) === "bin" && basename(dirname(folder)) !== ".local" ? dirname(folder) : folder;
  return whole === "/tmp" || others.some((other) => isInside(whole, other)) ? file : whole;
}

/**
 * Places of settings that variables of the operator name. An adapter's value names none, and a client's only what the session
 * sees anyway: a client must not read another folder by a request.
 * @throws {BulkheadError} `permission_denied` for a client's value that lies elsewhere
 */
async function namedPlaces(
  { requestEnv, workdir, workspaceDir = workdir, tempDir }: ViewedSession,
  { env, home, tools }: { env: Readonly<Record<string, string>>; home: string; tools: readonly string[] },
): Promise<string[]> {
  if (tools.length === 0) return [];
  const named: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!/_(HOME|DIR|CONFIG|FILE)$/.test(name) || !isAbsolute(value)) continue;
    const place = resolve(value);
    if (value === hostEnv(name)) {
      if (!isInside(place, home)) named.push(place);
    } else if (value === requestEnv[name] && ![workdir, workspaceDir, tempDir].some((own) => isInside(own, place))) {
      throw new BulkheadError(
        "permission_denied",
        `Cannot use ${name} of the request: "${value}" lies outside the session.`,
        {
          hint: `Name a folder in the working directory, or set ${name} in the environment of the host.`,
          details: { variable: name },
        },
      );
    }
  }
  return named;
}

/** Names under which the settings of a program on PATH stand. */
function toolsOf(binary: string): string[] {
  const name = basename(binary);
  return binary.startsWith("./") || binary.startsWith("@") ? [] : [agentPrograms[name] ?? name];
}

/** Tools whose settings the plugin was granted, or the operator names: their logins are its own. */
export function ownTools(
  { permissions: { read = [], write = [] }, settingsOf }: Pick<ViewedSession, "permissions" | "settingsOf">,
): string[] {
  const granted = [...read, ...write].flatMap((root) =>
    root.startsWith("config:") ? [root.slice("config:".length)] : []
  );
  return settingsOf === undefined ? granted : [...granted, settingsOf];
}

/** Links of one folder that are followed. */
const mostLinks = 200;

/**
 * Links in folders of programs that lead elsewhere in a home, as those of dotfiles managers and installers: a private home
 * would leave them dangling. Whether each may be shown is decided as for any place.
 * @param shown places that are shown as a whole
 */
async function leadingLinks(
  folders: readonly string[],
  { homes, shown }: { homes: readonly string[]; shown: readonly string[] },
): Promise<string[]> {
  const found = await Promise.all(folders.map(async (folder) => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const links = entries.filter((entry) => entry.isSymbolicLink()).slice(0, mostLinks);
    return await Promise.all(links.map(async ({ name }) => {
      const end = await realpath(join(folder, name)).catch(() => null);
      const isMissed = end !== null && homes.some((home) => isBelow(home, end)) &&
        !shown.some((place) => isInside(place, end));
      return isMissed ? [join(folder, name)] : [];
    }));
  }));
  return found.flat(2);
}
