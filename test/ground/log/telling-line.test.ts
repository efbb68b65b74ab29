import { describe, expect, test } from "vitest";
import { tellingLine } from "../../../core/ground/log/telling-line.ts";

const node = `node:internal/modules/package_json_reader:121
  const result = modulesBinding.getPackageScopeConfig(resolved);
                 ^

Error: Access to this API has been restricted. Use --allow-fs-read to manage permissions.
    at getPackageScopeConfig (node:internal/modules/package_json_reader:121:33)
    at getPackageType (node:internal/modules/package_json_reader:162:10) {
  code: 'ERR_ACCESS_DENIED',
  permission: 'FileSystemRead',
}

Node.js v20.19.0
`;
const deno = `error: Uncaught (in promise) TypeError: this is why
    throw new TypeError("this is why");
          ^
    at file:///dist/walls/warden.js:1:7
`;
const go = `runtime: goroutine stack exceeds 1000000000-byte limit
fatal error: stack overflow

goroutine 1 [running]:
`;

describe("tellingLine picks", () => {
  test.each([
    [node, "Error: Access to this API has been restricted. Use --allow-fs-read to manage permissions."],
    [deno, "error: Uncaught (in promise) TypeError: this is why"],
    ["TypeError [ERR_INVALID_ARG_TYPE]: no\n    at x\n\nNode.js v22.1.0\n", "TypeError [ERR_INVALID_ARG_TYPE]: no"],
    ["Error: of before\ngoing on\nRangeError: of the end\n  [cause]: Error: inner\n", "RangeError: of the end"],
  ])("the last error of the end of an output: %j", (printed, line) => {
    expect(tellingLine(printed, { of: "tail", most: 300 })).toBe(line);
  });

  test("the first one of the beginning of an output", () => {
    expect(tellingLine(`starting\n${go}`, { of: "head", most: 300 })).toBe(go.split("\n")[0]);
  });

  test("without an error the line at the end that was kept, but never the version of Node", () => {
    expect(tellingLine("first\nlast\n\nNode.js v24.0.0\n", { of: "tail", most: 300 })).toBe("last");
    expect(tellingLine("first\nlast\n", { of: "head", most: 300 })).toBe("first");
    expect(tellingLine("Node.js v24.0.0\n", { of: "tail", most: 300 })).toBe("");
  });

  test("nothing that a terminal obeys, nor more than wanted", () => {
    expect(tellingLine(`\u001b[31mError: ${"x".repeat(50)}`, { of: "tail", most: 20 })).not.toContain("\u001b");
    expect(tellingLine(`Error: ${"x".repeat(50)}`, { of: "tail", most: 20 })).toBe(
      `Error: ${"x".repeat(13)}… (37 more)`,
    );
  });
});
