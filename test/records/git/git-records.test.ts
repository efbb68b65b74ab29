import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eachRecord, gitEnv, joinNul } from "../../../core/records/git/git-call.ts";
import { mostStdoutBytes, runGit } from "../../../core/ground/platform/processes/git-program.ts";
import { execGit } from "./git-fixture.ts";

let folder = "";
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "bulkhead-git-")));
  execGit(folder, ["init", "-q"]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Stores a file in the repository, and gives the arguments with which git tells its content. */
function toldContent(content: Uint8Array): string[] {
  const file = join(folder, "content");
  writeFileSync(file, content);
  return ["cat-file", "blob", execGit(folder, ["-c", "core.compression=0", "hash-object", "-w", file]).trim()];
}

const run = () => ({ cwd: folder, env: { ...gitEnv } });

describe("eachRecord", () => {
  it("hands over every record as it is, also those that come in several pieces", async () => {
    const record = fc.uint8Array({ minLength: 1, maxLength: 200_000 }).map((bytes) => bytes.map((byte) => byte || 1));
    const records = [
      ...fc.sample(record, { seed: 7, numRuns: 40 }),
      new Uint8Array(150_000).fill(65),
      new Uint8Array(),
    ];
    const got: Uint8Array[] = [];
    const outcome = await eachRecord(toldContent(joinNul(records)), run(), (one) => got.push(one));
    expect(outcome).toMatchObject({ exit_code: 0, stdout: new Uint8Array() });
    expect(got.map((one) => Buffer.from(one).toString("base64"))).toEqual(
      records.map((one) => Buffer.from(one).toString("base64")),
    );
  });

  it("ends git and says why when a list has more records than any repository", async () => {
    let count = 0;
    const running = eachRecord(toldContent(new Uint8Array(2_100_000)), run(), () => count++);
    await expect(running).rejects.toMatchObject({ code: "too_large", message: /more than 2000000 paths/ });
    expect(count).toBe(2_000_000);
  });

  it("fails with what its reader throws", async () => {
    const running = eachRecord(toldContent(new Uint8Array(10)), run(), () => {
      throw new SyntaxError("No.");
    });
    await expect(running).rejects.toThrow("No.");
  });
});

it("runGit holds no more of what git tells than its bound", async () => {
  const args = toldContent(new Uint8Array(mostStdoutBytes + 1).fill(65));
  const said = { code: "too_large", message: /git cat-file tells more than/ };
  await expect(runGit(args, run())).rejects.toMatchObject(said);
  await expect(eachRecord(args, run(), () => {})).rejects.toMatchObject(said);
}, 60_000);
