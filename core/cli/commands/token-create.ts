import type { Invocation } from "../command.ts";
import { tokenEnd, tokenName, tokenScopes, tokensOf } from "../token-arguments.ts";

/** `bulkhead token create <name>`. The token goes to standard output alone, so that it can be piped. */
export async function tokenCreate(call: Invocation): Promise<number> {
  const { terminal, json, args, options } = call;
  const name = tokenName(args[0]);
  const wanted = { name, scopes: tokenScopes(options["scope"]), expires_at: tokenEnd(options["expires"], Date.now()) };
  const { token, record } = await (await tokensOf(call)).create(wanted);
  const { sha256: _, ...shown } = record;
  if (json) {
    await terminal.stdout.write(`${JSON.stringify({ ...shown, token })}\n`);
    return 0;
  }
  const until = record.expires_at === null ? "until it is revoked" : `until ${record.expires_at}`;
  await terminal.stderr.write(`Token ${name} (${record.scopes.join(", ")}) holds ${until}. It is shown only now:\n`);
  await terminal.stdout.write(`${token}\n`);
  return 0;
}
