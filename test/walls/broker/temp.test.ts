import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { anyShell, codeOf, makeBroker, runShell } from "./broker-fixture.ts";

describe("temp", () => {
  test("writes and reads a file of the session's own without any grant", async () => {
    const { broker, options } = await makeBroker();
    const path = await broker.call("temp_write", { name: "prompt.txt", text: "hi" });
    expect(path).toBe(join(options.tempDir, "prompt.txt"));
    expect(await readFile(path as string, "utf8")).toBe("hi");
    expect(await broker.call("temp_read", { name: "prompt.txt" })).toBe("hi");
    expect((await stat(options.tempDir)).mode & 0o077).toBe(0);
  });

  test("reads what a program has filled", async () => {
    const { broker } = await makeBroker({ permissions: { run: [anyShell] } });
    await broker.call("temp_write", { name: "out", text: "" });
    const { process_id } = await runShell(broker, "printf done > $TMPDIR/out");
    await broker.call("process_wait", { process_id });
    expect(await broker.call("temp_read", { name: "out" })).toBe("done");
  });

  test("holds to a quota over all files, counted anew when one is replaced", async () => {
    const { broker } = await makeBroker({ limits: { ...defaultLimits, temp_bytes: 100 } });
    const write = (name: string, length: number) => broker.call("temp_write", { name, text: "x".repeat(length) });
    await write("a", 60);
    expect(await codeOf(write("b", 41))).toBe("limit_exceeded");
    await write("b", 40);
    expect(await codeOf(write("a", 61))).toBe("limit_exceeded");
    await write("a", 10);
    await write("b", 90);
  });

  test("follows no link that a program has planted", async () => {
    const { broker, options, root } = await makeBroker();
    await mkdir(options.tempDir, { recursive: true });
    await writeFile(join(root, "secret"), "s");
    await symlink(join(root, "secret"), join(options.tempDir, "out"));
    expect(await codeOf(broker.call("temp_read", { name: "out" }))).toBe("io_error");
    expect(await codeOf(broker.call("temp_write", { name: "out", text: "x" }))).toBe("io_error");
    expect(await readFile(join(root, "secret"), "utf8")).toBe("s");
  });

  test.each(["../x", "a/b", "/x", ".x", "", "a\0", "..", "x".repeat(129)])("refuses the name %j", async (name) => {
    const { broker } = await makeBroker();
    expect(await codeOf(broker.call("temp_write", { name, text: "" }))).toBe("invalid_request");
    expect(await codeOf(broker.call("temp_read", { name }))).toBe("invalid_request");
  });

  test("says not_found for a file that is not there", async () => {
    const { broker } = await makeBroker();
    expect(await codeOf(broker.call("temp_read", { name: "none" }))).toBe("not_found");
  });
});
