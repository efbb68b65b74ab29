import { isFields, parseJson } from "../../../plugin-sdk/json-fields.ts";
import { readFile, realpath } from "../../ground/platform/files/files.ts";
import { delimiter, dirname, isAbsolute, join } from "../../ground/platform/files/paths.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";

/** Options of {@link npmProgram}. */
export interface NpmProgramOptions {
  /** Folders called `node_modules` in which the package may be installed. */
  modules: readonly string[];
  /** Asks the registry for the `package.json` of a version; null where it tells none. */
  askRegistry: (wanted: { name: string; version: string | null }) => Promise<unknown>;
}

/**
 * Returns the name of the program that an npm package installs, from the `bin` of the installed package or of the
 * published one; null where neither can be had.
 * @param spec a name, or `name@version`
 */
export async function npmProgram(spec: string, { modules, askRegistry }: NpmProgramOptions): Promise<string | null> {
  const name = plainPackage(spec);
  // Such a name would lead out of the folder, and ask the registry for something else.
  if (!/^(?:@[\w.-]+\/)?[\w.-]+$/.test(name) || name.split("/").includes("..")) return null;
  for (const folder of modules) {
    const found = binOf(parseJson(await packageText(join(folder, name))), name);
    if (found !== null) return found;
  }
  return binOf(await askRegistry({ name, version: spec.slice(name.length + 1) || null }), name);
}

/** `@scope/name@1.2.3` without its version, and `name[extra]==1.2.3` as `name`. */
export function plainPackage(text: string): string {
  return text.replace(/(?<=.)(?:@|==|\[).*$/, "");
}

/** The folders in which npm installs packages for a folder, and for the programs on the PATH. */
export function modulesAround(folder: string): string[] {
  const own: string[] = [];
  for (let here = folder;; here = dirname(here)) {
    own.push(join(here, "node_modules"));
    if (dirname(here) === here) break;
  }
  const bins = (hostEnv("PATH") ?? "").split(delimiter).filter((entry) => isAbsolute(entry));
  return [...own, ...bins.flatMap((bin) => [join(dirname(bin), "lib", "node_modules"), join(bin, "node_modules")])];
}

/** As npx chooses: the only program, the one that all names lead to, else the one called as the package. */
function binOf(described: unknown, packageName: string): string | null {
  if (!isFields(described) || described["name"] !== packageName) return null;
  const plain = packageName.replace(/^@[^/]+\//, "");
  const { bin } = described;
  if (typeof bin === "string") return plain;
  if (!isFields(bin)) return null;
  const names = Object.keys(bin);
  const [first] = names;
  if (first === undefined || names.includes(plain)) return first === undefined ? null : plain;
  return new Set(Object.values(bin)).size === 1 ? first : null;
}

async function packageText(folder: string): Promise<string> {
  return await realpath(join(folder, "package.json")).then((file) => readFile(file, "utf8")).catch(() => "");
}
