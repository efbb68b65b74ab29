import { expect, test } from "vitest";
import { grantCovers } from "../../../core/packages/permissions/grant-covers.ts";

test.each(
  [
    ["net", "*.example.com:443", "api.example.com:443", true],
    ["net", "*.example.com:443", "example.com:443", false],
    ["net", "api.example.com:443", "api.example.com:80", false],
    ["read", "workdir", "workdir:package.json", true],
    ["read", "workdir:src", "workdir:package.json", false],
    ["write", "/srv/data", "/srv/data/a.txt", true],
    ["write", "/srv/data", "/srv/other", false],
    ["env", "LANG", "LANG", true],
    ["env", "LANG", "HOME", false],
    ["run", "git", "git", true],
    ["run", "git", "curl", false],
    ["kv", "anything", "kv", true],
  ] as const,
)("a grant of %s:%s for a use of %s: %s", (permission, grant, used, covered) => {
  expect(grantCovers(permission, { grant, used })).toBe(covered);
});
