import type { TokenRecord } from "../../http/tokens.ts";
import type { Invocation } from "../command.ts";
import { safeLine } from "../render/agent-text.ts";
import { createPaint } from "../render/paint.ts";
import { type Cell, tableLines } from "../render/table.ts";
import { tableColumns } from "../show-session.ts";
import { tokensOf } from "../token-arguments.ts";
import { asTyped } from "../render/as-typed.ts";

/** `bulkhead token list`. */
export async function tokenList(call: Invocation): Promise<number> {
  const { terminal, json } = call;
  const tokens = await tokensOf(call);
  const records = await tokens.list();
  if (json) {
    for (const { sha256: _, ...shown } of records) await terminal.stdout.write(`${JSON.stringify(shown)}\n`);
    return 0;
  }
  if (records.length === 0) {
    await terminal.stdout.write(asTyped('There is no token. To make one: "bulkhead token create ci --scope run".\n'));
    return 0;
  }
  const expired = await tokens.expired();
  const lines = tableLines(records.map((record) => row(record, expired.has(record.id))), {
    paint: createPaint(terminal.colours.stdout),
    columns: tableColumns(terminal),
    indent: 1,
    head: ["token", "scopes", "starts in", "made", "holds until", "id"],
  });
  await terminal.stdout.write(`${lines.join("\n")}\n`);
  return 0;
}

function row({ id, name, scopes, workdirs, created_at, expires_at }: TokenRecord, isExpired: boolean): Cell[] {
  return [
    { text: safeLine(name), tone: "bold" },
    scopes.join(" "),
    workdirs === undefined ? "any folder" : safeLine(workdirs.join(" ")),
    created_at.slice(0, 10),
    expires_at === null ? "never" : { text: expires_at, tone: isExpired ? "red" : "green" },
    { text: id.slice(0, 8), tone: "dim" },
  ];
}
