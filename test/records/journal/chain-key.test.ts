import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openChainKey, readChainKey } from "../../../core/records/journal/chain-key.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-key-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("openChainKey", () => {
  it("is there only once it is whole: whoever is killed meanwhile leaves none", async () => {
    const sizes = new Set<number>();
    for (let round = 0; round < 50; round++) {
      const file = join(folder, `whole-${round}.key`);
      let isMade = false;
      const made = openChainKey(file).finally(() => (isMade = true));
      while (!isMade) {
        await new Promise<void>((resolve) => void setImmediate(resolve));
        if (existsSync(file)) sizes.add(statSync(file).size);
      }
      await made;
    }
    expect([...sizes]).toEqual([65]);
  });

  it("makes one key for its owner alone, though many ask at once", async () => {
    for (let round = 0; round < 5; round++) {
      const file = join(folder, `one-${round}.key`);
      const keys = await Promise.all(Array.from({ length: 8 }, () => openChainKey(file)));
      for (const key of keys) expect(key).toEqual(keys[0]);
      expect(keys[0]).toHaveLength(32);
      expect(await openChainKey(file)).toEqual(keys[0]);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
    expect(readdirSync(folder).filter((name) => !name.endsWith(".key"))).toEqual([]);
  });

  it("refuses a file that holds no key, and never writes over it", async () => {
    const file = join(folder, "other.key");
    writeFileSync(file, "not a key\n");
    await expect(openChainKey(file)).rejects.toMatchObject({ code: "journal_error" });
    await expect(readChainKey(file)).rejects.toMatchObject({ code: "journal_error" });
  });
});
