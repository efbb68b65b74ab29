import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ToldChanges } from "../../../core/sessions/session/told-changes.ts";
import type { AdapterEvent, FileChangeEvent } from "../../../plugin-sdk/events.ts";

let workdir: string;
beforeAll(async () => {
  workdir = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-told-")));
  await writeFile(join(workdir, "old.txt"), "old");
});
afterAll(() => rm(workdir, { recursive: true }));

const call = (input: unknown, kind: "edit" | "read" = "edit"): AdapterEvent => {
  return { type: "tool_call", call_id: "1", tool: "write_file", kind, input };
};
const change = (path: string, action: FileChangeEvent["action"] = "modify"): AdapterEvent => {
  return { type: "file_change", path, action };
};

/** What is told of a change after a call, which found the files as they are. */
async function told(begun: AdapterEvent, changed: AdapterEvent): Promise<AdapterEvent> {
  const changes = new ToldChanges(workdir);
  expect(changes.take(begun)).toBe(begun);
  await new Promise((resolve) => setTimeout(resolve, 400));
  return changes.take(changed);
}

test.each(["path", "file_path", "filePath", "absolute_path"])(
  "ToldChanges tells a file that %s names as new",
  async (field) => {
    for (const path of [join(workdir, "new.txt"), "new.txt", "./new.txt"]) {
      expect(await told(call({ [field]: path }), change(path))).toEqual(change("new.txt", "create"));
    }
  },
);

test("ToldChanges takes the path of a difference that the agent shows before", async () => {
  const path = join(workdir, "new.txt");
  const input = { title: "Write new.txt", content: [{ type: "diff", path, oldText: "", newText: "new" }] };
  expect(await told(call(input), change(path))).toEqual(change("new.txt", "create"));
});

test("ToldChanges leaves a file that was there, a call that only reads, and what the agent knows", async () => {
  expect(await told(call({ path: "old.txt" }), change("old.txt"))).toEqual(change("old.txt"));
  expect(await told(call({ path: "new.txt" }, "read"), change("new.txt"))).toEqual(change("new.txt"));
  expect(await told(call({ path: "new.txt" }), change("new.txt", "delete"))).toEqual(change("new.txt", "delete"));
  expect(await told(call({ path: 7 }), change("new.txt"))).toEqual(change("new.txt"));
  expect(await told(call("new.txt"), change("new.txt"))).toEqual(change("new.txt"));
});

test("ToldChanges says once that a file is new, and looks at none outside the working directory", async () => {
  const changes = new ToldChanges(workdir);
  for (const path of ["new.txt", "/nowhere/at/all.txt"]) changes.take(call({ path }));
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(changes.take(change("new.txt"))).toEqual(change("new.txt", "create"));
  expect(changes.take(change("new.txt"))).toEqual(change("new.txt"));
  expect(changes.take(change("/nowhere/at/all.txt"))).toEqual(change("/nowhere/at/all.txt"));
});

test("ToldChanges tells paths below the working directory relative to it, also those of a rename and of the last word", () => {
  const changes = new ToldChanges("/w/tree");
  const rename: AdapterEvent = {
    type: "file_change",
    path: "/w/tree/b.txt",
    from: "/w/tree/a/b.txt",
    action: "rename",
  };
  expect(changes.take(rename)).toEqual({ ...rename, path: "b.txt", from: "a/b.txt" });
  const outside = change("/w/tree-2/a.txt");
  expect(changes.take(outside)).toBe(outside);
  const completed: AdapterEvent = {
    type: "completed",
    success: true,
    files_changed: ["/w/tree/a.txt", "a.txt", "/else.txt"],
    tokens_used: null,
    cost: null,
  };
  expect(changes.take(completed)).toEqual({ ...completed, files_changed: ["a.txt", "/else.txt"] });
});
