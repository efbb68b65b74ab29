import { formatArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import { argumentPatterns, parseArguments, parseCommandTemplate } from "../../../plugin-sdk/command-template.ts";
import { envReferences, secretReferences } from "../../../plugin-sdk/env-template.ts";
import type { CliTool, Manifest } from "../../../plugin-sdk/manifest.ts";
import { omitEmpty } from "../../../plugin-sdk/optional-fields.ts";
import type { Permissions, RunPermission, SecretPermission } from "../../../plugin-sdk/permissions.ts";
import { platform } from "../../ground/platform/engine/platform.ts";
import { chosenPermissions, possiblePermissions, unfilledPermissions } from "../manifest/option-permissions.ts";

/**
 * All a manifest asks for: its `permissions`, and for a `cli` the program with the arguments its template and
 * probes can become, and the environment names it uses.
 */
export function requestedPermissions(manifest: Manifest): Permissions {
  const asked = unfilledPermissions(manifest.permissions ?? {});
  const { cli } = manifest;
  if (!cli) return asked;
  const program = programOf(cli);
  const variables = hostVariables(cli);
  const env = [...new Set([...(asked.env ?? []), ...variables])];
  const secrets = toolSecrets(cli);
  return {
    ...asked,
    run: [...(asked.run ?? []), ...(program ? [program] : [])],
    ...omitEmpty({ env }),
    ...(secrets.length > 0 ? { secrets: [...(asked.secrets ?? []), ...secrets] } : {}),
  };
}

/** The same with these values for the manifest's options, and the defaults of the others. */
export function requestedWith(manifest: Manifest, config: Readonly<Record<string, unknown>>): Permissions {
  const options = Object.entries(manifest.config?.properties ?? {});
  const defaults = options.flatMap(([name, option]) => (option.default === undefined ? [] : [[name, option.default]]));
  const values = { ...Object.fromEntries(defaults), ...config };
  return requestedPermissions({ ...manifest, permissions: chosenPermissions(manifest, values) });
}

/** Variables of the host's environment that a plugin's code and programs read, with its options. */
export function variablesRead(
  { manifest, config }: { manifest: Manifest; config: Readonly<Record<string, unknown>> },
): string[] {
  const { env = [], run = [] } = requestedWith(manifest, config);
  const keys = (manifest.access_modes ?? []).flatMap((mode) =>
    (mode.type === "api" ? mode.api_key_env_var : null) ?? []
  );
  return [...new Set([...keys, ...env, ...run.flatMap((one) => one.env ?? [])])];
}

/** All that a manifest asks for with any value of its options. */
export function everRequested(manifest: Manifest): Permissions {
  return requestedPermissions({ ...manifest, permissions: possiblePermissions(manifest) });
}

/** The program's name on this system; null when the tool names none for it. */
export function cliBinary(cli: CliTool): string | null {
  if (typeof cli.binary === "string") return cli.binary;
  const name = Object.hasOwn(cli.binary, platform) ? platform : "default";
  return cli.binary[name] ?? null;
}

/** Names of the host's variables that a tool's `env_vars` fill in with `${NAME}`. */
function hostVariables(cli: CliTool): string[] {
  return [...new Set(Object.values(cli.env_vars ?? {}).flatMap(envReferences))];
}

/** Secrets that a tool's `env_vars` fill in with `${secret:NAME}`, each with the variables it goes into. */
export function toolSecrets(cli: Pick<CliTool, "env_vars">): SecretPermission[] {
  const pairs = Object.entries(cli.env_vars ?? {}).flatMap(([variable, value]) =>
    secretReferences(value).map((name) => ({ name, variable }))
  );
  const names = [...new Set(pairs.map(({ name }) => name))];
  return names.map((name) => ({
    name,
    env: pairs.filter((pair) => pair.name === name).map(({ variable }) => variable),
  }));
}

function programOf(cli: CliTool): RunPermission | null {
  const binary = cliBinary(cli);
  if (binary === null) return null;
  const probes = [cli.version, cli.auth].filter((probe) => probe !== undefined);
  const exact = probes.map((probe) => {
    return formatArgumentPattern(parseArguments(probe.args).map((literal) => [{ literal }]));
  });
  const env = Object.keys(cli.env_vars ?? {});
  const args = [...new Set([...argumentPatterns(parseCommandTemplate(cli.command_template)), ...exact])];
  return { binary, args, ...omitEmpty({ env }) };
}
