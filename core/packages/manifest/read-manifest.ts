import satisfies from "semver/functions/satisfies.js";
import valid from "semver/functions/valid.js";
import validRange from "semver/ranges/valid.js";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type CliTool, contractVersion, type Manifest, manifestSchema } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { checkAgainst } from "../../ground/config/check-against.ts";
import { outputSchemaFaults } from "../../ground/checks/schema-faults.ts";
import { defaultLimits, type Limits } from "../../ground/config/limits.ts";
import { readNet } from "../../ground/config/net-address.ts";
import { permissionProblems } from "../../ground/config/permission-problems.ts";
import { readTextFile } from "../../ground/config/read-text-file.ts";
import { reservedIds } from "../../ground/config/plugin-ids.ts";
import { describeFound, didYouMean, pathText, type Problem, problemsError } from "../../ground/config/yaml-problems.ts";
import type { ParsedYaml } from "../../ground/config/yaml.ts";
import { realpath, stat } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { basename, extname, isAbsolute, isBelow, join, resolve } from "../../ground/platform/files/paths.ts";
import { codeExtensions } from "./code-extensions.ts";
import type { KnownManifests } from "./known-manifests.ts";
import { possiblePermissions } from "./option-permissions.ts";
import { configSchemaFaults } from "./plugin-config.ts";
import { type ManifestFault, toolFaults } from "./tool-faults.ts";

/** File name of a plugin's manifest. */
export const manifestName = "plugin.yaml";

/**
 * Reads and checks `plugin.yaml` of a package folder.
 * @param called name of the package in errors; default: its folder's
 * @param sha256 what its bytes must hash to, of an installed one
 * @param known those that need not be parsed again
 * @throws {BulkheadError} `not_found`, `io_error`, `invalid_package`; `invalid_manifest` with file, line and column of every problem
 */
export async function readManifest(
  folder: string,
  { limits = defaultLimits, called = basename(folder), sha256, known }: {
    limits?: Pick<Limits, "manifest_bytes" | "yaml_aliases">;
    called?: string;
    sha256?: string | undefined;
    known?: KnownManifests | undefined;
  } = {},
): Promise<Manifest> {
  const file = join(folder, manifestName);
  const name = `${called}/${manifestName}`;
  const text = await readTextFile(file, { maxBytes: limits.manifest_bytes, code: "invalid_manifest", name });
  if (sha256 !== undefined && sha256Hex(text) !== sha256) {
    throw new BulkheadError("invalid_package", `Cannot read ${file}: it is not the file that was installed.`);
  }
  const terms = limits.yaml_aliases;
  const before = known?.find(text, terms);
  // The same text need not be checked again, but the files that it names may have changed.
  if (before !== undefined && (await fileFaults(before, folder)).length === 0) return before;
  // Most hosts know all their manifests, and need no parser.
  const { parseYaml } = await import("../../ground/config/yaml.ts");
  const parsed = parseYaml(text, { file: name, maxBytes: limits.manifest_bytes, maxAliases: limits.yaml_aliases });
  const manifest = checkAgainst(manifestSchema, parsed);
  const faults = [...manifestFaults(manifest), ...toolFaults(manifest), ...await fileFaults(manifest, folder)];
  const problems = [
    ...faults.map((fault) => problemOf(fault, parsed)),
    ...askingParts(manifest).flatMap(({ prefix, permissions }) =>
      permissionProblems(permissions, { parsed, prefix, options: manifest.config?.properties ?? {} })
    ),
  ];
  if (problems.length > 0) throw problemsError("invalid_manifest", problems, text);
  known?.note(text, terms, manifest);
  return manifest;
}

function problemOf({ path, of = "value", ...words }: ManifestFault, parsed: ParsedYaml): Problem {
  return { file: parsed.file, ...parsed.locate(path, of), path: pathText(path), ...words };
}

function* manifestFaults(manifest: Manifest): Generator<ManifestFault> {
  const { id, version, host, entry, cli, normaliser, config, tested = {} } = manifest;
  if (reservedIds.includes(id)) {
    yield { path: ["id"], expected: `an id other than ${reservedIds.join(", ")}`, found: describeFound(id) };
  }
  for (const { prefix, permissions: { secrets = [] } } of askingParts(manifest)) {
    for (const [index, { env = [], hosts = [] }] of secrets.entries()) {
      if (env.length + hosts.length > 0) continue;
      const expected = "env or hosts, which say where the secret may go";
      yield { path: [...prefix, "secrets", index], expected, found: "neither" };
    }
  }
  yield* choiceFaults(manifest);
  yield* mcpServerFaults(manifest);
  yield* endpointFaults(manifest);
  for (const [index, host] of (manifest.housekeeping ?? []).entries()) {
    if (readNet(host) !== null) continue;
    yield { path: ["housekeeping", index], expected: "host:port", found: describeFound(host) };
  }
  if (valid(version) !== version) {
    yield { path: ["version"], expected: "a version such as 0.1.0", found: describeFound(version) };
  }
  if (validRange(host) === null) {
    yield { path: ["host"], expected: "a range of versions such as ^1.0.0", found: describeFound(host) };
  } else if (!satisfies(contractVersion, host)) {
    const found = describeFound(host);
    yield { path: ["host"], expected: `a range that allows this host's contract ${contractVersion}`, found };
  }
  for (const [program, range] of Object.entries(tested)) {
    if (validRange(range) !== null) continue;
    const found = describeFound(range);
    yield { path: ["tested", program], expected: "a range of versions such as 1.2.0 - 1.4.0", found };
  }
  if (entry !== undefined && cli !== undefined) {
    yield { path: ["cli"], of: "key", expected: "either entry or cli", found: "both" };
  }
  if (entry === undefined && cli === undefined) yield { path: [], expected: "either entry or cli", found: "neither" };
  if (normaliser !== undefined && cli === undefined) {
    yield { path: ["normaliser"], of: "key", expected: "a normaliser only beside cli", found: "one without it" };
  }
  if (config) yield* configSchemaFaults(config);
  const { output_schema } = manifest;
  for (const { path, ...words } of output_schema === undefined ? [] : outputSchemaFaults(output_schema)) {
    yield { path: ["output_schema", ...path], ...words };
  }
}

