import { BulkheadError, errorFromData } from "../../../plugin-sdk/errors.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { grantEntry } from "../../ground/config/grant-command.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { parseHostManifest } from "../../ground/config/parse-host-manifest.ts";
import { type ParsedYaml, parseYaml } from "../../ground/config/yaml.ts";
import type { Grantable } from "./grantable.ts";

/** One grant or denial, as `bulkhead plugin grant <id> run:git` names it. */
export interface NewGrant {
  pluginId: string;
  permission: Grantable;
  /** A program, with arguments or without, a root, `host:port` or name; for `kv` anything. */
  target: string;
  /** Whether the permission is granted or denied; default: `grant`. */
  under?: "grant" | "deny";
}

/** Returns a first host manifest. With `schema` an editor finds the JSON Schema beside it. */
export function starterHostManifest({ schema = true }: { schema?: boolean } = {}): string {
  return `${schema ? "# yaml-language-server: $schema=./bulkhead.schema.json\n" : ""}\
# The host manifest: which plugins are enabled, and what each of them may do.
bulkhead: 1

# Every plugin runs behind walls and gets only what its manifest asks for and what stands under "grant" here.
# What a plugin asks for: bulkhead plugin explain <id>. To grant it: bulkhead plugin grant <id> run:git
plugins: {}
#  example:
#    grant:
#      run: [git]
#      read: [workdir]
#      write: [workdir]
#      net: ["api.example.com:443"]

# Command-line tools that need no plugin.
tools: {}
#  shout:
#    binary: tr
#    command_template: "{binary} a-z A-Z < {prompt_file}"

# The agent for sessions that name none: auto, an id, or a list of ids to try in turn.
routing:
  agent: auto
`;
}

/**
 * The host manifest's text with one grant, or one denial, more; comments stay. One that is there already changes nothing.
 * @throws {BulkheadError} `invalid_config` when the text was, or would be, no host manifest
 */
export function addGrant(
  text: string,
  { pluginId, permission, target, under = "grant" }: NewGrant,
  { file = "bulkhead.yaml" }: { file?: string } = {},
): string {
  const before = parseForEdit(text, { pluginId, file });
  refuseTool(before.tools, pluginId);
  const held = before.plugins[pluginId]?.[under] ?? {};
  if (holdsAlready(held, permission, target)) return text;
  const document = openDocument(text, file);
  if (under === "deny" && !Object.hasOwn(before.plugins, pluginId)) {
    // A listed plugin is enabled, and a denial must not be what enables one.
    const enabled = ["plugins", pluginId, "enabled"];
    makeWay(document, enabled, file);
    document.setIn(enabled, false);
  }
  const path = ["plugins", pluginId, under, permission];
  makeWay(document, path, file);
  if (permission === "kv") {
    document.setIn(path, true);
  } else {
    const list: unknown = document.getIn(path, true);
    if (isAliasNode(list)) throw aliasInTheWay(path, file);
    const entry = document.createNode(grantEntry(permission, target));
    if (list === undefined || isEmptyScalar(list)) document.setIn(path, document.createNode([entry]));
    else document.addIn(path, entry);
  }
  return editedText(document, { before, pluginId, file });
}

/** All that a plugin is granted; null: nothing. */
export interface WholeGrant {
  pluginId: string;
  grant: Permissions | null;
}

/**
 * The host manifest's text with a plugin's grants replaced; comments elsewhere stay.
 * @throws {BulkheadError} `not_found` for a plugin that is not listed, `invalid_config` when the text was, or would be, no host manifest
 */
export function setGrant(
  text: string,
  { pluginId, grant }: WholeGrant,
  { file = "bulkhead.yaml" }: { file?: string } = {},
): string {
  const before = parseForEdit(text, { pluginId, file });
  refuseTool(before.tools, pluginId);
  if (!Object.hasOwn(before.plugins, pluginId)) {
    if (grant === null) return text;
    throw new BulkheadError("not_found", `Cannot grant to "${pluginId}": it does not stand under plugins in ${file}.`, {
      hint: `Write "${pluginId}: {}" there first.`,
    });
  }
  const document = openDocument(text, file);
  const path = ["plugins", pluginId, "grant"];
  if (grant === null && !document.hasIn(path)) return text;
  makeWay(document, path, file);
  if (isAliasNode(document.getIn(path, true))) throw aliasInTheWay(path, file);
  if (grant === null) document.deleteIn(path);
  else document.setIn(path, document.createNode(grant));
  return editedText(document, { before, pluginId, file });
}

/**
 * Serialises the tree after one plugin's entry was edited.
 * @throws {BulkheadError} `invalid_config` when that would be no host manifest, or would say something else of others
 */
