import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import { cliToolSchema } from "../../../plugin-sdk/manifest.ts";
import { outputSchemaFaults } from "../checks/schema-faults.ts";
import { hostEnv } from "../platform/engine/platform.ts";
import { schemaProblems } from "./check-against.ts";
import { fillReferences, mapTexts, scalarOf } from "./environment-references.ts";
import { isHiddenPlace } from "./hidden-values.ts";
import type { HostManifest, InlineTool } from "./host-manifest.ts";
import { rememberPlaces } from "./host-manifest-places.ts";
import { hostManifestJsonSchema, hostManifestSchema } from "./host-manifest-schema.ts";
import { mostEventBytes } from "./journal-size.ts";
import { defaultLimits } from "./limits.ts";
import { permissionProblems } from "./permission-problems.ts";
import { describeFound, type KeyPath, pathText, type Problem, problemsError } from "./yaml-problems.ts";
import { type ParsedYaml, parseYaml } from "./yaml.ts";
import { zodProblems } from "./zod-problems.ts";

interface ParseOptions {
  /** Name of the file, for errors. */
  file: string;
  env?: (name: string) => string | undefined;
  /** Leaves out entries of `plugins` and `tools` that are wrong, each with its reason, instead of throwing. */
  leaveOut?: boolean;
}

/**
 * Reads and checks a host manifest, and fills in its defaults and its references to the environment.
 * @throws {BulkheadError} `invalid_config`, listing every problem with file, line and column
 */
export function parseHostManifest(
  text: string,
  { file, env = hostEnv, leaveOut = false }: ParseOptions,
): HostManifest {
  const written = parseYaml(text, {
    file,
    maxBytes: defaultLimits.manifest_bytes,
    maxAliases: defaultLimits.yaml_aliases,
    code: "invalid_config",
  });
  const { value, problems: unset, references } = fillReferences(written, env);
  const left = new Map<string, Problem[]>();
  const hidden = (problem: Problem): Problem =>
    isHiddenPlace(problem.path, references) ? withoutValue(problem, references.get(problem.path)) : problem;
  let found: Problem[] = unset;
  for (let parsed = { ...written, value };;) {
    const { manifest, problems } = found.length > 0 ? { problems: found } : checked(typed(parsed, references), hidden);
    if (manifest !== undefined) {
      rememberPlaces(manifest, { ...written, value, references });
      return left.size === 0 ? manifest : Object.assign(manifest, { left_out: reasons(left, written.source) });
    }
    const ids = problems.map(({ path }) => entryIn(path));
    // What is wrong elsewhere holds for all plugins.
    if (!leaveOut || ids.includes(null)) {
      throw problemsError("invalid_config", [...[...left.values()].flat(), ...problems], written.source);
    }
    for (const [at, id] of ids.entries()) left.set(id!, [...left.get(id!) ?? [], problems[at]!]);
    parsed = { ...parsed, value: withoutEntries(parsed.value, left) };
    found = [];
  }
}

/** Returns the manifest, or all that is wrong with it. */
function checked(
  parsed: ParsedYaml,
  hidden: (problem: Problem) => Problem,
): { manifest: HostManifest; problems: [] } | { manifest?: undefined; problems: Problem[] } {
  const read = hostManifestSchema().safeParse(parsed.value);
  const problems = read.success ? [] : zodProblems(read.error.issues, parsed, hostManifestJsonSchema());
  problems.push(...toolProblems(parsed));
  if (!read.success || problems.length > 0) return { problems: problems.map(hidden) };
  const rest = detailProblems(read.data, parsed);
  if (rest.length > 0) return { problems: rest.map(hidden) };
  // The tools were checked against their own schema just now.
  return { manifest: { ...read.data, tools: read.data.tools as HostManifest["tools"] }, problems: [] };
}

