import { expect, test } from "vitest";
import { namesWith } from "../../core/cluster/engine/names.ts";

test("a stream names a machine only where a machine may have that name", () => {
  const { machineOf, log } = namesWith("b");
  expect(machineOf(log("build-1"))).toBe("build-1");
  for (const name of ["", "..", "../up", "a/b", "A", "-a", "a".repeat(33)]) expect(machineOf(log(name))).toBe(null);
  expect(machineOf("b_work")).toBe(null);
});
