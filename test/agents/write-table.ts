// Usage: deno run --allow-read --allow-write write-table.ts
// Puts the table of what the agents can, as the kept report says, into the README.
import { readFile, writeFile } from "node:fs/promises";
import { conformanceTable, tableBegin, tableEnd } from "./conformance-table.ts";
import { readReport } from "./proving-ground/report.ts";
import { reasons } from "./reasons.ts";

const readme = new URL("../../README.md", import.meta.url);
const text = await readFile(readme, "utf8");
const [before, rest = ""] = text.split(tableBegin);
const after = rest.split(tableEnd)[1];
if (after === undefined) throw new Error(`Cannot write the table: README.md has no ${tableBegin} and ${tableEnd}.`);
await writeFile(readme, `${before}${conformanceTable(await readReport(), reasons)}${after}`);
