import { formatArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { isHiddenValue } from "../../ground/config/host-manifest-places.ts";
import type { BreadthOptions } from "./broad-permissions.ts";
import { containsPrograms } from "./contained-programs.ts";
import type { ExplainedPermission } from "../../../plugin-sdk/plugin-report.ts";
import { explainPermissions } from "./explain-permissions.ts";
import type { Plugin } from "../manifest/plugin.ts";
import { requestedPermissions } from "./requested-permissions.ts";

/** Explains the permissions that a plugin asks for and the decision on each, without values that must not be shown. */
export function shownPermissions(plugin: Plugin, places: BreadthOptions): ExplainedPermission[] {
  const { manifest, grant, deny, hidden_texts = [] } = plugin;
  const rows = explainPermissions({ requested: requestedPermissions(manifest), grant, deny }, {
    ...places,
    contained: containsPrograms(plugin),
  });
  return hideArguments(rows, hidden_texts);
}

/** Option values that must not be shown: values from the environment, and values that may be secrets. */
export function hiddenTexts(manifest: HostManifest, id: string, config: Readonly<Record<string, unknown>>): string[] {
  const hidden = Object.entries(config).filter(([option]) =>
    isHiddenValue(manifest, ["plugins", id, "config", option])
  );
  const texts = hidden.flatMap(([, value]) => (Array.isArray(value) ? value : [value]) as unknown[]);
  return texts.filter((text): text is string => typeof text === "string" && text !== "");
}

/** Returns the rows with these texts hidden from the arguments of programs. */
export function hideArguments(rows: readonly ExplainedPermission[], texts: readonly string[]): ExplainedPermission[] {
  if (texts.length === 0) return [...rows];
  const words = asPatterns(texts);
  const hide = (line: string, binary: string): string =>
    line.startsWith(`${binary} `) ? `${binary} ${withoutWords(line.slice(binary.length + 1), words)}` : line;
  return rows.map((row) => {
    const { permission, binary, target, effective } = row;
    if (permission !== "run" || binary === undefined) return row;
    return { ...row, target: hide(target, binary), effective: effective.map((line) => hide(line, binary)) };
  });
}

/** Whether an argument pattern has one of these texts. */
export function hasHidden(line: string, texts: readonly string[]): boolean {
  return texts.length > 0 && withoutWords(line, asPatterns(texts)) !== withoutWords(line, new Set());
}

function asPatterns(texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.map((literal) => formatArgumentPattern([[{ literal }]])));
}

function withoutWords(line: string, words: ReadonlySet<string>): string {
  return (line.match(/"(?:[^"\\]|\\.)*"|[^ ]+/g) ?? []).map((word) => (words.has(word) ? "(hidden)" : word)).join(" ");
}
