import { chmod, mkdtemp, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { makeTemporaryFolder } from "../../../../core/ground/platform/files/temporary-folder.ts";

const variables = ["TMPDIR", "TMP", "TEMP"] as const;
const before = variables.map((name) => [name, process.env[name]] as const);
let root = "";

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-temporary-")));
  for (const name of variables) delete process.env[name];
});

afterEach(async () => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await rm(root, { recursive: true });
});

async function refusal(): Promise<BulkheadError> {
  const error: unknown = await makeTemporaryFolder("test").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(BulkheadError);
  return error as BulkheadError;
}

test("makeTemporaryFolder makes a folder for this user alone", async () => {
  process.env["TMPDIR"] = root;
  const folder = await makeTemporaryFolder("test");
  expect([dirname(folder), basename(folder)]).toEqual([root, expect.stringMatching(/^bulkhead-test-\w{6}$/)]);
  expect((await stat(folder)).mode & 0o077).toBe(0);
});

test.each(variables)("makeTemporaryFolder names a folder of %s that is missing, and what to do", async (name) => {
  process.env[name] = join(root, "missing");
  expect(await refusal()).toMatchObject({
    code: "io_error",
    message: `Cannot make a temporary folder (${name}): "${join(root, "missing")}" does not exist.`,
    hint: `Make it, or set ${name} to a folder that this user may write to.`,
  });
});

test("makeTemporaryFolder tells a file and a folder that this user may not write to", async () => {
  const file = join(root, "file");
  await writeFile(file, "");
  process.env["TMPDIR"] = file;
  expect((await refusal()).message).toBe(`Cannot make a temporary folder (TMPDIR): "${file}" is no folder.`);

  // Root may write to every folder of a disk, but to none of the kernel's.
  const closed = process.getuid?.() === 0 ? "/sys" : root;
  await chmod(root, 0o500);
  process.env["TMPDIR"] = closed;
  const { message, hint } = await refusal();
  await chmod(root, 0o700);
  expect(message).toMatch(
    / \(TMPDIR\): (this user has no permission to write|the system does not permit this user to write|the disk of) ".+"/,
  );
  expect(hint).toBe("Set TMPDIR to a folder that this user may write to.");
});
