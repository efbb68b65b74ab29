import { useState } from "preact/hooks";
import { attempt, useConsole } from "./console-context.ts";
import { GrantForm } from "./grant-form.tsx";
import { Sure } from "./parts.tsx";
import { grantTarget } from "../../../ground/config/grant-command.ts";
import { plainText } from "./shown-text.ts";
import { Text } from "./text.tsx";
import type { ExplainedPermission, ExplainedPlugin } from "../../../../plugin-sdk/plugin-report.ts";

/** Permissions that one plugin asks for, to grant, narrow and revoke; each grant is tried on the history first. */
export function PluginPermissions({ plugin, changed }: { plugin: ExplainedPlugin; changed: () => void }) {
  const found = useConsole();
  const [asked, setAsked] = useState<ExplainedPermission | null>(null);
  const revokeAll = async () => {
    const done = () => found.api.send("DELETE", grantsOf(plugin));
    if (await attempt(found, `${plugin.name} has no grant now.`, done)) changed();
  };
  return (
    <section class="panel" aria-labelledby="plugin-name">
      <header class="panel-head">
        <h2 id="plugin-name">
          {plainText(plugin.name, 80)} <span class="quiet-line">{plugin.id} {plugin.version}</span>
        </h2>
        <Sure
          label="Revoke all"
          question={`Take back all that ${plainText(plugin.name, 40)} was granted?`}
          act={() => void revokeAll()}
        />
      </header>
      <p class="quiet-line">
        <Text of={plugin.description} />
      </p>
      {plugin.permissions.length === 0 && <p>It asks for nothing.</p>}
      <ul class="plain-list permissions">
        {plugin.permissions.map((row) => (
          <Permission plugin={plugin} row={row} isAsked={asked === row} ask={setAsked} changed={changed} />
        ))}
      </ul>
      {plugin.programs.map((program) => <Program of={program} />)}
    </section>
  );
}

interface PermissionProps {
  plugin: ExplainedPlugin;
  row: ExplainedPermission;
  /** The form to grant it, or to narrow it, is open. */
  isAsked: boolean;
  ask(row: ExplainedPermission | null): void;
  changed(): void;
}

function Permission({ plugin, row, isAsked, ask, changed }: PermissionProps) {
  const found = useConsole();
  /** Replaces the grant by a narrower one; null takes it back. */
  const replace = async (instead: string | null) => {
    const old = { permission: grantOf(row), target: grantedName(row) };
    await found.api.send("POST", `${grantsOf(plugin)}/replace`, { ...old, instead });
  };
  const revoke = async () => {
    const told = row.granted
      ? `${plugin.name} may no longer: ${row.permission} ${row.target}`
      : `${plugin.name} is no longer denied: ${row.permission} ${row.target}`;
    if (await attempt(found, told, () => replace(null))) changed();
  };
  return (
    <li>
      <div class="permission">
        <Decision of={row} />
        <b>{row.permission}</b>{" "}
        <code>
          <Text of={plainText(row.target, 300)} />
        </code>
        <Acts of={row} ask={() => ask(row)} revoke={() => void revoke()} />
      </div>
      <Reason of={row} />
      {isAsked && (
        <GrantForm
          plugin={plugin}
          permission={grantOf(row)}
          target={grantTarget(row)}
          also={(target) => alsoAllowed(plugin.permissions, { row, target })}
          instead={row.granted ? replace : null}
          close={() => ask(null)}
          changed={changed}
        />
      )}
    </li>
  );
}

function Acts({ of: row, ask, revoke }: { of: ExplainedPermission; ask: () => void; revoke: () => void }) {
  const isLimit = row.permission === "limits";
  return (
    <span class="permission-act">
      {row.effective.length === 0 && !row.denied && !isLimit && (
        <button type="button" class="primary" onClick={ask}>Grant …</button>
      )}
      {row.granted && canNarrow(row) && <button type="button" onClick={ask}>Narrow …</button>}
      {row.granted && !isLimit && <button type="button" onClick={revoke}>Revoke</button>}
      {row.denied && !row.granted && <button type="button" onClick={revoke}>Lift the denial</button>}
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

/** Returns the rows that a grant allows as well: all of its program, or the variables alone where it names arguments. */
function alsoAllowed(
  rows: readonly ExplainedPermission[],
  { row, target }: { row: ExplainedPermission; target: string },
): string[] {
  const { binary } = row;
  if (binary === undefined) return [];
  const isWhole = target.trim() === binary;
  const others = rows.filter((one) =>
    one !== row && one.binary === binary && !one.denied && one.effective.length === 0
  );
  return others.filter(({ permission }) => permission === "run_env" || isWhole && permission === "run")
    .map((one) => one.target);
}

function grantsOf({ id }: ExplainedPlugin): string {
  return `/v1/plugins/${encodeURIComponent(id)}/grants`;
}

function Decision({ of: { effective, denied, granted } }: { of: ExplainedPermission }) {
  if (denied) return <span class="tag tag-failed">denied</span>;
  if (effective.length > 0) return <span class="tag tag-done">allowed</span>;
  return <span class="tag tag-waiting">{granted ? "granted, not in force" : "not granted"}</span>;
}

function grantOf({ permission }: ExplainedPermission): string {
  return permission === "run_env" ? "run" : permission;
}

function canNarrow({ permission }: ExplainedPermission): boolean {
  return ["net", "read", "write", "run"].includes(permission);
}

/** Name of the grant that a row comes from; `KEY to api.example.com:443` comes from that of `KEY`. */
function grantedName({ permission, target, binary }: ExplainedPermission): string {
  return permission === "secrets" ? target.replace(/ .*/, "") : binary ?? target;
}
