import type { AdapterContext } from "./context.ts";
import { BulkheadError } from "./errors.ts";

const reference = /\$\{(secret:)?([A-Za-z_][A-Za-z0-9_]{0,255})\}/g;

/**
 * Fills `${NAME}` in the values of an environment from the host's own, once: placeholders inside filled-in values stay.
 * `${secret:NAME}` becomes a placeholder that the broker replaces with the secret when it starts the program.
 * @throws {BulkheadError} `env_missing` naming a variable or secret that is not set; `permission_denied`
 */
export async function expandEnv(
  values: Readonly<Record<string, string>>,
  ctx: Pick<AdapterContext, "env" | "secrets">,
): Promise<Record<string, string>> {
  const known = new Map<string, string>();
  for (const [key, value] of Object.entries(values)) {
    for (const name of secretReferences(value)) {
      known.set(`secret:${name}`, known.get(`secret:${name}`) ?? await ctx.secrets.use(name));
    }
    for (const name of envReferences(value)) {
      const found = known.get(name) ?? await ctx.env.get(name);
      if (found === undefined) {
        throw new BulkheadError("env_missing", `Cannot set "${key}" for the tool: the environment has no ${name}.`, {
          hint: `Set ${name} where the host runs.`,
          details: { name },
        });
      }
      known.set(name, found);
    }
  }
  const filled = Object.entries(values).map(([key, value]) =>
    [key, value.replace(reference, (all: string) => known.get(all.slice(2, -1)) ?? "")] as const
  );
  return Object.fromEntries(filled);
}

/** Returns the names of the host's environment variables that a value of `env_vars` refers to. */
export function envReferences(value: string): string[] {
  return referencesOf(value, (secret) => secret === undefined);
}

/** Returns the names of the secrets that a value of `env_vars` refers to. */
export function secretReferences(value: string): string[] {
  return referencesOf(value, (secret) => secret !== undefined);
}

function referencesOf(value: string, wanted: (secret: string | undefined) => boolean): string[] {
  return [...value.matchAll(reference)].flatMap((
    [, secret, name],
  ) => (name !== undefined && wanted(secret) ? [name] : []));
}
