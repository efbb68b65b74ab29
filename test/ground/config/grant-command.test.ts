import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { grantCommand, readGrantCommand } from "../../../core/ground/config/grant-command.ts";

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
