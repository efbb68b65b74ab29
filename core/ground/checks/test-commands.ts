import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { fieldsOrNone } from "../../../plugin-sdk/json-fields.ts";

/** A command that an agent ran to test its work. */
export interface TestRun {
  /** `seq` of the call. */
  seq: number;
  command: string;
  /** Null while the tool has not answered. */
  passed: boolean | null;
  /** The last line of its output that counts tests; null without one. */
  counts: string | null;
}

const runners = [
  /\b(npm|pnpm|yarn|bun|deno)\s+(run\s+|task\s+)?(t|test|tests)\b/,
  /\b(vitest|jest|mocha|ava|jasmine|karma|cypress|playwright\s+test)\b/,
  /\b(pytest|tox|nox|unittest|rspec|phpunit|ctest|nextest)\b/,
  /\b(go|cargo|swift|dotnet|mix|sbt|bazel|rake|zig\s+build|flutter|dart)\s+test\b/,
  /\bnode\s+(\S+\s+)*--test\b/,
  /\b(mvnw?|gradlew?)\s(.*[\s:])?(test|check|verify)\b/,
  /\bmake\s+(\S+\s+)*(test|check)\b/,
];
const longestCommand = 500;
const longestOutput = 100_000;
const longestLine = 200;
/** Runs that are kept; the newest stay. */
const mostRuns = 50;

/** Whether a command looks like one that runs tests. */
function isTestCommand(command: string): boolean {
  const start = command.slice(0, longestCommand);
  return runners.some((runner) => runner.test(start));
}

/** Collects the test runs among a session's events, in their order. */
export class TestRuns {
  readonly runs: TestRun[] = [];
  readonly #open = new Map<string, TestRun>();

  take({ event, seq }: Envelope): void {
    if (event.type === "tool_call") {
      const { command } = fieldsOrNone(event.input);
      if (event.kind !== "execute" || typeof command !== "string" || !isTestCommand(command)) return;
      const run: TestRun = { seq, command: command.slice(0, longestCommand), passed: null, counts: null };
      this.runs.push(run);
      this.#open.set(event.call_id, run);
      if (this.runs.length > mostRuns) this.runs.shift();
    } else if (event.type === "tool_result") {
      const run = this.#open.get(event.call_id);
      this.#open.delete(event.call_id);
      if (run === undefined) return;
      run.passed = event.success;
      run.counts = typeof event.output === "string" ? countLine(event.output.slice(-longestOutput)) : null;
    }
  }
}

// deno-lint-ignore no-control-regex
const colours = /\u001b\[[0-9;]*m/g;
const counted = /\b\d+\s+(tests?\s+)?(passed|passing|failed|failing|failures?|ok)\b/i;

function countLine(output: string): string | null {
  const lines = output.replace(colours, "").split("\n");
  return lines.findLast((line) => counted.test(line.slice(0, longestLine)))?.trim().slice(0, longestLine) ?? null;
}
