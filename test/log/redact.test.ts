import { expect, test } from "vitest";
import { redact } from "../../core/log/redact.ts";

test("redact replaces every occurrence of a secret by its name", () => {
  const text = redact("--key=hunter2-hunter2 again hunter2-hunter2", [{ name: "API_KEY", value: "hunter2-hunter2" }]);
  expect(text).toBe("--key=[redacted API_KEY] again [redacted API_KEY]");
});

test("redact hides the longer of two secrets that share a beginning", () => {
  const secrets = [{ name: "A", value: "abcdefgh" }, { name: "B", value: "abcdefgh-12345" }];
  expect(redact("abcdefgh-12345 abcdefgh", secrets)).toBe("[redacted B] [redacted A]");
});

test("redact leaves values alone that are too short to be secrets", () => {
  expect(redact("production", [{ name: "MODE", value: "prod" }])).toBe("production");
});
