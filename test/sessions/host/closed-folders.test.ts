import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { adapterCode, completed, openHost } from "./test-host.ts";

describe("a session's working directory", () => {
  test("is none of the host's own folders, directly, below or by a link", async () => {
    const { add, run, root, workdir, stateDir } = await openHost();
    await add("worker", { code: adapterCode(`yield ${completed};`) });
    await mkdir(join(stateDir, "http"), { recursive: true });
    await symlink(stateDir, join(workdir, "link"));
    const closed = [stateDir, join(stateDir, "http"), join(workdir, "link"), join(workdir, "link", "http")];
    for (const folder of closed) {
      await expect(run("worker", { workdir: folder }), folder).rejects.toMatchObject({ code: "invalid_request" });
    }
    // A folder around them is a project like any other: what is hidden in it stays hidden.
    expect((await run("worker", { workdir: root })).result.outcome).toBe("completed");
  });

  test("is in no pseudo file system", async () => {
    const { add, run } = await openHost();
    await add("worker", { code: adapterCode(`yield ${completed};`) });
    for (const folder of ["/proc", "/proc/self", "/proc/self/fd", "/sys", "/sys/kernel", "/dev", "/dev/shm"]) {
      await expect(run("worker", { workdir: folder }), folder).rejects.toMatchObject({ code: "invalid_request" });
    }
  });
});
