import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { readNet } from "../../ground/config/net-address.ts";
import { actedOnPart } from "../../ground/platform/places/acted-on-names.ts";
import { keyPlaces } from "../../ground/platform/places/key-places.ts";
import { isLoaderName } from "../../ground/platform/places/loader-names.ts";
import { delimiter, dirname, isAbsolute, isInside, join } from "../../ground/platform/files/paths.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import { broadRun } from "./broad-run.ts";
import type { Breadth } from "../../../plugin-sdk/plugin-report.ts";
import { type Broadness, everything, much } from "./breadth.ts";

/** Options of {@link broadness}: absolute paths of this machine, and what the plugin may do besides. */
export interface BreadthOptions {
  /** The user's own folder. */
  home?: string | undefined;
  /** Folders in which programs are looked for. */
  path: readonly string[];
  /** The folder of the host manifest. */
  manifestFolder?: string | undefined;
  /** Whether its programs run contained where the permission says nothing; default: no. */
  contained?: boolean;
  /** Whether the plugin may write where its programs run; default: what these permissions say. */
  workdirIsWritten?: boolean;
}

/** The places of this machine; `manifestFile` is where the host manifest lies. */
export function broadPlaces(manifestFile: string | undefined): BreadthOptions {
  const path = (hostEnv("PATH") ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  return {
    home: hostEnv("HOME") || undefined,
    path,
    manifestFolder: manifestFile === undefined ? undefined : dirname(manifestFile),
  };
}

/** The broadest that is in these permissions; null when each is no more than it says. */
export function broadness(permissions: Permissions, places: BreadthOptions): Broadness | null {
  const { workdirIsWritten = writesWorkdir(permissions), contained = false } = places;
  const all = [
    ...(permissions.run ?? []).flatMap((run) =>
      (run.args?.length ? run.args : [""]).map((line) => broadRun(run, { line, workdirIsWritten, contained }))
    ),
    ...(permissions.write ?? []).map((root) => broadWrite(root, places)),
    ...(permissions.read ?? []).map((root) => broadRead(root, places)),
    ...(permissions.net ?? []).map(broadNet),
    ...(permissions.env ?? []).map(broadEnv),
    ...(permissions.secrets ?? []).flatMap(({ hosts }) => (hosts ?? []).map(broadSecret)),
  ].filter((one) => one !== null);
  return all.find(({ breadth }) => breadth === "everything") ?? all[0] ?? null;
}

/** Whether these permissions let a plugin write files that programs find where they run. */
export function writesWorkdir({ write = [] }: Permissions): boolean {
  return write.some((root) => root === "workdir" || root.startsWith("workdir:") || isAbsolute(root));
}

/** Why a variable of a child is more than a value; null for the others. */
export function broadRunEnv(binary: string, name: string): Broadness | null {
  if (!isLoaderName(name)) return null;
  return much(`${name} decides which code ${binary} loads or starts; only the host's own value is handed on.`);
}

/** Sorts the broadest rows first, and keeps the order of equally broad ones. */
export function riskiestFirst<T extends { breadth: Breadth }>(rows: readonly T[]): T[] {
  const ranks: Record<Breadth, number> = { everything: 0, much: 1, bounded: 2 };
  return [...rows].sort((a, b) => ranks[a.breadth] - ranks[b.breadth]);
}

/** Folders of the system that decide what programs do. */
const systemFolders = ["/bin", "/boot", "/etc", "/lib", "/opt", "/root", "/sbin", "/usr", "/var"];

function broadWrite(root: string, { home, path, manifestFolder }: BreadthOptions): Broadness | null {
  if (root.startsWith("config:")) {
    return much(`Programs take commands to run from their settings, and ${root.slice(7)}'s may be written.`);
  }
  const acted = actedOnPart(root.startsWith("workdir:") ? root.slice("workdir:".length) : root);
  if (acted !== null) {
    return everything(`${capital(acted.group.by)} act on "${acted.name}" by themselves. ${acted.group.why}`);
  }
  if (!isAbsolute(root)) return null;
  if (home !== undefined && isInside(root, home)) {
    return everything("All of the user's own files may be written, with the profiles and settings programs run by.");
  }
  if (path.some((folder) => rootsOverlap(root, folder))) {
    return everything("Programs are looked for there, so what is written may be run instead of another.");
  }
  if (systemFolders.some((folder) => rootsOverlap(root, folder))) {
    return everything("The system's own programs and settings lie there.");
  }
  if (home !== undefined && keyPlaces.some((place) => rootsOverlap(root, join(home, place)))) {
    return everything("Keys and logins lie there.");
  }
  if (manifestFolder === undefined || !isInside(root, manifestFolder)) return null;
  return much("The host manifest's folder lies there, where plugins are looked for.");
}

function broadRead(root: string, { home }: BreadthOptions): Broadness | null {
  if (!isAbsolute(root)) return null;
  if (home !== undefined && isInside(root, home)) {
    return everything("All of the user's own files may be read, with the keys and logins among them.");
  }
  if (root === "/") return everything("Every file of the machine may be read.");
  if (home === undefined || !keyPlaces.some((place) => rootsOverlap(root, join(home, place)))) return null;
  return everything("Keys and logins lie there.");
}

function broadNet(grant: string): Broadness | null {
  const host = readNet(grant)?.host ?? "";
  // Addresses at which clouds hand out the credentials of the machine.
  if (/^(169\.254\.|\[fe80:|\[fd00:ec2:)/.test(host)) {
    return everything("At link-local addresses clouds hand out the credentials of the machine.");
  }
  if (host.startsWith("*.")) {
    return much(`The owner of any name below ${host.slice(2)} can be sent data, even in the name alone.`);
  }
  return isNear(host) ? much("Services of this machine and its network often trust every caller.") : null;
}

function isNear(host: string): boolean {
  return !host.includes(".") || /^(127|10|192\.168|172\.(1[6-9]|2\d|3[01]))\./.test(host) ||
    /\.(localhost|local|internal|lan|home\.arpa)$/.test(host);
}

const credentialName =
  /(^|_)(TOKEN|KEY|APIKEY|SECRET|PASSWORD|PASSWD|PASS|PAT|CREDENTIALS?|AUTH|DSN|PRIVATE|COOKIE|SESSION)(_|$)|^(SSH_AUTH_SOCK|KUBECONFIG|DATABASE_URL|PGPASSFILE|NETRC)$/;

function broadEnv(name: string): Broadness | null {
  if (!credentialName.test(name.toUpperCase())) return null;
  return much(`${name} usually holds a credential, which the plugin's own code would read; as a secret it would not.`);
}

function broadSecret(host: string): Broadness | null {
  return host.startsWith("*.") ? much(`The owner of any name below ${host.slice(2)} can be sent the secret.`) : null;
}

function capital(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

function rootsOverlap(a: string, b: string): boolean {
  return isInside(a, b) || isInside(b, a);
}
