import { type ActedOnGroup, actedOnGroups } from "./acted-on-names.ts";
import { foldName } from "../files/fold-name.ts";

/** Kinds of programs whose settings in a project would run, or steer, something outside an agent's walls. */
const kinds = [
  "version control tools",
  "coding agents",
  "editors",
  "shells and terminals",
  "build servers",
  "Bulkhead hosts",
];

/**
 * Names of these kinds that are not guarded: people have agents edit them daily, or only the agent's own commands read
 * them. git takes the programs of filters and submodules from its settings alone. Its own folder has rules of its own.
 */
const free = new Set([
  ".env",
  ".flaskenv",
  ".git",
  ".gitattributes",
  ".gitmodules",
  ".tool-versions",
  "git~1",
  "mise.toml",
]);

/** Programs run from these at an install; the group of settings files that they belong to is not guarded. */
const alsoGuarded = new Set([".npmrc", ".yarnrc", ".yarnrc.yml"]);

/** The programs that act on a file or folder of this name, which a contained agent may not change; null for other names. */
export function guardedBy(name: string): ActedOnGroup | null {
  const folded = foldName(name);
  if (free.has(folded) || folded.startsWith(".env.")) return null;
  const isAlso = alsoGuarded.has(folded);
  return actedOnGroups.find(({ by, names, patterns = [] }) =>
    (isAlso || kinds.includes(by)) && (names.has(folded) || patterns.some((pattern) => pattern.test(folded)))
  ) ?? null;
}

/** Whether a name is that of git's own folder, in any spelling that a file system takes for it. */
export function isGitName(name: string): boolean {
  const folded = foldName(name);
  return folded === ".git" || folded === "git~1";
}
