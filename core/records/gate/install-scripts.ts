import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { fieldsOrNone, parseJson } from "../../../plugin-sdk/json-fields.ts";

/** Scripts that package managers run at an install without being asked by name. */
const ofInstall: readonly string[] = [
  "preinstall",
  "install",
  "postinstall",
  "prepublish",
  "preprepare",
  "prepare",
  "postprepare",
  "predependencies",
  "dependencies",
  "postdependencies",
  "pnpm:devPreinstall",
];

/** Largest `package.json` that is read. */
export const packageBytes: number = 1024 * 1024;

/** Files by which an install runs programs. */
export const installFiles: ReadonlySet<string> = new Set(["package.json", "binding.gyp"]);

/** Dependencies of these are looked at. */
const ofDependencies = ["dependencies", "devDependencies", "optionalDependencies"];

/** A package that comes from no registry: only the author of the file knows its scripts. */
const fromElsewhere =
  /^(file|link|portal|git|git\+\w+|https?|github|gitlab|bitbucket|gist):|^(\.{1,2}|~)?\/|^[\w.-]+\/[\w.-]+|\.(tgz|tar\.gz|tar)$/;

/** Name for the packages of a `package.json` that come from no registry. */
const elsewhere = "packages from files or addresses";

/** The scripts that an install runs because of a file, by name. A `binding.gyp` is a script `install`. */
export function installScripts(path: string, text: string): Record<string, string> {
  if (path.split("/").at(-1) === "binding.gyp") return { install: sha256Hex(text) };
  const value = parseJson(text);
  const scripts = fieldsOrNone(fieldsOrNone(value)["scripts"]);
  const named = ofInstall.flatMap((name) => {
    const line = Object.hasOwn(scripts, name) ? scripts[name] : null;
    return typeof line === "string" ? [[name, line]] : [];
  });
  const packages = ofDependencies.flatMap((group) =>
    Object.entries(fieldsOrNone(fieldsOrNone(value)[group])).filter(([, from]) => fromElsewhere.test(String(from)))
  );
  const all = packages.length === 0 ? named : [...named, [elsewhere, JSON.stringify(packages.sort())]];
  return Object.fromEntries(
    all.map(([name, line]) => [name, line!.length > longestLine ? sha256Hex(line!) : line]),
  );
}

/** A longer script is compared by its digest. */
const longestLine = 1000;

/** Names of the scripts that are not in another version of the file, or differ from it. */
export function changedScripts(
  scripts: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
): string[] {
  return Object.keys(scripts).filter((name) => scripts[name] !== before[name]);
}
