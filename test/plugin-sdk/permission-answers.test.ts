import { expect, test } from "vitest";
import { PermissionAnswers } from "../../plugin-sdk/permission-answers.ts";

test("answers reach their requests, whichever comes first, and nobody waits when it is over", async () => {
  const yes = { id: "y", label: "Yes", kind: "allow_once" } as const;
  const answers = new PermissionAnswers({ permission: (id) => Promise.resolve(id === "a" ? yes : null) });
  for (const id of ["a", "b", "c", "e"]) answers.begin(id);
  const early = answers.wait("a");
  answers.ask("a");
  expect(await early).toEqual(yes);
  expect(answers.rejected).toBe(false);
  const no = answers.wait("b");
  answers.ask("b");
  expect([await no, answers.rejected]).toEqual([null, true]);
  // Its id is free again.
  expect(await answers.wait("a")).toBe(null);
  const back = answers.wait("e");
  expect([answers.withdraw("e"), answers.withdraw("e"), await back]).toEqual([true, false, "withdrawn"]);
  const never = answers.wait("c");
  answers.close();
  expect([await never, await answers.wait("d")]).toEqual(["closed", "closed"]);
});

test("PermissionAnswers.close() ends what is open, and names it", async () => {
  const answers = new PermissionAnswers({ permission: () => new Promise(() => {}) });
  answers.begin("one");
  answers.begin("two");
  answers.withdraw("two");
  const waiting = answers.wait("one");
  expect(answers.close()).toEqual(["one"]);
  expect(await waiting).toBe("closed");
  expect(answers.close()).toEqual([]);
});
