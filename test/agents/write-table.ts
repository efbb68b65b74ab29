// Usage: deno run --allow-read --allow-write write-table.ts
// Puts the table of what the agents can, as the kept report says, into the page on agents.
import { readFile, writeFile } from "node:fs/promises";
import { conformanceTable, tableBegin, tableEnd } from "./conformance-table.ts";
import { readReport } from "./proving-ground/report.ts";
import { reasons } from "./reasons.ts";

const page = new URL("../../.github/docs/agents.md", import.meta.url);
const text = await readFile(page, "utf8");
const [before, rest = ""] = text.split(tableBegin);
const after = rest.split(tableEnd)[1];
if (after === undefined) throw new Error(`Cannot write the table: agents.md has no ${tableBegin} and ${tableEnd}.`);
await writeFile(page, `${before}${conformanceTable(await readReport(), reasons)}${after}`);
