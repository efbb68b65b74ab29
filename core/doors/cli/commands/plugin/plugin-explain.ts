import { grantsCommand } from "../../../../ground/config/grant-command.ts";
import { fewForms } from "../../../../packages/permissions/open-grants.ts";
import { quarantineError } from "../../../../walls/pool/plugin-health.ts";
import type {
  BinaryPin,
  ExplainedPermission,
  ExplainedPlugin,
  OpenGrants,
} from "../../../../../plugin-sdk/plugin-report.ts";
import { type Invocation, tellEach } from "../../command.ts";
import { openPlugins } from "../../open-plugins.ts";
import { safeLine } from "../../render/agent-text.ts";
import { asTyped } from "../../render/as-typed.ts";
import { createPaint, type Paint, type Tone } from "../../render/paint.ts";
import { broadLines } from "../../render/permission-words.ts";
import { type WallLineOptions, wallLines } from "../../render/wall-lines.ts";
import { type Cell, tableLines } from "../../render/table.ts";
import { localTime, withLocalTimes } from "../../render/quantities.ts";
import { wrapLines, wrapText } from "../../render/text-width.ts";
import { drawingColumns } from "../../show-session.ts";
import { realpath } from "../../../../ground/platform/files/files.ts";

/** `bulkhead plugin explain <id>`. */
export async function pluginExplain(call: Invocation): Promise<number> {
  await using opened = await openPlugins(call);
  const plugin = await opened.facts.explain(call.args[0] ?? "");
  const pins = await lookAtPins(plugin.pins);
  const drawing = { paint: createPaint(call.terminal.colours.stdout), columns: drawingColumns(call.terminal) };
  const lines = [...headLines(plugin, drawing), ...permissionLines(plugin, drawing), ...pinLines(pins)].join("\n");
  const missing = missingGrants(plugin, drawing.columns);
  return await tellEach(call, recordsOf(plugin, pins), () => `${lines}${missing}`);
}

/** Returns what `--json` prints: each permission, then the walls of each program. */
function recordsOf({ id: plugin_id, permissions, programs }: ExplainedPlugin, pins: readonly ShownPin[]): object[] {
  const rows = permissions.map((explained) => {
    const pinned = explained.binary === undefined ? {} : { pinned: pinOf(explained.binary, pins) };
    return { plugin_id, ...explained, ...pinned };
  });
  return [...rows, ...programs.map((walls) => ({ plugin_id, ...walls }))];
}

/** The plugin, and why it does not run. */
function headLines(plugin: ExplainedPlugin, { paint, columns }: WallLineOptions): string[] {
  const { name, version, description } = plugin.manifest;
  const instance = plugin.instance_of === null ? "" : `, an instance of ${safeLine(plugin.instance_of)}`;
  const lines = [
    `${paint("bold", plugin.id)} ${safeLine(version)} · ${stateWord(plugin, paint)} · ${safeLine(name)}${instance}`,
    ...wrapText(safeLine(description), columns, 20).map((line) => paint("dim", line)),
    "",
  ];
  if (plugin.blocked !== null) lines.push(safeLine(plugin.blocked), "");
  if (plugin.quarantine !== null) {
    const { message, hint } = quarantineError(plugin.quarantine);
    lines.push(
      wrapLines(withLocalTimes(safeLine(message)), columns),
      "To let it run again:",
      `  ${safeLine(hint ?? "")}`,
      "",
    );
  }
  return lines;
}

function stateWord({ quarantine, blocked, enabled }: ExplainedPlugin, paint: Paint): string {
  if (quarantine !== null) return paint("red", "quarantined");
  if (blocked !== null) return paint("red", "blocked");
  return enabled ? paint("green", "enabled") : paint("yellow", "disabled");
}

/** The walls of its programs, its permissions, and those that amount to more than they seem. */
function permissionLines({ programs, permissions }: ExplainedPlugin, { paint, columns }: WallLineOptions): string[] {
  const walls = programs.length === 0 ? [] : [...wallLines(programs, { paint, columns }), ""];
  if (permissions.length === 0) return [...walls, "It asks for no permission and has none."];
  const rows = withFewerForms(permissions);
  const head = ["permission", "state", "target"];
  const table = tableLines(rows.map(row), { paint, columns, indent: 1, wraps: true, head });
  return [...walls, ...table, ...broadLines(rows, { paint, columns })];
}

