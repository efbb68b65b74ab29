import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const docs = fileURLToPath(new URL("../../.github/docs/", import.meta.url));
const read = (page: string) => readFile(`${docs}${page}`, "utf8");
// The table of protocols has a test of its own.
const rows = (await read("words.md")).split("\n## Words of protocols\n")[0]!.split("\n").filter((line) =>
  /^\| (?!-|Elsewhere)/.test(line)
)
  .map((line) => line.split("|").slice(1, 4).map((cell) => cell.trim()) as [string, string, string]);

it.each(rows)("finds %s on the page that it names", async (_, here, pages) => {
  const names = [...pages.matchAll(/\(([\w-]+\.md)\)/g)].map(([, page]) => page!);
  const texts = (await Promise.all(names.map(read))).join("\n");
  const words = [...here.matchAll(/`([^`]+)`/g)].map(([, word]) => word!.replace(/\(.*$/, "").split(".").at(-1)!);
  for (const word of words) expect(texts, word).toContain(word.replace(/^bulkhead /, ""));
});

it("has the words that people bring from other hosts", () => {
  const all = rows.map(([elsewhere]) => elsewhere).join(" ");
  for (const word of ["ToolResult", "ExecutionResult", "AgentConfig", "context_file", "trust_tools", "tokensUsed"]) {
    expect(all).toContain(`\`${word}`);
  }
});
