import { expect, test } from "vitest";
import { wallWords } from "../../../../../core/doors/console/page/walls/plugin-words.ts";

type Row = Parameters<typeof wallWords>[0][number];

function row(permission: Row["permission"], target: string, more: Partial<Row> = {}): Row {
  return { permission, target, requested: true, denied: false, effective: [], ...more };
}

const given = (permission: Row["permission"], target: string, more: Partial<Row> = {}) =>
  row(permission, target, { effective: [target], ...more });

test("wallWords joins reading and changing where both are about the same places", () => {
  const { may } = wallWords([given("read", "workdir"), given("write", "workdir"), given("read", "data")]);
  expect(may).toEqual([
    { kind: "file", verb: "read", targets: ["the working folder", "its own data"] },
    { kind: "file", verb: "change", targets: ["the working folder"] },
  ]);
  expect(wallWords([given("read", "workdir"), given("write", "workdir")]).may).toEqual([
    { kind: "file", verb: "read and change", targets: ["the working folder"] },
  ]);
});

test("wallWords says of a row that is allowed in part what is allowed and that the rest is not", () => {
  const words = wallWords([row("run", "git {...}", { binary: "git", effective: ["git push"] })]);
  expect(words).toEqual({
    may: [{ kind: "run", verb: "run", targets: ["git push"] }],
    mayNot: [{ kind: "run", verb: "run", targets: ["git {...}"] }],
  });
});

test("wallWords names denials that nothing asks for, no limits, and who gets a variable", () => {
  const words = wallWords([
    row("net", "a.example:443", { requested: false, denied: true }),
    row("env", "LANG", { requested: false }),
    given("limits", "children 3"),
    given("run_env", "git GH_TOKEN", { binary: "git" }),
  ]);
  expect(words.may).toEqual([{ kind: "key", verb: "hand on", targets: ["GH_TOKEN to git"] }]);
  expect(words.mayNot).toEqual([{ kind: "net", verb: "reach", targets: ["a.example:443"] }]);
});