export function editedText(
  document: ParsedYaml["document"],
  { before, pluginId, file }: { before: HostManifest; pluginId: string; file: string },
): string {
  let text: string;
  try {
    text = document.toString({ lineWidth: 0 });
  } catch (cause) {
    // The anchor of an alias elsewhere is no longer there.
    throw shared(pluginId, { file, cause });
  }
  const after = parseForEdit(text, { pluginId, file });
  if (othersIn(after, pluginId) !== othersIn(before, pluginId)) throw shared(pluginId, { file });
  return text;
}

/**
 * Reads a host manifest before one plugin's entry is changed; another entry may be wrong.
 * @throws {BulkheadError} `invalid_config` when the text is no host manifest, or that entry is wrong
 */
export function parseForEdit(text: string, { pluginId, file }: { pluginId: string; file: string }): HostManifest {
  const manifest = parseHostManifest(text, { file, leaveOut: true });
  const { left_out = {} } = manifest;
  if (Object.hasOwn(left_out, pluginId)) throw errorFromData(left_out[pluginId]!);
  return manifest;
}

function othersIn({ plugins, tools, left_out = {} }: HostManifest, pluginId: string): string {
  const others = [plugins, left_out].map((entries) => Object.entries(entries).filter(([id]) => id !== pluginId));
  // Where its text stands changes with the edit.
  return JSON.stringify([others[0], others[1]!.map(([id]) => id), tools]);
}

function shared(pluginId: string, { file, cause }: { file: string; cause?: unknown }): BulkheadError {
  const message = `Cannot edit ${file}: what it says of "${pluginId}" stands for others as well.`;
  return new BulkheadError("invalid_config", message, {
    hint: "Write out what they share by an anchor (&name) and aliases (*name), then try again.",
    cause,
  });
}

/** The tree of a host manifest's text, with its comments. */
export function openDocument(text: string, file: string): ParsedYaml["document"] {
  const { manifest_bytes: maxBytes, yaml_aliases: maxAliases } = defaultLimits;
  return parseYaml(text, { file, maxBytes, maxAliases, code: "invalid_config" }).document;
}

/** Sees to it that all above a path is a map; an empty map or nothing in the way is a place for keys as well. */
export function makeWay(document: ParsedYaml["document"], path: readonly string[], file: string): void {
  for (let length = 1; length < path.length; length++) {
    const here: unknown = document.getIn(path.slice(0, length), true);
    if (isAliasNode(here)) throw aliasInTheWay(path.slice(0, length), file);
    if (isEmpty(here)) document.setIn(path.slice(0, length), document.createNode({}));
  }
}

function refuseTool(tools: object, pluginId: string): void {
  if (!Object.hasOwn(tools, pluginId)) return;
  throw new BulkheadError("invalid_config", `Cannot grant to "${pluginId}": it is a tool, which has what it asks for.`);
}

function holdsAlready(
  granted: Partial<Record<Grantable, unknown>>,
  permission: Grantable,
  target: string,
): boolean {
  if (permission === "kv") return granted.kv === true;
  const list: unknown = granted[permission];
  return Array.isArray(list) && list.some((item: unknown) => isGrantOf(item, { permission, target }));
}

/** Whether an entry says just what a target grants. */
export function isGrantOf(item: unknown, { permission, target }: Omit<NewGrant, "pluginId">): boolean {
  return item === target || isWhole(item, target) ||
    JSON.stringify(item) === JSON.stringify(grantEntry(permission, target));
}

/** A grant of a program or secret that says nothing more is as wide as the manifest asks. */
function isWhole(item: unknown, target: string): boolean {
  if (typeof item !== "object" || item === null || Object.keys(item).length !== 1) return false;
  return Object.values(item)[0] === target;
}

function isAliasNode(node: unknown): boolean {
  return typeof node === "object" && node !== null && "source" in node && "resolve" in node;
}

/** An edit through an alias would change its anchor too, and with it the grants of another plugin. */
function aliasInTheWay(path: readonly string[], file: string): BulkheadError {
  return new BulkheadError("invalid_config", `Cannot edit ${file}: ${path.join(".")} is an alias.`, {
    hint: "Write it out, then try again.",
  });
}

function isEmpty(node: unknown): boolean {
  if (node === undefined || isEmptyScalar(node)) return true;
  return typeof node === "object" && node !== null && "items" in node && Array.isArray(node.items) &&
    node.items.length === 0;
}

function isEmptyScalar(node: unknown): boolean {
  return node === null || (typeof node === "object" && "value" in node && node.value === null);
}
