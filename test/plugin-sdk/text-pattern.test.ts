import { expect, test } from "vitest";
import { containsText } from "../../plugin-sdk/text-pattern.ts";

test.each<[string, string, boolean]>([
  ["HTTP 401: no", "401", true],
  ["after 1401 or 4012 tokens", "401", false],
  ["1401, then 401", "401", true],
  ["Please SLOW it Down", "slow * down", true],
  ["down, slow", "slow*down", false],
  ["anything", "*", true],
  ["a.b", "a?b", false],
])("containsText(%j, %j) is %j", (text, wildcard, expected) => expect(containsText(text, wildcard)).toBe(expected));
