import { expect, test } from "vitest";
import { TestRuns } from "../../../core/ground/checks/test-commands.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { envelopesOf } from "../../doors/cli/fake-host.ts";

const call = (call_id: string, command: string): Envelope["event"] => {
  return { type: "tool_call", call_id, tool: "Bash", kind: "execute", input: { command } };
};

function runsOf(command: string): string[] {
  const found = new TestRuns();
  for (const envelope of envelopesOf([call("a", command)])) found.take(envelope);
  return found.runs.map((run) => run.command);
}

test.each([
  "npm test -- --run tally",
  "cd shop && pnpm run test",
  "npx vitest run src",
  "deno task test",
  "python -m pytest -x",
  "go test ./...",
  "cargo nextest run",
  "node --experimental-vm-modules --test",
  "./gradlew :app:check",
  "make -j4 check",
])("TestRuns knows %s", (command) => expect(runsOf(command)).toEqual([command]));

test.each([
  "npm install",
  "git commit -m 'add tests'",
  "cat test/tally.test.ts",
  "ls tests",
  "make build",
  "node test.js",
])(
  "TestRuns does not take %s for one",
  (command) => expect(runsOf(command)).toEqual([]),
);

const result = (call_id: string, output: string, success: boolean): Envelope["event"] => {
  return { type: "tool_result", call_id, tool: "Bash", output, success, duration_ms: 1 };
};

test("TestRuns joins each run with its result and the line that counts, whatever stands between", () => {
  const found = new TestRuns();
  const events = [
    call("a", "npx vitest run"),
    call("b", "ls"),
    result("b", "12 passed", true),
    result("a", "\u001b[31m Tests  1 failed\u001b[0m | 12 passed (13)\nDuration 2 s", false),
    call("c", "go test ./..."),
  ];
  for (const envelope of envelopesOf(events)) found.take(envelope);
  expect(found.runs).toEqual([
    { seq: 1, command: "npx vitest run", passed: false, counts: "Tests  1 failed | 12 passed (13)" },
    { seq: 5, command: "go test ./...", passed: null, counts: null },
  ]);
});
