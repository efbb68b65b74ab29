import { link, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readContextFiles } from "../../../core/sessions/host/context-files.ts";
import { errorOf } from "./test-host.ts";

const limits = { context_file_bytes: 20, context_bytes: 30 };
let root = "";
let workdir = "";

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-context-")));
  workdir = join(root, "work");
  await mkdir(join(workdir, "sub"), { recursive: true });
  await writeFile(join(root, "outside.txt"), "outside");
  await writeFile(join(workdir, "a.md"), "A");
  await writeFile(join(workdir, "sub", "b.md"), "Ä\n");
});
afterEach(() => rm(root, { recursive: true }));

function read(...paths: string[]) {
  return readContextFiles(paths, { workdir, protectedPaths: [join(workdir, "own")], limits });
}

test("reads files of the working directory, in the order of the request", async () => {
  await symlink(join(workdir, "a.md"), join(workdir, "link.md"));
  expect(await read("sub/b.md", join(workdir, "a.md"), "./sub/../link.md")).toEqual([
    { path: "sub/b.md", text: "Ä\n" },
    { path: "a.md", text: "A" },
    { path: "a.md", text: "A" },
  ]);
});

test("nothing from outside is read, by no way", async () => {
  await symlink(join(root, "outside.txt"), join(workdir, "way-out"));
  await symlink(root, join(workdir, "up"));
  for (const path of ["../outside.txt", join(root, "outside.txt"), "way-out", "up/outside.txt", ".", "/etc/passwd"]) {
    expect((await errorOf(read(path))).code).toBe("invalid_request");
  }
  await mkdir(join(workdir, "own"));
  await link(join(workdir, "a.md"), join(workdir, "own", "state"));
  expect((await errorOf(read("own/state"))).code).toBe("invalid_request");
});

test("what is missing, too large or no text is refused", async () => {
  await writeFile(join(workdir, "large"), "x".repeat(21));
  await writeFile(join(workdir, "binary"), Uint8Array.of(0xff, 0xfe));
  await writeFile(join(workdir, "nul"), "a\0b");
  for (const name of ["one", "two"]) await writeFile(join(workdir, name), "x".repeat(16));
  expect((await errorOf(read("nowhere"))).code).toBe("not_found");
  expect((await errorOf(read("large"))).code).toBe("too_large");
  expect(await errorOf(read("one", "two"))).toMatchObject({
    code: "too_large",
    hint: expect.stringMatching(/context_bytes/),
  });
  for (const name of ["binary", "nul"]) expect((await errorOf(read(name))).code).toBe("invalid_request");
  expect((await errorOf(read("sub"))).code).toMatch(/io_error|permission_denied|invalid_request/);
});

test("what a kernel says of the host's own process is no context file, wherever a client says that it works", async () => {
  const [workdir, code] = await realpath("/proc/self").then(
    (path) => [path, "invalid_request"],
    () => [root, "not_found"],
  );
  const places = { workdir: workdir!, protectedPaths: [], limits: { context_file_bytes: 1e6, context_bytes: 1e6 } };
  expect(await errorOf(readContextFiles(["status"], places))).toMatchObject({ code });
});
