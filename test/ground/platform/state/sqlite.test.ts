import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openSqlite } from "../../../../core/ground/platform/state/sqlite.ts";

it("openSqlite reads texts, and fails over one that is not UTF-8 in place of ending the process", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bulkhead-sqlite-"));
  const database = await openSqlite(join(folder, "a.db"), { busyTimeoutMs: 1000 });
  try {
    database.exec(`CREATE TABLE t (n INTEGER PRIMARY KEY, a TEXT, "b""c" ANY);
      INSERT INTO t VALUES (1, 'é' || char(0) || 'x', NULL), (2, 'two', 2.5);
      INSERT INTO t VALUES (3, 'ok', CAST(x'ff80fe' AS TEXT))`);
    const all = database.prepare('SELECT n, a, "b""c" FROM t WHERE n <= ? ORDER BY n DESC');
    expect(all.all(2)).toEqual([
      { n: 2, a: "two", 'b"c': 2.5 },
      { n: 1, a: "é\0x", 'b"c': null },
    ]);
    expect(database.prepare("SELECT a FROM t WHERE n = ?").get(9)).toBeUndefined();
    expect(() => all.all(3)).toThrow(expect.objectContaining({ code: "SQLITE_CORRUPT_TEXT" }));
    expect(() => database.prepare('SELECT max("b""c") AS m FROM t').get()).toThrow("a text is not UTF-8");
  } finally {
    database.close();
    rmSync(folder, { recursive: true });
  }
});