function pinOf(binary: string, pins: readonly ShownPin[]): ShownPin | null {
  return pins.find((pin) => pin.binary === binary) ?? null;
}

/** Rows in which many forms of one program's arguments, with the same decision, are one; `--json` lists them all. */
function withFewerForms(rows: readonly ExplainedPermission[]): ExplainedPermission[] {
  const alike = new Map<string, ExplainedPermission[]>();
  for (const one of rows) {
    const { permission, binary, target, requested, granted, denied, effective, breadth } = one;
    const form = permission === "run" && (effective.length === 0 || effective.includes(target)) ? binary : target;
    const key = JSON.stringify([permission, form, requested, granted, denied, effective.length > 0, breadth]);
    alike.set(key, [...alike.get(key) ?? [], one]);
  }
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    if (first?.binary === undefined || group.length <= fewForms) return group;
    const target = `${first.binary}, with ${group.length} forms of arguments (--json lists them)`;
    return [{ ...first, target, effective: first.effective.length === 0 ? [] : [target] }];
  });
}

function row(explained: ExplainedPermission): Cell[] {
  const { permission, target, effective, why, breadth } = explained;
  const isWhole = effective.length === 1 && effective[0] === target;
  const [state, tone, isPlain] = stateOf(explained, isWhole);
  return [
    breadth === "everything" ? { text: permission, tone: "red" } : permission,
    { text: state, tone },
    isPlain ? safeLine(target) : safeLine(`${target}: ${why}`),
  ];
}

/** The decision in a word, and whether the word says all. */
function stateOf(
  { requested, granted, denied, effective }: ExplainedPermission,
  isWhole: boolean,
): [word: string, tone: Tone, isPlain: boolean] {
  if (isWhole) return ["✔ granted", "green", true];
  if (effective.length > 0) return ["~ in part", "yellow", false];
  if (denied) return ["✘ denied", "red", !granted];
  if (requested && !granted) return ["- not granted", "dim", true];
  return ["- no effect", "yellow", false];
}

/** Gives the commands that grant what is missing, and says what else they allow. */
function missingGrants({ id, open_grants }: ExplainedPlugin, columns: number): string {
  const typed = ({ grants, also_allows }: OpenGrants) => {
    const words = also_allows.map(({ permission, target }) => `${permission} ${target}`);
    const left = words.length > shownMore ? ` and ${words.length - shownMore} more` : "";
    const more = safeLine(`It also allows: ${words.slice(0, shownMore).join(", ")}${left}`);
    const told = words.length === 0 ? "" : wrapText(more, columns - 4, 6).map((line) => `\n    ${line}`).join("");
    return `\n  ${asTyped(grantsCommand(id, grants))}${told}`;
  };
  const block = (title: string, some: readonly OpenGrants[]) =>
    some.length === 0 ? "" : `\n\n${title}${some.map(typed).join("")}`;
  return block("To grant what is missing:", open_grants.filter(({ is_grave }) => !is_grave)) +
    block("Keys, and what amounts to everything, each by itself:", open_grants.filter(({ is_grave }) => is_grave));
}

/** Most rows that are named beside those of a grant. */
const shownMore = 12;

/** A pin, and the real path that it leads to now. */
interface ShownPin extends BinaryPin {
  /** Null when no file is there. */
  real_now: string | null;
}

/** Resolves the current paths of pinned programs. */
function lookAtPins(pins: readonly BinaryPin[]): Promise<ShownPin[]> {
  return Promise.all(pins.map(async (pin) => ({ ...pin, real_now: await realpath(pin.path).catch(() => null) })));
}

/** Lists where a plugin's programs are pinned; no lines when it has none. */
function pinLines(pins: readonly ShownPin[]): string[] {
  if (pins.length === 0) return [];
  const lines = pins.map(({ binary, path, real, real_now, pinned_at }) => {
    const behind = path === real ? "" : ` (${real})`;
    const now = real_now === real ? "" : `; now ${real_now === null ? "nothing is there" : real_now}`;
    return `  ${safeLine(`${binary} is ${path}${behind} since ${localTime(pinned_at)}${now}`)}`;
  });
  return ["", "Programs as they are pinned; to pin one again, grant it again:", ...lines];
}
