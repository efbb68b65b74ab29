import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { uploadedByFlags } from "../../../core/doors/cli/chat/attached-files.ts";
import { memoryAttach } from "../../sessions/host/attachments/memory-attach.ts";
import { tinyPng } from "../../sessions/host/attachments/tiny-png.ts";

test("uploadedByFlags uploads what the flags name, relative to the folder", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "bulkhead-flags-"));
  try {
    await writeFile(join(cwd, "a.png"), tinyPng);
    await writeFile(join(cwd, "notes.md"), "# Notes");
    const host = memoryAttach();
    const call = (options: object) => ({ options: { ...options }, terminal: { cwd } as never });
    const parts = await uploadedByFlags(call({ image: ["a.png"], file: ["./notes.md"] }), host);
    expect(parts).toMatchObject([
      { type: "image", mime_type: "image/png" },
      { type: "file", name: "notes.md", mime_type: "text/plain" },
    ]);
    expect(host.uploads.get(parts[0]!.sha256)).toEqual(tinyPng);
    expect(await uploadedByFlags(call({}), host)).toEqual([]);
    await expect(uploadedByFlags(call({ image: ["none.png"] }), host)).rejects.toMatchObject({ code: "not_found" });
    await expect(uploadedByFlags(call({ file: ["."] }), host)).rejects.toMatchObject({ code: "not_found" });
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
});
