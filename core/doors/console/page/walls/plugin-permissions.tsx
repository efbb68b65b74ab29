import { useState } from "preact/hooks";
import { attempt, useConsole } from "../console-context.ts";
import { GrantForm } from "./grant-form.tsx";
import { May, useMay } from "../may.tsx";
import { Sure } from "../parts.tsx";
import { grantTarget } from "../../../../ground/config/grant-command.ts";
import { plainText } from "../shown-text.ts";
import { isWhole } from "./plugin-words.ts";
import { Text } from "../text.tsx";
import type { ExplainedPermission, ExplainedPlugin } from "../../../../../plugin-sdk/plugin-report.ts";

/** Permissions that one plugin asks for, to grant, narrow and revoke; each grant is tried on the history first. */
export function PluginPermissions({ plugin, changed }: { plugin: ExplainedPlugin; changed: () => Promise<void> }) {
  const found = useConsole();
  const [asked, setAsked] = useState<Asked | null>(null);
  const revokeAll = async () => {
    const done = () => found.api.send("DELETE", grantsOf(plugin));
    if (await attempt(found, `${plugin.name} has no grant now.`, done)) await changed();
  };
  return (
    <section class="plugin-permissions" aria-label={`Permissions of ${plainText(plugin.name, 80)}`}>
      <p class="quiet-line">
        <Text of={plugin.description} /> <code>{plugin.id} {plugin.version}</code>
      </p>
      {plugin.permissions.length === 0 && <p>It asks for nothing.</p>}
      <ul class="plain-list permissions">
        {plugin.permissions.map((row) => (
          <Permission
            plugin={plugin}
            row={row}
            asked={asked?.row === row ? asked : null}
            ask={setAsked}
            changed={changed}
          />
        ))}
      </ul>
      {plugin.programs.map((program) => <Program of={program} />)}
      {plugin.permissions.some(({ granted, permission }) => granted && permission !== "limits") && (
        <May right="admin">
          <p>
            <Sure
              label="Revoke all"
              question={`Take back all that ${plainText(plugin.name, 40)} was granted?`}
              act={() => void revokeAll()}
            />
          </p>
        </May>
      )}
    </section>
  );
}

/** A row whose form is open, to grant it or to narrow its grant. */
interface Asked {
  row: ExplainedPermission;
  narrows: boolean;
}

interface PermissionProps {
  plugin: ExplainedPlugin;
  row: ExplainedPermission;
  asked: Asked | null;
  ask(asked: Asked | null): void;
  changed(): Promise<void>;
}

function Permission({ plugin, row, asked, ask, changed }: PermissionProps) {
  const { replace, revoke, deny } = useRowActs(plugin, { row, changed });
  return (
    <li>
      <div class="permission">
        <Decision of={row} />
        <b>{row.permission}</b>{" "}
        <code>
          <Text of={plainText(row.target, 300)} />
        </code>
        <Acts
          of={row}
          ask={(narrows) => ask({ row, narrows })}
          revoke={() => void revoke()}
          deny={() => void deny()}
        />
      </div>
      <Reason of={row} />
      {asked !== null && (
        <GrantForm
          plugin={plugin}
          permission={grantOf(row)}
          target={grantTarget(row)}
          row={row}
          instead={asked.narrows ? replace : null}
          close={() => ask(null)}
          changed={changed}
        />
      )}
    </li>
  );
}

/** Changes of what the operator decided about a row. */
function useRowActs(plugin: ExplainedPlugin, { row, changed }: Pick<PermissionProps, "row" | "changed">) {
  const found = useConsole();
  /** Replaces the grant by a narrower one; null takes it back. */
  const replace = async (instead: string | null) => {
    const old = { permission: grantOf(row), target: grantedName(row) };
    await found.api.send("POST", `${grantsOf(plugin)}/replace`, { ...old, instead });
  };
  const act = async (told: string, change: () => Promise<unknown>) => {
    if (await attempt(found, `${plugin.name} ${told}: ${row.permission} ${row.target}`, change)) await changed();
  };
  const revoke = () => act(row.granted ? "may no longer" : "is no longer denied", () => replace(null));
  const deny = () => {
    const body = { permission: grantOf(row), target: grantTarget(row), under: "deny" };
    return act("is denied", () => found.api.send("POST", grantsOf(plugin), body));
  };
  return { replace, revoke, deny };
}

