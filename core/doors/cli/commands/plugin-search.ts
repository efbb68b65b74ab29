import { searchRegistry } from "../../../packages/install/search-registry.ts";
import type { Invocation } from "../command.ts";
import { safeLine } from "../render/agent-text.ts";
import { asTyped } from "../render/as-typed.ts";
import { createPaint } from "../render/paint.ts";
import { tableLines } from "../render/table.ts";
import { tableColumns } from "../show-session.ts";
import { whileWaiting } from "../while-waiting.ts";

/** `bulkhead plugin search [words…]`. */
export async function pluginSearch(call: Invocation): Promise<number> {
  const { terminal, json } = call;
  const words = call.args.flatMap((word) => word ?? []);
  const work = searchRegistry(words, { folder: terminal.cwd });
  const { registry, found } = await whileWaiting("Searching the registry …", { terminal, work });
  if (json) {
    for (const one of found) await terminal.stdout.write(`${JSON.stringify(one)}\n`);
    return 0;
  }
  if (found.length === 0) {
    const asked = words.length === 0 ? "" : ` for ${safeLine(JSON.stringify(words.join(" ")))}`;
    await terminal.stdout.write(
      `${safeLine(registry)} has no plugin${asked}.\n${asTyped('Those that are here: "bulkhead plugin list".')}\n`,
    );
    return 0;
  }
  const rows = found.map(({ name, version, publisher, description }) => [
    { text: safeLine(name), tone: "bold" } as const,
    safeLine(version),
    safeLine(publisher ?? ""),
    { text: safeLine(description), tone: "dim" } as const,
  ]);
  const lines = tableLines(rows, {
    paint: createPaint(terminal.colours.stdout),
    columns: tableColumns(terminal),
    indent: 1,
    head: ["package", "version", "publisher", "in its own words"],
  });
  const next = asTyped("Anyone may publish one. To see what one asks for, and decide: bulkhead plugin add <package>");
  await terminal.stdout.write(`${lines.join("\n")}\n\n${next}\n`);
  return 0;
}
