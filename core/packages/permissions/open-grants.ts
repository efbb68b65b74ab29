import type { ExplainedPermission, OpenGrants } from "../../../plugin-sdk/plugin-report.ts";
import { grantTarget } from "../../ground/config/grant-command.ts";
import type { Plugin } from "../manifest/plugin.ts";
import type { BreadthOptions } from "./broad-permissions.ts";
import { allowedBy, isGrantable, type TypedGrant } from "./try-grant.ts";

/** Forms of one program's arguments up to which each is shown, and granted, by itself. */
export const fewForms = 3;

/** Permissions that hand a plugin a key. */
const keyPermissions: readonly string[] = ["env", "secrets"];

/**
 * Lists the grants of all rows that are asked for, and neither granted nor denied, each as narrow as its row: first those
 * that a person may give at once, then keys and what amounts to everything, each by itself.
 */
export function openGrants(
  plugin: Plugin,
  { rows, places }: { rows: readonly ExplainedPermission[]; places: BreadthOptions },
): OpenGrants[] {
  const words = new Map<string, OpenGrant>();
  for (const row of rows) {
    const { permission } = row;
    if (!isOpen(row) || !isGrantable(permission)) continue;
    const target = hasManyForms(row, rows) ? row.binary : grantTarget(row);
    const word = `${permission} ${target}`;
    const known = words.get(word) ?? { grant: { permission, target }, rows: [] };
    words.set(word, { ...known, rows: [...known.rows, row] });
  }
  // Where one form of a program amounts to everything, the grant of the program does.
  const grave = [...words.values()].filter((one) => one.rows.some(isGrave));
  const others = [...words.values()].filter((one) => !grave.includes(one));
  return [...(others.length === 0 ? [] : [others]), ...grave.map((one) => [one])].map((group) => {
    const grants = group.map(({ grant }) => grant);
    const own = new Set(group.flatMap((one) => one.rows).map(nameOf));
    const also = allowedBy(plugin, { grants, places, rows }).filter((row) => !own.has(nameOf(row)));
    return {
      is_grave: grave.includes(group[0]!),
      grants,
      also_allows: also.map(({ permission, target }) => ({ permission, target })),
    };
  });
}

/** A grant, and the rows that it is for. */
interface OpenGrant {
  grant: TypedGrant;
  rows: readonly ExplainedPermission[];
}

function isOpen({ requested, granted, denied }: ExplainedPermission): boolean {
  return requested && !granted && !denied;
}

function isGrave({ permission, breadth }: ExplainedPermission): boolean {
  return keyPermissions.includes(permission) || breadth === "everything";
}

/** Whether a row is one of many forms of its program, all open and alike in what they amount to: one word grants them. */
function hasManyForms(
  row: ExplainedPermission,
  rows: readonly ExplainedPermission[],
): row is ExplainedPermission & { binary: string } {
  const forms = rows.filter(({ permission, binary }) => permission === "run" && binary === row.binary);
  return row.permission === "run" && row.binary !== undefined && forms.length > fewForms &&
    forms.every((one) => isOpen(one) && isGrave(one) === isGrave(row));
}

function nameOf({ permission, target }: ExplainedPermission): string {
  return `${permission} ${target}`;
}
