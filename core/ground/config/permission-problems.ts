import { parseArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { ConfigSchema, OptionSchema } from "../../../plugin-sdk/manifest.ts";
import type { Permissions, RunPermission, SecretPermission } from "../../../plugin-sdk/permissions.ts";
import { isAbsolute } from "../platform/files/paths.ts";
import { lineProblem } from "./line-problem.ts";
import { readNet } from "./net-address.ts";
import { type ItemPlace, replaceItems } from "./replace-items.ts";
import { describeFound, didYouMean, type KeyPath, pathText, type Problem } from "./yaml-problems.ts";
import type { ParsedYaml } from "./yaml.ts";

/** Location of permissions in a file. */
interface PermissionProblemsOptions {
  parsed: ParsedYaml;
  /** Their path in the file. */
  prefix: KeyPath;
  /** The plugin's options, for a manifest: its permissions may name them. */
  options?: ConfigSchema["properties"];
}

/** Finds faults that a schema cannot express: the forms of programs, argument patterns, roots, addresses and names. */
export function permissionProblems(
  permissions: Permissions,
  { parsed, prefix, options }: PermissionProblemsOptions,
): Problem[] {
  const named = options ? optionFaults(permissions, options) : [];
  const plain = options ? withoutOptions(permissions) : permissions;
  return [...named, ...faults(plain)].map(({ path, ...words }) => {
    const whole = [...prefix, ...path];
    return { file: parsed.file, ...parsed.locate(whole), path: pathText(whole), ...words };
  });
}

/** The option that replaces an item, as in `{config.command}`; null for a literal item. */
export function optionNamed(item: string): string | null {
  return /^\{config\.([A-Za-z0-9_-]+)\}$/.exec(item)?.[1] ?? null;
}

interface Fault {
  path: KeyPath;
  expected: string;
  found: string;
  says?: string | undefined;
  hint?: string | undefined;
}

const environmentName = /^[A-Za-z_][A-Za-z0-9_]*$/;

function* faults(permissions: Permissions): Generator<Fault> {
  for (const [index, run] of (permissions.run ?? []).entries()) yield* runFaults(run, ["run", index]);
  yield* listFaults("read", permissions.read, {
    fits: isReadRoot,
    expected: "workdir, workdir:<path>, data, plugin, config:<tool> or an absolute path",
  });
  yield* listFaults("write", permissions.write, {
    fits: isWriteRoot,
    expected: "workdir, workdir:<path>, data, config:<tool> or an absolute path",
  });
  yield* listFaults("net", permissions.net, { fits: isNet, expected: "host:port" });
  yield* listFaults("env", permissions.env, { fits: isName, expected: "the name of an environment variable" });
  yield* listFaults("mcp_servers", permissions.mcp_servers, {
    fits: isBinary,
    expected: "a program, as the run permission names it",
  });
  for (const [index, secret] of (permissions.secrets ?? []).entries()) yield* secretFaults(secret, ["secrets", index]);
}

/** Finds items that name options, with the type that the options must have. */
function* optionFaults(permissions: Permissions, options: ConfigSchema["properties"]): Generator<Fault> {
  const { run = [], net = [], env = [], secrets = [], mcp_servers = [] } = permissions;
  const items: [path: KeyPath, item: string, types: OptionSchema["type"][]][] = [
    ...run.flatMap((entry, at): typeof items => [
      [["run", at, "binary"], entry.binary, ["string"]],
      ...within(["run", at, "args"], entry.args),
      ...within(["run", at, "env"], entry.env),
    ]),
    ...within(["net"], net),
    ...within(["env"], env),
    ...within(["mcp_servers"], mcp_servers),
    ...secrets.flatMap(({ name, ...into }, at): typeof items => [
      [["secrets", at, "name"], name, ["string"]],
      ...within(["secrets", at, "env"], into.env),
      ...within(["secrets", at, "hosts"], into.hosts),
    ]),
  ];
  for (const [path, item, types] of items) {
    const name = optionNamed(item);
    if (name === null) continue;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    // A permission is made of texts.
    if (option && types.includes(option.type) && option.items === undefined) continue;
    const hint = didYouMean(name, Object.keys(options));
    const found = option ? `one of type ${option.type}` : describeFound(item);
    const expected = `an option of the manifest's config, of type ${types.join(" or ")}`;
    yield { path, expected, found, hint: option ? undefined : hint };
  }
}

function within(path: KeyPath, items: readonly string[] = []): [KeyPath, string, OptionSchema["type"][]][] {
  return items.map((item, index) => [[...path, index], item, ["string", "array"]]);
}

/** The same permissions, with a valid value for each option. */
function withoutOptions(permissions: Permissions): Permissions {
  return replaceItems(permissions, (item, place) => [optionNamed(item) === null ? item : validItems[place]]);
}

const validItems: Record<ItemPlace, string> = {
  "run.binary": "program",
  "run.args": "",
  "run.env": "NAME",
  net: "host:1",
  env: "NAME",
  "secrets.name": "NAME",
  "secrets.env": "NAME",
  "secrets.hosts": "host:1",
  mcp_servers: "program",
};

function* secretFaults({ name, env, hosts }: SecretPermission, path: KeyPath): Generator<Fault> {
  if (!isName(name)) yield { path: [...path, "name"], expected: "the name of a secret", found: describeFound(name) };
  yield* listFaults([...path, "env"], env, { fits: isName, expected: "the name of an environment variable" });
  yield* listFaults([...path, "hosts"], hosts, { fits: isNet, expected: "host:port" });
}

function* listFaults(
  kind: string | KeyPath,
  items: readonly string[] | undefined,
  { fits, expected }: { fits(item: string): boolean; expected: string },
): Generator<Fault> {
  for (const [index, item] of (items ?? []).entries()) {
    if (!fits(item)) yield { path: [...[kind].flat(), index], expected, found: describeFound(item) };
  }
}

function* runFaults(run: RunPermission, path: KeyPath): Generator<Fault> {
  if (!isBinary(run.binary)) {
    const expected = "a name, an absolute path, ./path inside the plugin, or @runtime";
    yield { path: [...path, "binary"], expected, found: describeFound(run.binary) };
  }
  for (const [index, line] of (run.args ?? []).entries()) {
    const fault = patternFault(line);
    if (fault) yield { path: [...path, "args", index], expected: "an argument pattern", ...fault };
  }
  for (const [index, name] of (run.env ?? []).entries()) {
    if (isName(name)) continue;
    yield {
      path: [...path, "env", index],
      expected: "the name of an environment variable",
      found: describeFound(name),
    };
  }
}

function patternFault(line: string): Pick<Fault, "found" | "says" | "hint"> | null {
  try {
    parseArgumentPattern(line);
    return null;
  } catch (error) {
    if (!(error instanceof BulkheadError)) throw error;
    return { found: describeFound(line), ...lineProblem(error) };
  }
}

/** True for a valid program name: a bare name, an absolute path, `./` inside the plugin's folder, `@runtime`. */
export function isBinary(text: string): boolean {
  if (text === "@runtime" || isPlainPath(text)) return true;
  if (text.startsWith("./")) return text.length > 2 && staysInside(text);
  return /^[^/\\@-][^/\\]*$/.test(text) && text !== "." && text !== "..";
}

function isReadRoot(text: string): boolean {
  return text === "plugin" || isWriteRoot(text);
}

function isWriteRoot(text: string): boolean {
  return text === "workdir" || text === "data" || /^config:[a-z0-9]+(-[a-z0-9]+)*$/.test(text) || isPlainPath(text) ||
    isInWorkdir(text);
}

/** True for `workdir:` and a path without empty or `..` parts, so that one place has one spelling. */
function isInWorkdir(text: string): boolean {
  const below = /^workdir:(.+)$/s.exec(text)?.[1];
  return below !== undefined && below.split("/").every((part) => part !== "" && part !== "." && part !== "..") &&
    staysInside(below);
}

/** True for an absolute path without `..`, which would make it read as another place. */
function isPlainPath(text: string): boolean {
  return isAbsolute(text) && staysInside(text);
}

function staysInside(text: string): boolean {
  return !text.split(/[\\/]/).includes("..");
}

function isNet(text: string): boolean {
  return readNet(text) !== null;
}

/** True for a valid name of an environment variable. */
export function isName(text: string): boolean {
  return environmentName.test(text);
}
