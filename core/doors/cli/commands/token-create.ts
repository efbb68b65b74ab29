import type { Invocation } from "../command.ts";
import { safeLine } from "../render/agent-text.ts";
import { tokenEnd, tokenName, tokenScopes, tokensOf, tokenWorkdirs } from "../token-arguments.ts";

/** `bulkhead token create <name>`. Only the token goes to standard output, so that it can be piped. */
export async function tokenCreate(call: Invocation): Promise<number> {
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
  if (json) {
    await terminal.stdout.write(`${JSON.stringify({ ...shown, token })}\n`);
    return 0;
  }
  const until = record.expires_at === null ? "until revoked" : `until ${record.expires_at}`;
  const where = workdirs === undefined
    ? ""
    : `, for sessions started in ${workdirs.map((folder) => safeLine(folder)).join(", ")},`;
  const may = record.scopes.join(", ");
  await terminal.stderr.write(`Token ${name} (${may})${where} holds ${until}. It is shown only now:\n`);
  await terminal.stdout.write(`${token}\n`);
  return 0;
}
