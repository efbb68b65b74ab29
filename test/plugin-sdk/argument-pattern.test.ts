import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ArgumentPattern,
  type ArgumentPiece,
  formatArgumentPattern,
  matchesArguments,
  parseArgumentPattern,
} from "../../plugin-sdk/argument-pattern.ts";

function allows(line: string, args: string[]): boolean {
  return matchesArguments(parseArgumentPattern(line), args);
}

describe("matchesArguments", () => {
  test.each<[string, string[], boolean]>([
    ["", [], true],
    ["", ["a"], false],
    ["run -v", ["run", "-v"], true],
    ["run", ["run", "-v"], false],
    ["run -v", ["run"], false],
    ["{}", ["text"], true],
    ["{}", [""], true],
    ["{}", ["-x"], false],
    ["{}", ["@file"], false],
    ["{*}", ["-x"], true],
    ["{*}", ["@file"], true],
    ["{*}", [], false],
    ["{*}", ["a", "b"], false],
    ["{...}", [], true],
    ["{...}", ["-a", "@b", "c"], true],
    ["a {...} z", ["a", "z"], true],
    ["a {...} z", ["a", "z", "z"], true],
    ["a {...} z", ["a", "z", "y"], false],
    ["{...} m {...}", ["x", "m"], true],
    ["{...} m {...}", ["x"], false],
    ["--model={}", ["--model=-x"], true],
    ["--model={}", ["--model="], true],
    ["--model={}", ["--model"], false],
    ["{}/sub", ["a/b/sub"], true],
    ["{}/sub", ["-a/sub"], false],
    ["{}/sub", ["sub"], false],
    ["a{*}b{*}c", ["a-b-c"], true],
    ["a{*}b{*}c", ["abc"], true],
    ["a{*}b{*}c", ["ac"], false],
    ["ab{*}ba", ["aba"], false],
    ['"two words" \\{\\}', ["two words", "{}"], true],
    ["''", [""], true],
    ["''", [], false],
  ])("%j against %j is %s", (line, args, allowed) => expect(allows(line, args)).toBe(allowed));

  test("stays quick with many rests and a long list", () => {
    const pattern = parseArgumentPattern("{...} a ".repeat(50) + "b");
    expect(matchesArguments(pattern, Array<string>(2000).fill("a"))).toBe(false);
    const wide = parseArgumentPattern(`x${"{*}a".repeat(50)}b`);
    expect(matchesArguments(wide, [`x${"a".repeat(100_000)}c`])).toBe(false);
  });
});

describe("parseArgumentPattern", () => {
  test.each<[string, string, number]>([
    ["a {x}", "unknown placeholder {x}", 3],
    ["--all={...}", '"{...}" is only a part', 7],
    ['a "b', 'the quote " is not closed', 3],
    ["a {", 'the brace "{" is not closed', 3],
    ["a \\", "nothing follows the backslash", 3],
    ["{constructor}", "unknown placeholder", 1],
  ])("refuses %j", (line, fault, position) => {
    expect(() => parseArgumentPattern(line)).toThrow(
      expect.objectContaining({
        code: "invalid_manifest",
        message: expect.stringContaining(fault),
        details: { position, fault: expect.any(String) },
      }),
    );
  });

  test("reads what formatArgumentPattern writes", () => {
    const slot = fc.constantFrom<ArgumentPiece>({ slot: "value" }, { slot: "any" });
    const literal = fc.string({ unit: "binary", minLength: 1 }).map((text): ArgumentPiece => ({ literal: text }));
    // Neighbours of one kind would come back as one piece or could not be told apart.
    const mixed = fc.tuple(literal, slot, literal).map((pieces): ArgumentPiece[] => pieces);
    const argument = fc.oneof(
      mixed,
      fc.oneof(slot, literal, fc.constant<ArgumentPiece>({ slot: "rest" }), fc.constant<ArgumentPiece>({ literal: "" }))
        .map((piece): ArgumentPiece[] => [piece]),
    );
    fc.assert(fc.property(fc.array(argument), (pattern: ArgumentPattern) => {
      expect(parseArgumentPattern(formatArgumentPattern(pattern))).toEqual(pattern);
    }));
  });

  test("a line of literals allows exactly those arguments", () => {
    const list = fc.array(fc.string({ unit: "binary" }));
    fc.assert(fc.property(list, list, (args, others) => {
      const pattern = parseArgumentPattern(formatArgumentPattern(args.map((literal) => [{ literal }])));
      expect(matchesArguments(pattern, args)).toBe(true);
      expect(matchesArguments(pattern, others)).toBe(JSON.stringify(args) === JSON.stringify(others));
    }));
  });
});
