import type { AdapterContext } from "../../../plugin-sdk/context.ts";
import { nearest } from "../../ground/config/nearest.ts";
import { globalSubstitutes } from "../bundler/substitutes.ts";

/** Every member of `ctx`; members of its objects follow a dot. */
const members: { readonly [Name in keyof AdapterContext]: readonly (keyof AdapterContext[Name] & string)[] } = {
  signal: [],
  session_id: [],
  attempt: [],
  workdir: [],
  plugin_dir: [],
  platform: [],
  run: [],
  which: [],
  fetch: [],
  connect: [],
  fs: ["readText", "writeText", "writeBase64", "list", "stat", "remove"],
  temp: ["write", "read"],
  attachments: ["base64", "path"],
  env: ["get"],
  secrets: ["use"],
  kv: ["get", "set", "delete", "list"],
  log: ["debug", "info", "warn", "error"],
  sleep: [],
  permission: [],
  answer: [],
  turns: [],
};

/** Every way to write a member: `run`, `fs`, `fs.readText`. */
export const contextPaths: readonly string[] = Object.entries(members).flatMap(([name, inner]) => [
  name,
  ...inner.map((one) => `${name}.${one}`),
]);

/** Names that other runtimes have for it. */
const otherNames: readonly (readonly [RegExp, string])[] = [
  [/^read_?(text_?)?file/i, "fs.readText"],
  [/^write_?(text_?)?file/i, "fs.writeText"],
  [/^(read_?dir|list|ls)/i, "fs.list"],
  [/^(unlink|rm|delete)/i, "fs.remove"],
  [/^(exec|spawn|command|shell)/i, "run"],
  [/^(delay|wait|set_?timeout)/i, "sleep"],
  [/^(cwd|dir|folder)/i, "workdir"],
  [/^(storage|store|cache)/i, "kv"],
  [/^(logger|console|print)/i, "log.info"],
  [/^(ask|question|prompt)/i, "answer"],
  [/^(request|http)/i, "fetch"],
];

/**
 * Says what to write instead, where an adapter threw because it used something that it does not have.
 * @param before the script's text up to the place where it was thrown
 */
export function thrownHint(message: string, before: string): string | null {
  const used = usedIn(message, before)?.replace(/^globalThis\./, "");
  if (used === undefined) return null;
  const instead = Object.hasOwn(globalSubstitutes, used) ? globalSubstitutes[used] : undefined;
  if (instead !== undefined) return `There is no ${used} in an adapter: ${instead}.`;
  const [, wrong] = /(?:^|\.)(?:ctx|context)\.([\w$.]{1,64})$/.exec(used) ?? [];
  return wrong === undefined || contextPaths.includes(wrong) ? null : memberHint(wrong);
}

/** The expression that had no value, as far as engines and the text before the place tell it. */
function usedIn(message: string, before: string): string | null {
  const [, called] = /([\w$.]{1,128}) is not (?:a function|a constructor|defined|iterable)/.exec(message) ?? [];
  if (called !== undefined) return called;
  const [, taken] = /Cannot destructure property '[^']*' of '([\w$.]{1,128})' as it is undefined/.exec(message) ?? [];
  if (taken !== undefined) return taken;
  if (!message.includes("Cannot read properties of undefined")) return null;
  return /([\w$.]{1,128})\s*(?:\.|\[)\s*$/.exec(before.slice(-256))?.[1] ?? null;
}

function memberHint(wrong: string): string {
  const last = wrong.split(".").at(-1)!;
  const near = nearest(wrong, contextPaths) ?? otherNames.find(([name]) => name.test(last))?.[1] ??
    contextPaths.find((path) => path.split(".").at(-1) === last);
  if (near !== undefined) return `ctx has no ${wrong}; did you mean ctx.${near}?`;
  return `ctx has no ${wrong}. It has: ${Object.keys(members).join(", ")}.`;
}