const entryPath = /^(?:plugins|tools)(?:\.([\w-]+)|\[("(?:[^"\\]|\\.)*")\])/;

/** Returns the id of the entry that a problem is in; null for one elsewhere. */
function entryIn(path: string): string | null {
  const [, plain, quoted] = entryPath.exec(path) ?? [];
  return quoted === undefined ? plain ?? null : String(JSON.parse(quoted));
}

/** An id that stands under both `plugins` and `tools` is left out of both. */
function withoutEntries(value: unknown, left: ReadonlyMap<string, unknown>): unknown {
  const whole = { ...value as Record<string, unknown> };
  for (const key of ["plugins", "tools"]) {
    if (!Object.hasOwn(whole, key)) continue;
    whole[key] = Object.fromEntries(entriesOf(value, key).filter(([id]) => !left.has(id)));
  }
  return whole;
}

function reasons(left: ReadonlyMap<string, readonly Problem[]>, source: string): Record<string, ErrorData> {
  return Object.fromEntries(
    [...left].map(([id, problems]) => [id, problemsError("invalid_config", problems, source).toJSON()]),
  );
}

/** A variable holds text: where a number or a boolean is expected, it is read as one. */
function typed(parsed: ParsedYaml, references: ReadonlyMap<string, readonly string[]>): ParsedYaml {
  if (references.size === 0) return parsed;
  const { error } = hostManifestSchema().safeParse(parsed.value);
  const wrong = new Set((error?.issues ?? []).map(({ path }) => pathText(path as KeyPath)));
  const map = (text: string, path: KeyPath) => {
    const at = pathText(path);
    return wrong.has(at) && references.has(at) ? scalarOf(text) ?? text : text;
  };
  return { ...parsed, value: mapTexts(parsed.value, { at: [], map }) };
}

/** Hides a malformed secret reference, because it may be the secret itself. */
function withoutValue({ says: _, ...problem }: Problem, names: readonly string[] = []): Problem {
  const where = names.length === 0 ? "" : ` in ${names.map((name) => `\${${name}}`).join(", ")}`;
  return { ...problem, found: `something else${where}` };
}

function toolProblems(parsed: ParsedYaml): Problem[] {
  return entriesOf(parsed.value, "tools").flatMap(([id, tool]) => {
    if (typeof tool !== "object" || tool === null || Array.isArray(tool)) return [];
    const { grant: _, description: _said, output_schema: _schema, expose: _to, ...own } = tool as InlineTool;
    return schemaProblems(cliToolSchema, own, { parsed, prefix: ["tools", id] });
  });
}

function detailProblems(
  manifest: Pick<HostManifest, "journal" | "limits" | "plugins"> & { tools: object },
  parsed: ParsedYaml,
): Problem[] {
  const plugins = Object.entries(manifest.plugins).flatMap(([id, settings]) => [
    ...permissionProblems(settings.grant, { parsed, prefix: ["plugins", id, "grant"] }),
    ...permissionProblems(settings.deny, { parsed, prefix: ["plugins", id, "deny"] }),
  ]);
  const tools = Object.entries(manifest.tools).flatMap(([id, tool]) => [
    ...permissionProblems((tool as InlineTool).grant, { parsed, prefix: ["tools", id, "grant"] }),
    ...schemaFaults(tool as InlineTool, ["tools", id, "output_schema"]).map(({ path, ...fault }): Problem => {
      return { file: parsed.file, ...parsed.locate(path, "value"), path: pathText(path), ...fault };
    }),
    ...(Object.hasOwn(manifest.plugins, id) ? [twice(id, parsed)] : []),
  ]);
  return [...plugins, ...tools, ...journalProblems(manifest, parsed)];
}

function schemaFaults({ output_schema }: InlineTool, prefix: string[]): ReturnType<typeof outputSchemaFaults> {
  const faults = output_schema === undefined ? [] : outputSchemaFaults(output_schema);
  return faults.map(({ path, ...fault }) => ({ ...fault, path: [...prefix, ...path] }));
}

/** Keeps one session from filling the journal: it would leave no room for the history of other sessions. */
function journalProblems(
  { journal, limits, plugins }: Pick<HostManifest, "journal" | "limits" | "plugins">,
  parsed: ParsedYaml,
): Problem[] {
  const most = mostEventBytes(journal);
  const set: [path: string[], bytes: number | undefined][] = [
    [["limits", "event_bytes_total"], limits?.event_bytes_total],
    ...Object.entries(plugins).map(([id, settings]): [string[], number | undefined] => [
      ["plugins", id, "limits", "event_bytes_total"],
      settings.limits?.event_bytes_total,
    ]),
  ];
  return set.flatMap(([path, bytes]): Problem[] => {
    if (bytes === undefined || bytes <= most) return [];
    return [{
      file: parsed.file,
      ...parsed.locate(path, "value"),
      path: pathText(path),
      expected: `at most ${most}, half of journal.max_bytes: one session must leave room for the others`,
      found: describeFound(bytes),
    }];
  });
}

function twice(id: string, parsed: ParsedYaml): Problem {
  const path = ["tools", id];
  const place = parsed.locate(path, "key");
  return {
    file: parsed.file,
    ...place,
    path: pathText(path),
    expected: "an id that does not stand under plugins",
    found: describeFound(id),
  };
}

function entriesOf(value: unknown, key: string): [string, unknown][] {
  const map: unknown = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
  return typeof map === "object" && map !== null && !Array.isArray(map) ? Object.entries(map) : [];
}
