import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { stateFolderOf } from "../../sessions/host/state-folder.ts";
import { scopes, type TokenScope } from "../http/scopes.ts";
import { openTokens, type TokenStore } from "../http/tokens.ts";
import { readTimeWithUnit } from "../../ground/config/read-time.ts";
import { resolve } from "../../ground/runtime/paths.ts";
import { realFolder } from "../../ground/runtime/real-folder.ts";
import type { Invocation } from "./command.ts";
import { loadManifest, stateDirOf } from "./open-host.ts";

/** Opens the tokens of the state folder that a host of this command would use, whether one runs or not. */
export async function tokensOf(call: Invocation): Promise<TokenStore> {
  const manifest = await loadManifest(call);
  const root = manifest?.file === undefined ? call.terminal.cwd : resolve(manifest.file, "..");
  return openTokens(stateFolderOf({ stateDir: stateDirOf(call), manifest }, root));
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

/** About 270 years. */
const longestLife = 8_640_000_000_000;

/**
 * Returns when a token ends, from a lifetime like `30d`, `12h` or `90m`; null: never.
 * @throws {BulkheadError} `invalid_config`
 */
export function tokenEnd(typed: unknown, now: number): string | null {
  if (typed === undefined) return null;
  const ms = readTimeWithUnit(String(typed)) ?? 0;
  if (ms >= 1 && ms <= longestLife) return new Date(now + ms).toISOString();
  throw new BulkheadError("invalid_config", `Cannot set the token's lifetime: "${String(typed)}" is not a duration.`, {
    hint: "Write a number and its unit: 90m, 12h, 30d.",
  });
}
