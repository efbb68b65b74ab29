import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { isHiddenValue } from "../../ground/config/host-manifest-places.ts";
import { optionNamed } from "../../ground/config/permission-problems.ts";
import { joinPermissions } from "./join-permissions.ts";
import { possiblePermissions } from "./option-permissions.ts";

/** A permission that a manifest leaves to one of its options, which the operator may set. */
export interface OptionChoice {
  option: string;
  /** Decisions of the option, in words, for example "which program it starts". */
  decides: string[];
  /** Current value of the option; null: none, so that nothing is asked for. */
  value: unknown;
  /** Whether the value must not be shown. */
  hidden: boolean;
}

/**
 * Every permission that depends on an option, with what the option holds for the plugin of an id: the host manifest's
 * value or the default.
 */
export function optionChoices(
  manifest: Manifest,
  { id, hostManifest }: { id: string; hostManifest: HostManifest | undefined },
): OptionChoice[] {
  const decided = [...filled(possiblePermissions(manifest)), ...chosen(manifest)];
  const options = manifest.config?.properties ?? {};
  const settings = hostManifest && Object.hasOwn(hostManifest.plugins, id) ? hostManifest.plugins[id]!.config : {};
  return [...new Set(decided.map(({ option }) => option))].map((option) => ({
    option,
    decides: [...new Set(decided.filter((one) => one.option === option).map(({ words }) => words))],
    value: Object.hasOwn(settings, option) ? settings[option] : options[option]?.default ?? null,
    hidden: hostManifest !== undefined && isHiddenValue(hostManifest, ["plugins", id, "config", option]),
  }));
}

interface Decision {
  option: string;
  words: string;
}

/** Decisions about permissions that only one value of an option needs. */
function chosen({ permissions_for = {} }: Manifest): Decision[] {
  return Object.entries(permissions_for).flatMap(([option, entries]) => {
    const { run, net, read, write, env, secrets, mcp_servers, kv } = joinPermissions(Object.values(entries));
    const places: [asked: unknown, words: string][] = [
      [run, "which program it starts"],
      [net, "which hosts its programs call"],
      [read ?? write, "which files it reads and writes"],
      [env, "which environment variables it reads"],
      [secrets, "which secret is used"],
      [mcp_servers, "which program gets a session's MCP servers"],
      [kv, "whether it keeps a small store"],
    ];
    return places.flatMap(([asked, words]) => (asked === undefined ? [] : [{ option, words }]));
  });
}

/** Decisions about what an option fills in. */
function filled({ run = [], net = [], env = [], secrets = [] }: Permissions): Decision[] {
  const places: [items: readonly string[], words: string][] = [
    [run.map(({ binary }) => binary), "which program it starts"],
    [run.flatMap(({ args = [] }) => args), "with which arguments"],
    [run.flatMap((entry) => entry.env ?? []), "which variables it sets for a program"],
    [[...net, ...secrets.flatMap(({ hosts = [] }) => hosts)], "where it sends what it knows"],
    [env, "which environment variables it reads"],
    [secrets.flatMap((secret) => secret.env ?? []), "in which variables of a program a secret stands"],
    [secrets.map(({ name }) => name), "which secret is used"],
  ];
  return places.flatMap(([items, words]) =>
    items.flatMap((item) => {
      const option = optionNamed(item);
      return option === null ? [] : [{ option, words }];
    })
  );
}