/** Permissions with the place where a manifest asks for them. */
interface AskingPart {
  prefix: string[];
  permissions: Permissions;
}

function askingParts({ permissions = {}, permissions_for = {} }: Manifest): AskingPart[] {
  const chosen = Object.entries(permissions_for).flatMap(([option, entries]) =>
    Object.entries(entries).map(([value, asked]) => ({
      prefix: ["permissions_for", option, value],
      permissions: asked,
    }))
  );
  return [{ prefix: ["permissions"], permissions }, ...chosen];
}

function* choiceFaults({ permissions_for = {}, config }: Manifest): Generator<ManifestFault> {
  const options = config?.properties ?? {};
  for (const [option, entries] of Object.entries(permissions_for)) {
    const choices = (Object.hasOwn(options, option) ? options[option]?.enum : undefined)?.map(String);
    if (choices === undefined) {
      const hint = didYouMean(option, Object.keys(options));
      const words = { expected: "an option of the manifest's config that has an enum", found: describeFound(option) };
      yield { path: ["permissions_for", option], of: "key", ...words, hint };
      continue;
    }
    for (const value of Object.keys(entries)) {
      if (choices.includes(value)) continue;
      const expected = `a value of the option: ${choices.join(", ")}`;
      yield { path: ["permissions_for", option, value], of: "key", expected, found: describeFound(value) };
    }
  }
}

/** A request's MCP servers hold secrets: the manifest says which of its programs gets them, and the operator grants that. */
function* mcpServerFaults(manifest: Manifest): Generator<ManifestFault> {
  const programs = programsOf(manifest);
  const { mcp_servers = [] } = possiblePermissions(manifest);
  if (manifest.accepts?.includes("mcp_servers") && programs.length > 0 && mcp_servers.length === 0) {
    const expected = "the programs that may be handed a session's MCP servers, because accepts names mcp_servers";
    yield { path: ["permissions", "mcp_servers"], expected, found: "none" };
  }
  for (const { prefix, permissions } of askingParts(manifest)) {
    for (const [index, program] of (permissions.mcp_servers ?? []).entries()) {
      if (programs.includes(program)) continue;
      const path = [...prefix, "mcp_servers", index];
      yield { path, expected: "a program that the manifest runs", found: describeFound(program) };
    }
  }
}

/** A program is handed no variable that its entry does not name, so an endpoint for another one would do nothing. */
function* endpointFaults(manifest: Manifest): Generator<ManifestFault> {
  const { run = [] } = possiblePermissions(manifest);
  const { cli } = manifest;
  for (const [index, endpoint] of (manifest.endpoints ?? []).entries()) {
    const names = run.filter(({ binary }) => binary === endpoint.program).flatMap(({ env = [] }) => env);
    if (cli && binariesOf(cli).includes(endpoint.program)) names.push(...Object.keys(cli.env_vars ?? {}));
    for (const key of ["key", "base_url"] as const) {
      if (names.includes(endpoint[key])) continue;
      const expected = `a variable that "env" of ${JSON.stringify(endpoint.program)} names`;
      yield { path: ["endpoints", index, key], expected, found: describeFound(endpoint[key]) };
    }
  }
}

function programsOf({ cli, ...asking }: Manifest): string[] {
  return [...(possiblePermissions(asking).run ?? []).map(({ binary }) => binary), ...(cli ? binariesOf(cli) : [])];
}

function binariesOf({ binary }: CliTool): string[] {
  return typeof binary === "string" ? [binary] : Object.values(binary);
}

async function fileFaults(manifest: Manifest, folder: string): Promise<ManifestFault[]> {
  const faults: ManifestFault[] = [];
  for (const key of ["entry", "normaliser"] as const) {
    const path = manifest[key];
    const fault = path === undefined ? null : await codeFileFault(path, folder);
    if (fault && path !== undefined) faults.push({ path: [key], expected: fault, found: describeFound(path) });
  }
  return faults;
}

/** Says what a path to code should have been; null when it is a file inside the package, links followed. */
async function codeFileFault(path: string, folder: string): Promise<string | null> {
  const file = resolve(folder, path);
  if (isAbsolute(path) || !isBelow(folder, file)) return "a path inside the package";
  if (!codeExtensions.includes(extname(path))) return `a file with one of ${codeExtensions.join(" ")}`;
  try {
    const [root, real] = [await realpath(folder), await realpath(file)];
    if (!isBelow(root, real)) return "a file that no link takes outside the package";
    return (await stat(real)).isFile() ? null : "a file";
  } catch {
    return "an existing file";
  }
}
