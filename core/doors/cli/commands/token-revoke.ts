import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { Invocation } from "../command.ts";
import { safeLine } from "../render/agent-text.ts";
import { tokensOf } from "../token-arguments.ts";

/** `bulkhead token revoke <name>`. */
export async function tokenRevoke(call: Invocation): Promise<number> {
  const { terminal, json, args } = call;
  const wanted = args[0] ?? "";
  const record = await (await tokensOf(call)).revoke(wanted);
  if (record === null) {
    throw new BulkheadError("not_found", `There is no token "${wanted.slice(0, 64)}".`, {
      hint: '"bulkhead token list" lists those there are.',
    });
  }
  const { id, name } = record;
  await terminal.stdout.write(
    json ? `${JSON.stringify({ id, name, revoked: true })}\n` : `Revoked: ${safeLine(name)}.\n`,
  );
  return 0;
}
