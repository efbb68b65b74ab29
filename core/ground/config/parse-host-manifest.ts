import { type CliTool, cliToolSchema } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { hostEnv } from "../runtime/platform.ts";
import { schemaProblems } from "./check-against.ts";
import { fillReferences } from "./environment-references.ts";
import { isHiddenPlace } from "./hidden-values.ts";
import type { HostManifest } from "./host-manifest.ts";
import { rememberPlaces } from "./host-manifest-places.ts";
import { hostManifestJsonSchema, hostManifestSchema } from "./host-manifest-schema.ts";
import { mostEventBytes } from "./journal-size.ts";
import { defaultLimits } from "./limits.ts";
import { permissionProblems } from "./permission-problems.ts";
import { describeFound, pathText, type Problem, problemsError } from "./yaml-problems.ts";
import { type ParsedYaml, parseYaml } from "./yaml.ts";
import { zodProblems } from "./zod-problems.ts";

/**
 * Reads and checks a host manifest, and fills in its defaults and its references to the environment.
 * @throws {BulkheadError} `invalid_config`, listing every problem with file, line and column
 */
export function parseHostManifest(
  text: string,
  { file, env = hostEnv }: { file: string; env?: (name: string) => string | undefined },
): HostManifest {
  const written = parseYaml(text, {
    file,
    maxBytes: defaultLimits.manifest_bytes,
    maxAliases: defaultLimits.yaml_aliases,
    code: "invalid_config",
  });
  const { value, problems: unset, references } = fillReferences(written, env);
  if (unset.length > 0) throw problemsError("invalid_config", unset, written.source);
  const parsed = { ...written, value };
  const hidden = (problem: Problem): Problem =>
    isHiddenPlace(problem.path, references) ? withoutValue(problem) : problem;
  const checked = hostManifestSchema().safeParse(parsed.value);
  const problems = checked.success ? [] : zodProblems(checked.error.issues, parsed, hostManifestJsonSchema());
  problems.push(...toolProblems(parsed));
  if (!checked.success || problems.length > 0) {
    throw problemsError("invalid_config", problems.map(hidden), written.source);
  }
  const rest = detailProblems(checked.data, parsed);
  if (rest.length > 0) throw problemsError("invalid_config", rest.map(hidden), written.source);
  // The tools were checked against their own schema just now.
  const manifest: HostManifest = { ...checked.data, tools: checked.data.tools as HostManifest["tools"] };
  rememberPlaces(manifest, { ...parsed, references });
  return manifest;
}

/** Hides a malformed secret reference, because it may be the secret itself. */
function withoutValue({ says: _, ...problem }: Problem): Problem {
  return { ...problem, found: "something else" };
}

function toolProblems(parsed: ParsedYaml): Problem[] {
  return entriesOf(parsed.value, "tools").flatMap(([id, tool]) => {
    if (typeof tool !== "object" || tool === null || Array.isArray(tool)) return [];
    const { grant: _, ...own } = tool as CliTool & { grant?: unknown };
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
    ...permissionProblems((tool as { grant: Permissions }).grant, { parsed, prefix: ["tools", id, "grant"] }),
    ...(Object.hasOwn(manifest.plugins, id) ? [twice(id, parsed)] : []),
  ]);
  return [...plugins, ...tools, ...journalProblems(manifest, parsed)];
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
