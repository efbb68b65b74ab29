import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  grantCommand,
  grantTarget,
  readGrantCommand,
  readRunTarget,
} from "../../../core/ground/config/grant-command.ts";

describe("readGrantCommand", () => {
  it("reads what grantCommand wrote, whatever has to be quoted in it", () => {
    const target = fc.string({ unit: fc.constantFrom(..."ab/.:' \"$`\\*-é"), minLength: 1, maxLength: 20 });
    fc.assert(fc.property(fc.constantFrom("run", "net", "read"), target, (permission, target) => {
      const command = grantCommand("acme-2", permission, { target });
      expect(readGrantCommand(command)).toEqual({ pluginId: "acme-2", word: `${permission}:${target}` });
    }));
    expect(readGrantCommand(grantCommand("acme", "kv", { target: "x" }))).toEqual({ pluginId: "acme", word: "kv" });
  });

  it("takes nothing else for one", () => {
    for (
      const text of [
        "",
        "rm -rf /",
        "bulkhead plugin revoke a kv",
        "bulkhead plugin grant a kv; rm",
        "x\nbulkhead plugin grant a kv",
      ]
    ) {
      expect(readGrantCommand(text)).toBeNull();
    }
  });
});

test.each<[permission: string, target: string, binary: string | undefined, granted: string]>([
  ["run", "git push", "git", "git push"],
  ["run", "git", "git", "git"],
  ["run", "@runtime x.mjs {...}", "@runtime", "@runtime x.mjs {...}"],
  ["run", "git --token=(hidden)", "git", "git"],
  ["run", "/opt/My Tool/bin -v", "/opt/My Tool/bin", "/opt/My Tool/bin"],
  ["run", "./tool x", "./tool", "./tool"],
  ["run_env", "git LANG", "git", "git"],
  ["secrets", "KEY in TOKEN", undefined, "KEY"],
  ["write", "workdir:a b", undefined, "workdir:a b"],
])("a row of %s %s is granted as its own target", (permission, target, binary, granted) => {
  expect(grantTarget({ permission, target, ...(binary === undefined ? {} : { binary }) })).toBe(granted);
});

test("a grant of a program with arguments is one word for a shell, and reads as itself", () => {
  const command = grantCommand("brittle", "run", { target: "git push {...}" });
  expect(command).toBe("bulkhead plugin grant brittle 'run:git push {...}'");
  expect(readGrantCommand(command)).toEqual({ pluginId: "brittle", word: "run:git push {...}" });
  expect(readRunTarget("git push {...}")).toEqual({ binary: "git", args: ["push {...}"] });
});
