import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { ExplainedPermission } from "../../../plugin-sdk/plugin-report.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { grantEntry, grantTarget, readRunTarget } from "../../ground/config/grant-command.ts";
import { sampleTarget } from "../../ground/config/net-target.ts";
import { type Grantable, grantable } from "../manifest/grantable.ts";
import type { Plugin } from "../manifest/plugin.ts";
import { samplesOf } from "./argument-samples.ts";
import type { BreadthOptions } from "./broad-permissions.ts";
import { containsPrograms, isForPrograms } from "./contained-programs.ts";
import { decide, type PermissionCall, type PermissionLists } from "./decide.ts";
import { rootCall } from "./effective-permissions.ts";
import { requestedPermissions } from "./requested-permissions.ts";
import { shownPermissions } from "./shown-permissions.ts";

/** A grant, as a person types it. */
export interface TypedGrant {
  permission: Grantable;
  target: string;
}

/** A use of a permission in the journal. */
export interface PastUse {
  permission: string;
  target: string;
  /** The target in the words of a grant: `workdir:package.json` for a file, `git push` for a program. */
  word?: string | undefined;
  /** Folder in which the session worked. */
  workdir?: string | undefined;
}

/** Whether a use would be allowed; `unclear` for a program whose arguments decide, since the journal has none. */
export type Judgement = "allowed" | "refused" | "unclear";

type Judged = Pick<Plugin, "manifest" | "grant" | "deny" | "os_walls">;

/** Options of {@link allowedBy}. */
interface AllowedByOptions {
  grants: readonly TypedGrant[];
  places: BreadthOptions;
  /** The rows as they are now, where the caller has them. */
  rows?: readonly ExplainedPermission[];
}

/**
 * Lists the rows of a plugin's permissions that grants would allow, or allow more of. A wider row that is allowed as far
 * as a grant's own target, and no further, is left out.
 */
export function allowedBy(
  plugin: Plugin,
  { grants, places, rows = shownPermissions(plugin, places) }: AllowedByOptions,
): ExplainedPermission[] {
  const keyOf = ({ permission, target }: ExplainedPermission) => `${permission} ${target}`;
  const now = new Map(rows.map((row) => [keyOf(row), row.effective]));
  const targets = new Set(grants.map(({ target }) => target));
  const after = shownPermissions({ ...plugin, grant: grants.reduce(withGrant, plugin.grant) }, places);
  return after.filter((row) => {
    const more = row.effective.filter((target) => !now.get(keyOf(row))?.includes(target));
    return more.some((target) => target === row.target || !targets.has(target));
  });
}

/** Judges past uses by one grant alone, or by those of the plugin where none is given, as the broker would. */
export function judgeUses(plugin: Judged, grant?: TypedGrant): (use: PastUse) => Judgement {
  const granted = grant === undefined ? plugin.grant : withGrant({}, grant);
  const asked = requestedPermissions(plugin.manifest);
  const hasPrograms = (asked.run ?? []).length > 0 && containsPrograms(plugin);
  const lists = { requested: hasPrograms ? withProgramsOwn(asked, granted) : asked, grant: granted, deny: plugin.deny };
  return (use) => judge(lists, use);
}

/**
 * Lists the grants that would allow a denied use: those of the rows that are not in force and may be about it, each as
 * narrow as its row, else the use itself. Empty where it is allowed now, and where no grant is enough.
 */
export function grantsFor(
  plugin: Judged,
  { rows, use }: { rows: readonly ExplainedPermission[]; use: PastUse },
): TypedGrant[] {
  const { permission, target, word = target } = use;
  if (!isGrantable(permission) || judgeUses(plugin)(use) === "allowed") return [];
  const open = rows.filter((row) => row.permission === permission && row.requested && row.effective.length === 0);
  const fitting = [...open.map((row) => grantTarget(row)), word].map((one) => ({ permission, target: one }))
    .filter((grant) => judgeUses(plugin, grant)(use) !== "refused");
  // The denial of a program names its row. Where it has the program alone, that would allow all: the rows are its parts.
  const isRow = permission === "run" && readRunTarget(word) !== null;
  const narrow = fitting.filter((grant) =>
    isRow ? grant.target === word : fitting.length === 1 || permission !== "run" || grant.target !== word
  );
  return narrow.filter(({ target }, at) => at === narrow.findIndex((other) => other.target === target));
}

/** Whether a grant may name a permission. */
export function isGrantable(permission: string): permission is Grantable {
  return (grantable as readonly string[]).includes(permission);
}

/** Contained programs have the hosts and paths that the operator granted, whether the manifest asks for them or not. */
function withProgramsOwn(asked: Permissions, { net = [], read = [] }: Permissions): Permissions {
  const own = read.filter((target) => isForPrograms({ permission: "read", target }));
  return { ...asked, net: [...(asked.net ?? []), ...net], read: [...(asked.read ?? []), ...own] };
}

function judge(lists: PermissionLists, use: PastUse): Judgement {
  const calls = callsOf(lists, use);
  const allowed = calls.filter((call) => decide(lists, call).allowed).length;
  return allowed === 0 ? "refused" : allowed === calls.length ? "allowed" : "unclear";
}

/** Calls that a use may have been: of a program the journal has the row that a grant would allow, or its name alone. */
function callsOf({ requested }: PermissionLists, use: PastUse): PermissionCall[] {
  const { permission, target, word = target, workdir } = use;
  switch (permission) {
    case "run": {
      const own = (requested.run ?? []).filter(({ binary }) => binary === target);
      const lines = readRunTarget(word)?.args ?? own.flatMap(({ args = [] }) => (args.length === 0 ? [""] : args));
      return lines.flatMap(samplesOf).map((args) => ({ kind: "run", binary: target, args }));
    }
    case "read":
    case "write":
      return [rootCall(permission, word, omitUndefined({ workdir }))];
    case "net": {
      const host = sampleTarget(target);
      return host === null ? [] : [{ kind: "net", target: host }];
    }
    case "secrets":
      return [secretCall(target)];
    case "env":
      return [{ kind: permission, name: target }];
    case "mcp_servers":
      return [{ kind: permission, binary: target }];
    case "kv":
      return [{ kind: permission }];
    default:
      return [];
  }
}

/** Reads `KEY in VARIABLE` and `KEY to host:port`. */
function secretCall(target: string): PermissionCall {
  const [, name = target, link, place = ""] = /^(\S+) (in|to) (\S+)$/.exec(target) ?? [];
  const host = link === "to" ? sampleTarget(place) ?? undefined : undefined;
  return { kind: "secrets", name, ...omitUndefined({ env: link === "in" ? place : undefined, host }) };
}

function withGrant(grant: Permissions, { permission, target }: TypedGrant): Permissions {
  if (permission === "kv") return { ...grant, kv: true };
  const entry = grantEntry(permission, target);
  const full = typeof entry !== "string"
    ? entry
    : permission === "run"
    ? { binary: entry }
    : permission === "secrets"
    ? { name: entry }
    : entry;
  return { ...grant, [permission]: [...(grant[permission] ?? []), full] };
}
