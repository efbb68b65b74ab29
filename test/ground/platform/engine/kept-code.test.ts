import { chmod, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { KeptCode } from "../../../../core/ground/platform/engine/kept-code.ts";

let root: string;
let script: string;
let folder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bulkhead-code-"));
  folder = join(root, "state", "code");
  script = join(root, "program-1.cjs");
  await writeFile(join(root, "other-1.cjs"), "exports.twice = (n) => 2 * n;");
  await writeFile(
    script,
    'const { twice } = require("./other-1.cjs");\nexports.run = () => twice(21);\nexports.file = __filename;',
  );
});

afterEach(() => rm(root, { recursive: true, force: true }));

function load(build?: string): { code: KeptCode; program: { run(): number; file: string } } {
  const code = new KeptCode({ way: "run", folder, ...(build === undefined ? {} : { build }) });
  return { code, program: code.load(script) as { run(): number; file: string } };
}

describe("KeptCode", () => {
  test("loads a script with what it requires, keeps the code of both for this user alone, and loads it again", async () => {
    for (let time = 0; time < 2; time++) {
      const { code, program } = load();
      expect([program.run(), program.file]).toEqual([42, script]);
      code.keep("part");
    }
    const names = await readdir(folder);
    expect(names.map((name) => name.replace(/-v[0-9.]+(-[0-9a-f]+){3}-run/, "-run")).sort()).toEqual([
      "other-1-run-part",
      "program-1-run-part",
    ]);
    expect((await stat(folder)).mode & 0o077).toBe(0);
    expect((await stat(join(folder, names[0]!))).mode & 0o077).toBe(0);
  });

  test("keeps more where a run reached more, and nothing where as much is kept", async () => {
    load().code.keep("part");
    load().code.keep("all");
    const before = await kept();
    expect(Object.keys(before)).toHaveLength(4);
    load().code.keep("part");
    load().code.keep("all");
    expect(await kept()).toEqual(before);
  });

  test("takes no code of another build of the runtime, which may crash from it", async () => {
    for (const build of ["v20.19.0", "v20.20.2", undefined]) {
      expect(load(build).code.keep("all")).toBe(true);
    }
    expect(Object.keys(await kept())).toHaveLength(6);
  });

  test("takes no code from a folder that others may write, and none that is damaged", async () => {
    load().code.keep("all");
    for (const name of await readdir(folder)) await writeFile(join(folder, name), "damaged");
    expect(load().program.run()).toBe(42);
    await chmod(folder, 0o777);
    const { code, program } = load();
    expect(program.run()).toBe(42);
    code.keep("all");
    for (const name of await readdir(folder)) expect((await stat(join(folder, name))).size).toBe("damaged".length);
  });

  async function kept(): Promise<Record<string, number>> {
    const names = await readdir(folder);
    return Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, (await stat(join(folder, name))).mtimeMs] as const)),
    );
  }
});
