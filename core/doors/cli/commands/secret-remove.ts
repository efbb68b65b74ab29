import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { removeSecret } from "../../../walls/secrets/store.ts";
import type { Invocation } from "../command.ts";
import { checkedName, storeOf } from "../secret-arguments.ts";

/** `bulkhead secret rm <name>`. */
export async function secretRemove(call: Invocation): Promise<number> {
  const { terminal, json, args } = call;
  const name = checkedName(args[0]);
  const file = storeOf(call);
  if (!(await removeSecret(file, name))) {
    throw new BulkheadError("not_found", `No secret "${name}" is stored.`, {
      hint: '"bulkhead secret list" shows where each secret is.',
    });
  }
  await terminal.stdout.write(json ? `${JSON.stringify({ name, file, removed: true })}\n` : `Removed: ${name}.\n`);
  return 0;
}