interface ActsProps {
  of: ExplainedPermission;
  ask(narrows: boolean): void;
  revoke(): void;
  deny(): void;
}

function Acts({ of: row, ask, revoke, deny }: ActsProps) {
  if (!useMay("admin") || row.permission === "limits") return null;
  const { requested, granted, denied } = row;
  const isMissing = requested && !isWhole(row) && !denied;
  return (
    <span class="permission-act">
      {isMissing && <button type="button" onClick={() => ask(false)}>Grant …</button>}
      {isMissing && !granted && isExact(row) && (
        <Sure label="Deny for good" question="Deny it to every session?" act={deny} />
      )}
      {granted && canNarrow(row) && <button type="button" onClick={() => ask(true)}>Narrow …</button>}
      {granted && <button type="button" onClick={revoke}>Revoke</button>}
      {denied && !granted && <button type="button" onClick={revoke}>Lift the denial</button>}
    </span>
  );
}

function Reason({ of: { why, broad_because } }: { of: ExplainedPermission }) {
  return (
    <p class="quiet-line">
      <Text of={why} />
      {broad_because !== undefined && (
        <b class="broad">
          {" "}
          <Text of={broad_because} />
        </b>
      )}
    </p>
  );
}

/** One of the plugin's programs, with the places that it reaches. */
function Program({ of: program }: { of: ExplainedPlugin["programs"][number] }) {
  return (
    <p class="quiet-line">
      <code>
        <Text of={program.program} />
      </code>: {program.contained === "agent"
        ? "a home of its own, granted hosts alone"
        : program.contained === "workdir"
        ? "writes only its folder"
        : "has all your rights"}
      {program.reads !== undefined && program.reads.length > 0 && (
        <>, reads {program.reads.map((path) => plainText(path, 80)).join(", ")}</>
      )}
      {program.hosts !== null && program.hosts.length > 0 && (
        <>, calls {program.hosts.map((host) => plainText(host, 80)).join(", ")}</>
      )}
      {program.hosts_not_needed.length > 0 && (
        <>, does without {program.hosts_not_needed.map((host) => plainText(host, 80)).join(", ")}</>
      )}
      {program.keys_kept.length > 0 && `, keys that stay with the host: ${program.keys_kept.join(", ")}`}
    </p>
  );
}

function grantsOf({ id }: ExplainedPlugin): string {
  return `/v1/plugins/${encodeURIComponent(id)}/grants`;
}

function Decision({ of: row }: { of: ExplainedPermission }) {
  const { effective, denied, granted } = row;
  if (denied) return <span class="tag tag-failed">denied</span>;
  if (isWhole(row)) return <span class="tag tag-done">allowed</span>;
  if (effective.length > 0) return <span class="tag tag-waiting">in part</span>;
  return <span class="tag tag-waiting">{granted ? "granted, not in force" : "not granted"}</span>;
}

/** The permission of the grant that a row needs: that of a program's variable is the program. */
export function grantOf({ permission }: ExplainedPermission): string {
  return permission === "run_env" ? "run" : permission;
}

/** Whether a denial of the row's target denies the row alone: that of a program's variable denies the program. */
function isExact(row: ExplainedPermission): boolean {
  return grantTarget(row) === row.target;
}

function canNarrow({ permission }: ExplainedPermission): boolean {
  return ["net", "read", "write", "run"].includes(permission);
}

/** Name of the grant that a row comes from; `KEY to api.example.com:443` comes from that of `KEY`. */
function grantedName({ permission, target, binary }: ExplainedPermission): string {
  return permission === "secrets" ? target.replace(/ .*/, "") : binary ?? target;
}
