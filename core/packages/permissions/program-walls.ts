import type { ProgramWalls } from "../../../plugin-sdk/plugin-report.ts";
import type { RunPermission } from "../../../plugin-sdk/permissions.ts";
import { isSecretName } from "../../ground/config/hidden-values.ts";
import { containsPrograms, housekeepingHosts, mayRunFree, programNet, programRead } from "./contained-programs.ts";
import { effectivePermissions } from "./effective-permissions.ts";
import { joinPermissions } from "../manifest/join-permissions.ts";
import type { Plugin } from "../manifest/plugin.ts";
import { requestedPermissions, requestedWith } from "./requested-permissions.ts";

/** The walls around each program that a plugin asks for or was granted. */
export function programWalls(
  plugin: Pick<Plugin, "manifest" | "grant" | "deny" | "os_walls" | "settings_of">,
): ProgramWalls[] {
  const asked = requestedPermissions(plugin.manifest);
  const inForce = effectivePermissions({ requested: asked, grant: plugin.grant, deny: plugin.deny });
  const programs = [...new Set((asked.run ?? []).map(({ binary }) => binary))];
  const granted = programNet(plugin);
  const readable = programRead(plugin);
  return programs.map((program) => {
    const own = (permissions: typeof asked) => (permissions.run ?? []).filter(({ binary }) => binary === program);
    const runs = own(inForce).length > 0 ? own(inForce) : own(asked);
    const contained = mayRunFree(plugin, program) ? "none" : weakest(runs, containsPrograms(plugin));
    const keys = keysOf(plugin.manifest, { program, runs, contained });
    const isHeld = contained === "agent";
    return {
      program,
      contained,
      writes: (inForce.write ?? []).filter((root) => root !== "workdir" && root !== "data"),
      ...(isHeld && readable.length > 0 ? { reads: readable } : {}),
      ...(isHeld && plugin.settings_of !== undefined ? { settings_of: plugin.settings_of } : {}),
      hosts: isHeld ? granted : runs.every((run) => run.contain_net === true) ? [] : null,
      hosts_missing: isHeld ? (asked.net ?? []).filter((host) => !granted.includes(host)) : [],
      hosts_not_needed: isHeld ? housekeepingHosts(plugin).filter((host) => !granted.includes(host)) : [],
      ...keys,
    };
  });
}

/** The same as it would be once all that the manifest asks for with these options is granted as well. */
export function wallsOnceGranted(
  plugin: Pick<Plugin, "manifest" | "config" | "grant" | "deny" | "os_walls">,
): ProgramWalls[] {
  const { manifest, config, grant } = plugin;
  const asked = requestedWith(manifest, config);
  // A program that is granted already keeps the containment of that grant.
  const run = (asked.run ?? []).filter(({ binary }) => grant.run?.every((one) => one.binary !== binary) ?? true);
  const filled = { ...manifest, permissions: asked };
  return programWalls({ ...plugin, manifest: filled, grant: joinPermissions([grant, { ...asked, run }]) });
}

function weakest(runs: readonly RunPermission[], byDefault: boolean): ProgramWalls["contained"] {
  const kinds = runs.map(({ contain, contain_net }) =>
    contain === "workdir" || contain_net === true ? "workdir" : contain === "off" || !byDefault ? "none" : "agent"
  );
  return kinds.includes("none") ? "none" : kinds.includes("agent") ? "agent" : "workdir";
}

function keysOf(
  { endpoints = [], permissions = {} }: Plugin["manifest"],
  { program, runs, contained }: {
    program: string;
    runs: readonly RunPermission[];
    contained: ProgramWalls["contained"];
  },
): Pick<ProgramWalls, "keys_kept" | "keys_seen"> {
  const variables = [...new Set(runs.flatMap(({ env = [] }) => env))].filter(isSecretName);
  const kept = contained === "agent" ? endpoints.filter((one) => one.program === program).map(({ key }) => key) : [];
  const secrets = (permissions.secrets ?? []).filter(({ env = [] }) => env.length > 0).map(({ name }) => name);
  return {
    keys_kept: variables.filter((name) => kept.includes(name)),
    keys_seen: [...variables.filter((name) => !kept.includes(name)), ...secrets],
  };
}
