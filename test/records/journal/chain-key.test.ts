import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findChainKey, readChainKey, writeChainKey } from "../../../core/records/journal/chain-key.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-key-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function madeKey(file: string): Promise<Uint8Array> {
  return await writeChainKey(file, (await findChainKey(file, { mend: false })).key);
}

describe("findChainKey", () => {
  it("is there only once it is whole: whoever is killed meanwhile leaves none", async () => {
    const sizes = new Set<number>();
    for (let round = 0; round < 50; round++) {
      const file = join(folder, `whole-${round}.key`);
      let isMade = false;
      const made = madeKey(file).finally(() => (isMade = true));
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
      const keys = await Promise.all(Array.from({ length: 8 }, () => madeKey(file)));
      for (const key of keys) expect(key).toEqual(keys[0]);
      expect(keys[0]).toHaveLength(32);
      expect(await findChainKey(file, { mend: false })).toEqual({ key: keys[0], state: "found" });
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
    expect(readdirSync(folder).filter((name) => !name.endsWith(".key"))).toEqual([]);
  });

  it("refuses a file that holds no key, and never writes over it", async () => {
    const file = join(folder, "other.key");
    writeFileSync(file, "not a key\n");
    await expect(findChainKey(file, { mend: false })).rejects.toMatchObject({ code: "journal_error" });
    await expect(readChainKey(file)).rejects.toMatchObject({ code: "journal_error" });
    expect((await findChainKey(file, { mend: true })).state).toBe("damaged");
    expect(readdirSync(folder).filter((name) => name.startsWith("other.key.damaged-"))).toHaveLength(1);
    expect(existsSync(file)).toBe(false);
  });
});
