import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { attackCases } from "./cases/all.ts";
import { rowsWithReason } from "./rows.ts";

/** Rows of each group of the corpus that is attacked here. */
const groups: Record<string, number> = { A: 26, B: 18, C: 14, D: 26, E: 12, F: 28, G: 44, H: 14 };

const rows = Object.entries(groups).flatMap(([letter, count]) =>
  Array.from({ length: count }, (_, n) => `${letter}${n + 1}`)
);

test("every row of the corpus is attacked by a case or a test, or says why it cannot be", async () => {
  const attacked = new Set([...attackCases.map(({ id }) => id), ...await idsOfTests()]);
  const excused = rowsWithReason.map(({ id }) => id);
  expect(rows.filter((id) => !attacked.has(id) && !excused.includes(id))).toEqual([]);
  expect(excused.filter((id) => attacked.has(id))).toEqual([]);
  expect(new Set(excused).size).toBe(excused.length);
  expect([...attacked, ...excused].filter((id) => !rows.includes(id))).toEqual([]);
  expect(attacked.size).toBeGreaterThanOrEqual(160);
});

test("attackCases are told apart by row and name, and say what they try", () => {
  const names = attackCases.map(({ id, name }) => `${id} ${name}`);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  for (const { name, attack, withinMs } of attackCases) {
    expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(attack).toMatch(/^\S.*[.!?]$/s);
    expect(attack).not.toContain("BREACH");
    expect(withinMs).toBeGreaterThan(0);
  }
});

test("rowsWithReason gives a whole sentence for each", () => {
  for (const { reason } of rowsWithReason) expect(reason).toMatch(/^[A-Z].{20,}\.$/s);
});

/** A test says which row it attacks at the beginning of its name. */
async function idsOfTests(): Promise<string[]> {
  const names = (await readdir(new URL(".", import.meta.url))).filter((name) => name.endsWith(".test.ts"));
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, import.meta.url), "utf8")));
  return texts.flatMap((text) => [...text.matchAll(/["'`]([A-H]\d{1,2})[ :]/g)].map(([, id]) => id!));
}
