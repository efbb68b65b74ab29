import { sha256Hex } from "../../ground/runtime/hash.ts";
import { fieldsOf } from "../../../plugin-sdk/json-fields.ts";

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

/** The scripts of a `package.json` that an install runs; none where it is no such file. */
export function installScripts(text: string): Record<string, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return {};
  }
  const scripts = fieldsOf(fieldsOf(value)?.["scripts"]);
  if (scripts === null) return {};
  return Object.fromEntries(
    ofInstall.flatMap((name) => {
      const line = Object.hasOwn(scripts, name) ? scripts[name] : null;
      if (typeof line !== "string") return [];
      return [[name, line.length > longestLine ? sha256Hex(line) : line]];
    }),
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
