import { parseHostManifest } from "../../ground/config/parse-host-manifest.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import {
  addGrant,
  editedText,
  isGrantOf,
  makeWay,
  type NewGrant,
  openDocument,
  parseForEdit,
} from "./edit-host-manifest.ts";

/** Names the file in errors. */
interface EditOptions {
  file: string;
}

/**
 * The host manifest's text with a plugin enabled or not; comments stay.
 * @throws {BulkheadError} `invalid_config` when the text was, or would be, no host manifest, and for a tool
 */
export function setEnabled(
  text: string,
  { pluginId, enabled, file }: EditOptions & { pluginId: string; enabled: boolean },
): string {
  const before = parseForEdit(text, { pluginId, file });
  if (Object.hasOwn(before.tools, pluginId)) {
    throw new BulkheadError("invalid_config", `Cannot change "${pluginId}": it is a tool, which is always enabled.`, {
      hint: "Remove it from tools in the host manifest.",
    });
  }
  if ((before.plugins[pluginId]?.enabled ?? false) === enabled) return text;
  const document = openDocument(text, file);
  const path = ["plugins", pluginId, "enabled"];
  makeWay(document, path, file);
  // A listed plugin is enabled.
  if (enabled) document.deleteIn(path);
  else document.setIn(path, false);
  return editedText(document, { before, pluginId, file });
}

/** A value and where it stands in a plugin's entry. */
export type EntryValue = [path: readonly string[], value: unknown];

/**
 * Returns the host manifest's text with values set in a plugin's entry; comments stay.
 * @throws {BulkheadError} `invalid_config` when the text was, or would be, no host manifest
 */
export function setInEntry(
  text: string,
  { pluginId, values, file }: EditOptions & { pluginId: string; values: readonly EntryValue[] },
): string {
  if (values.length === 0) return text;
  const before = parseForEdit(text, { pluginId, file });
  const document = openDocument(text, file);
  for (const [path, value] of values) {
    const whole = ["plugins", pluginId, ...path];
    makeWay(document, whole, file);
    document.setIn(whole, document.createNode(value));
  }
  return editedText(document, { before, pluginId, file });
}

/**
 * Returns the host manifest's text with `routing.agent` as this list of ids; comments stay.
 * @throws {BulkheadError} `invalid_config` when the text was, or would be, no host manifest
 */
export function setAgentOrder(text: string, { ids, file }: EditOptions & { ids: readonly string[] }): string {
  const before = parseForEdit(text, { pluginId: "", file });
  const document = openDocument(text, file);
  const path = ["routing", "agent"];
  makeWay(document, path, file);
  document.setIn(path, document.createNode(ids, { flow: true }));
  return editedText(document, { before, pluginId: "", file });
}

/** The host manifest's text without a plugin and all that is said about it. */
export function removePluginEntry(text: string, { pluginId, file }: EditOptions & { pluginId: string }): string {
  // The entry itself may be wrong.
  const before = parseHostManifest(text, { file, leaveOut: true });
  const document = openDocument(text, file);
  if (!document.deleteIn(["plugins", pluginId])) return text;
  return editedText(document, { before, pluginId, file });
}

/** The host manifest's text without what is said about a plugin; an instance stays one, and is disabled. */
export function emptyPluginEntry(text: string, { pluginId, file }: EditOptions & { pluginId: string }): string {
  const before = parseForEdit(text, { pluginId, file });
  const source = before.plugins[pluginId]?.source;
  if (source === undefined || source === pluginId) return removePluginEntry(text, { pluginId, file });
  const document = openDocument(text, file);
  document.setIn(["plugins", pluginId], document.createNode({ source, enabled: false }));
  return editedText(document, { before, pluginId, file });
}

/**
 * The host manifest's text with one grant, or one denial, less; a program or secret goes with all that stands beside its
 * name.
 */
export function removeGrant(
  text: string,
  { pluginId, permission, target, under = "grant" }: NewGrant,
  { file }: EditOptions,
): string {
  const before = parseForEdit(text, { pluginId, file });
  const granted = before.plugins[pluginId]?.[under] ?? {};
  const document = openDocument(text, file);
  const path = ["plugins", pluginId, under, permission];
  if (permission === "kv") {
    if (granted.kv !== true) return text;
    makeWay(document, path, file);
    document.deleteIn(path);
    return editedText(document, { before, pluginId, file });
  }
  const kept = (granted[permission] ?? []).map((item) =>
    nameOf(item) !== target && !isGrantOf(item, { permission, target })
  );
  if (kept.every(Boolean)) return text;
  makeWay(document, [...path, "0"], file);
  // From the end, so that the places before stay where they are.
  for (let index = kept.length - 1; index >= 0; index--) if (!kept[index]) document.deleteIn([...path, index]);
  if (!kept.some(Boolean)) document.deleteIn(path);
  return editedText(document, { before, pluginId, file });
}

/** The host manifest's text with a grant taken back; where there is none of that name, with the denial lifted. */
export function takeBack(text: string, old: NewGrant, { file }: EditOptions): string {
  const left = removeGrant(text, old, { file });
  return left === text ? removeGrant(text, { ...old, under: "deny" }, { file }) : left;
}

/** One grant of a plugin, and what is granted in its place. */
export interface GrantReplacement extends NewGrant {
  /** As {@link NewGrant.target}; null: nothing. */
  instead: string | null;
}

/**
 * The host manifest's text with one grant of a plugin replaced, or taken back.
 * @throws {BulkheadError} `conflict` when no grant has that name, else as {@link addGrant}
 */
export function replaceGrant(text: string, { instead, ...old }: GrantReplacement, { file }: EditOptions): string {
  const { pluginId, permission, target } = old;
  const left = instead === null ? takeBack(text, old, { file }) : removeGrant(text, old, { file });
  if (left === text) {
    throw new BulkheadError("conflict", `Cannot replace "${permission}:${target}": "${pluginId}" has no such grant.`, {
      hint: "A wider grant may cover it: take back all grants of the plugin, and grant what is needed.",
    });
  }
  return instead === null ? left : addGrant(left, { pluginId, permission, target: instead }, { file });
}

function nameOf(item: string | { binary: string } | { name: string }): string {
  if (typeof item === "string") return item;
  return "binary" in item ? item.binary : item.name;
}
