import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { longestSecret } from "../../../walls/secrets/check-value.ts";
import { storeSecret } from "../../../walls/secrets/store.ts";
import type { Invocation } from "../command.ts";
import { checkedName, storeOf } from "../secret-arguments.ts";

/** `bulkhead secret set <name>`. The value is never an argument: other users of the machine could read it there. */
export async function secretSet(call: Invocation): Promise<number> {
  const { terminal, json, args } = call;
  const name = checkedName(args[0]);
  const file = storeOf(call);
  await storeSecret(file, { name, value: await readValue(name, call) });
  await terminal.stdout.write(json ? `${JSON.stringify({ name, file })}\n` : `Stored: ${name} (${file}).\n`);
  return 0;
}

async function readValue(name: string, { terminal }: Invocation): Promise<string> {
  if (!terminal.stdin.isTty) return (await terminal.stdin.readAll(4 * longestSecret)).replace(/\r?\n$/, "");
  await terminal.stderr.write(`Value of ${name} (not shown): `);
  const typed = await terminal.stdin.readHiddenLine();
  await terminal.stderr.write("\n");
  if (typed !== null) return typed;
  throw new BulkheadError("interrupted", `Nothing was stored: the value of ${name} was not given.`);
}
