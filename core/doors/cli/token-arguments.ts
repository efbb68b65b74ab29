import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { stateFolderOf } from "../../sessions/host/state-folder.ts";
import { scopes, type TokenScope } from "../http/scopes.ts";
import { openTokens, type TokenStore } from "../http/tokens.ts";
import { resolve } from "../../ground/runtime/paths.ts";
import { realFolder } from "../../ground/runtime/real-folder.ts";
import type { Invocation } from "./command.ts";
import { loadManifest } from "./open-host.ts";

/** Opens the tokens of the state folder that a host of this command would use, whether one runs or not. */
export async function tokensOf(call: Invocation): Promise<TokenStore> {
  const manifest = await loadManifest(call);
  const root = manifest?.file === undefined ? call.terminal.cwd : resolve(manifest.file, "..");
  const told = call.stateDir === undefined ? {} : { stateDir: resolve(call.terminal.cwd, call.stateDir) };
  return openTokens(stateFolderOf({ ...told, ...(manifest === undefined ? {} : { manifest }) }, root));
}

/**
 * Checks a token's name as typed.
 * @throws {BulkheadError} `invalid_config`
 */
export function tokenName(typed: string | undefined): string {
  if (typed !== undefined && /^[\w.-]{1,64}$/.test(typed)) return typed;
  throw new BulkheadError("invalid_config", "That is no name for a token: it has letters, digits, _, . and - only.", {
    hint: "For example: bulkhead token create ci --scope run",
  });
}

/**
 * Reads the typed scopes; default: `read` and `run`.
 * @throws {BulkheadError} `invalid_config`
 */
export function tokenScopes(typed: unknown): TokenScope[] {
  if (!Array.isArray(typed) || typed.length === 0) return ["read", "run"];
  return typed.map((text) => {
    const scope = scopes.find((known) => known === text);
    if (scope !== undefined) return scope;
    throw new BulkheadError("invalid_config", `There is no scope "${String(text)}".`, {
      hint: `Scopes are ${scopes.join(", ")}.`,
    });
  });
}

/**
 * Returns the real paths of the typed folders; undefined where none was typed.
 * @throws {BulkheadError} `workdir_missing`
 */
export async function tokenWorkdirs(typed: unknown, cwd: string): Promise<string[] | undefined> {
  if (!Array.isArray(typed) || typed.length === 0) return undefined;
  return await Promise.all(typed.map(async (text) => {
    const folder = await realFolder(resolve(cwd, String(text)));
    if (folder !== null) return folder;
    throw new BulkheadError("workdir_missing", `There is no folder "${String(text)}".`, {
      hint: "A token's folders must be there when it is made.",
    });
  }));
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns when a token ends, from a lifetime like `30d`, `12h` or `90m`; null: never.
 * @throws {BulkheadError} `invalid_config`
 */
export function tokenEnd(typed: unknown, now: number): string | null {
  if (typed === undefined) return null;
  const [, count, unit] = /^([1-9]\d{0,4})([mhd])$/.exec(String(typed)) ?? [];
  if (count !== undefined && unit !== undefined) return new Date(now + Number(count) * units[unit]!).toISOString();
  throw new BulkheadError("invalid_config", `Cannot set the token's lifetime: "${String(typed)}" is not a duration.`, {
    hint: "Write a number and m, h or d: 90m, 12h, 30d.",
  });
}
