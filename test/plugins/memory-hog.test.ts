import { MemoryContext } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import MemoryHog from "../../plugins/memory-hog/mod.ts";

test("memory-hog behaves at first", async () => {
  const session = new MemoryHog().runSession({ workdir: "/work", prompt: "" }, new MemoryContext());
  expect((await session.next()).value).toEqual({ type: "progress", message: "behaving for a moment" });
  await session.return();
});
