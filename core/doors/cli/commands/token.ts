import { type DefineCommand, examples, type Invocation, tell, tellEach } from "../command.ts";
import { safeLine } from "../render/agent-text.ts";
import { localTime } from "../render/quantities.ts";
import { openTokens, type TokenRecord, type TokenStore } from "../../http/tokens.ts";
import type { Cell } from "../render/table.ts";
import { tableText } from "../show-session.ts";
import { asTyped } from "../render/as-typed.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { scopes, type TokenScope } from "../../http/scopes.ts";
import { readTimeWithUnit } from "../../../ground/config/read-time.ts";
import { resolve } from "../../../ground/platform/files/paths.ts";
import { realFolder } from "../../../ground/platform/files/real-folder.ts";
import { findState } from "../open-host.ts";

/** `bulkhead token create|list|revoke`. */
export const defineToken: DefineCommand = (command, bind) => {
  command.usage("<create|list|revoke> [flags]").addHelpText(...examples(
    ["bulkhead token create ci --scope run --expires 30d", "it is printed once; its sessions are all it sees"],
    ["bulkhead token list", "names, scopes and ends, never a token"],
    ["bulkhead token revoke ci", "it opens nothing from now on, also for a host that runs"],
  ));
  command.command("create")
    .description("make a token for the HTTP API and print it, once")
    .argument("<name>", "letters, digits, _, . and -")
    .option(
      "--scope <scopes...>",
      "read: see everything; run: start sessions and handle its own; admin: all (default: read run)",
    )
    .option("--workdir <folders...>", "folders that its sessions may be started in, and below (default: any)")
    .option("--expires <time>", "how long it holds, such as 90m, 12h or 30d (default: never expires)")
    .addHelpText(...examples(
      ["bulkhead token create dashboard --scope read", "may look, and nothing else"],
      ["bulkhead token create ci --scope run --workdir ./checkout", "its sessions are started in it, or below"],
    ))
    .action(bind(tokenCreate));
  command.command("list")
    .description("list tokens, without their secret part")
    .addHelpText(...examples(["bulkhead token list --json", "one token a line"]))
    .action(bind(tokenList));
  command.command("revoke")
    .description("make a token worthless")
    .argument("<name>", "its name or id")
    .addHelpText(...examples(["bulkhead token revoke ci", "its open streams end as well"]))
    .action(bind(tokenRevoke));
};

/** `bulkhead token create <name>`. Only the token goes to standard output, so that it can be piped. */
async function tokenCreate(call: Invocation): Promise<number> {
  const { terminal, json, args, options } = call;
  const name = tokenName(args[0]);
  const workdirs = await tokenWorkdirs(options["workdir"], terminal.cwd);
  const wanted = {
    name,
    scopes: tokenScopes(options["scope"]),
    workdirs,
    expires_at: tokenEnd(options["expires"], Date.now()),
  };
  const { token, record } = await (await tokensOf(call)).create(wanted);
  const { sha256: _, ...shown } = record;
  if (json) return await tell(call, { ...shown, token }, token);
  const until = record.expires_at === null ? "until revoked" : `until ${localTime(record.expires_at)}`;
  const where = workdirs === undefined
    ? ""
    : `, for sessions started in ${workdirs.map((folder) => safeLine(folder)).join(", ")},`;
  const may = record.scopes.join(", ");
  await terminal.stderr.write(`Token ${name} (${may})${where} holds ${until}. It is shown only now:\n`);
  await terminal.stdout.write(`${token}\n`);
  return 0;
}

async function tokenList(call: Invocation): Promise<number> {
  const { terminal } = call;
  const tokens = await tokensOf(call);
  const records = await tokens.list();
  const expired = await tokens.expired();
  const head = ["token", "scopes", "starts in", "made", "holds until", "id"];
  return await tellEach(
    call,
    records.map(({ sha256: _, ...shown }) => shown),
    () =>
      records.length === 0
        ? asTyped('There is no token. To make one: "bulkhead token create ci --scope run".')
        : tableText(records.map((record) => row(record, expired.has(record.id))), { terminal, head }),
  );
}

function row({ id, name, scopes, workdirs, created_at, expires_at }: TokenRecord, isExpired: boolean): Cell[] {
  return [
    { text: safeLine(name), tone: "bold" },
    scopes.join(" "),
    workdirs === undefined ? "any folder" : safeLine(workdirs.join(" ")),
    created_at.slice(0, 10),
    expires_at === null ? "never" : { text: localTime(expires_at), tone: isExpired ? "red" : "green" },
    { text: id.slice(0, 8), tone: "dim" },
  ];
}

async function tokenRevoke(call: Invocation): Promise<number> {
  const wanted = call.args[0] ?? "";
  const record = await (await tokensOf(call)).revoke(wanted);
  if (record === null) {
    throw new BulkheadError("not_found", `There is no token "${wanted.slice(0, 64)}".`, {
      hint: '"bulkhead token list" lists those there are.',
    });
  }
  const { id, name } = record;
  return await tell(call, { id, name, revoked: true }, `Revoked: ${safeLine(name)}.`);
}

/** Opens the tokens of the state folder that a host of this command would use, whether one runs or not. */
async function tokensOf(call: Invocation): Promise<TokenStore> {
  return openTokens((await findState(call)).stateDir);
}

/**
 * Checks a token's name as typed.
 * @throws {BulkheadError} `invalid_config`
 */
function tokenName(typed: string | undefined): string {
  if (typed !== undefined && /^[\w.-]{1,64}$/.test(typed)) return typed;
  throw new BulkheadError("invalid_config", "That is no name for a token: it has letters, digits, _, . and - only.", {
    hint: "For example: bulkhead token create ci --scope run",
  });
}

/**
 * Reads the typed scopes; default: `read` and `run`.
 * @throws {BulkheadError} `invalid_config`
 */
function tokenScopes(typed: unknown): TokenScope[] {
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
async function tokenWorkdirs(typed: unknown, cwd: string): Promise<string[] | undefined> {
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
function tokenEnd(typed: unknown, now: number): string | null {
  if (typed === undefined) return null;
  const ms = readTimeWithUnit(String(typed)) ?? 0;
  if (ms >= 1 && ms <= longestLife) return new Date(now + ms).toISOString();
  throw new BulkheadError("invalid_config", `Cannot set the token's lifetime: "${String(typed)}" is not a duration.`, {
    hint: "Write a number and its unit: 90m, 12h, 30d.",
  });
}
