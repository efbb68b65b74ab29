import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readSecretReference } from "../../../core/ground/config/secret-reference.ts";
import { resolveSecrets } from "../../../core/walls/secrets/resolve-secrets.ts";
import { storeSecret } from "../../../core/walls/secrets/store.ts";
import { errorOf } from "../broker/broker-fixture.ts";

let root = "";
let file = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bulkhead-secrets-"));
  file = join(root, "secrets", "secrets.json");
  process.env["BULKHEAD_TEST_KEY"] = "value-of-the-variable";
});
afterEach(async () => {
  delete process.env["BULKHEAD_TEST_KEY"];
  await rm(root, { recursive: true });
});

describe("resolveSecrets", () => {
  test("finds values in the store, in variables and in files, and leaves out what has none", async () => {
    await storeSecret(file, { name: "STORED", value: "value-of-the-store" });
    await writeFile(join(root, "key"), "value-of-the-file\n");
    const references = {
      BY_ENV: "env:BULKHEAD_TEST_KEY",
      BY_FILE: `file:${join(root, "key")}`,
      NO_ENV: "env:BULKHEAD_TEST_NOTHING",
      NO_FILE: `file:${join(root, "nothing")}`,
      SAID: "stored",
    };
    const values = await resolveSecrets(["STORED", "NONE", ...Object.keys(references)], { references, file });
    expect(Object.fromEntries(values)).toEqual({
      STORED: "value-of-the-store",
      BY_ENV: "value-of-the-variable",
      BY_FILE: "value-of-the-file",
    });
  });

  test("refuses a value that could not be redacted, without saying it", async () => {
    process.env["BULKHEAD_TEST_KEY"] = "short";
    const error = await errorOf(resolveSecrets(["A"], { references: { A: "env:BULKHEAD_TEST_KEY" }, file }));
    expect(error).toMatchObject({ code: "invalid_config", details: { secret: "A" } });
    expect(JSON.stringify(error)).not.toContain('short"');
  });

  test("refuses a referenced thing that is no file", async () => {
    const error = await errorOf(resolveSecrets(["A"], { references: { A: `file:${root}` }, file }));
    expect(error.code).toBe("invalid_config");
  });
});

describe("readSecretReference", () => {
  test.each([
    ["stored", { from: "stored" }],
    ["env:API_KEY", { from: "env", name: "API_KEY" }],
    ["file:/run/secrets/key", { from: "file", path: "/run/secrets/key" }],
    ["env:", null],
    ["env:A B", null],
    ["file:key", null],
    ["file:", null],
    ["file:/a\0b", null],
    ["sk-a-value-itself", null],
    ["", null],
  ])("%j", (text, expected) => expect(readSecretReference(text)).toEqual(expected));
});
