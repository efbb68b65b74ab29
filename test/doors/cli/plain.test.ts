import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { createPaint } from "../../../core/doors/cli/render/paint.ts";
import { inWords } from "../../../core/doors/cli/render/signs.ts";
import { askedText } from "../../../core/doors/cli/render/input-text.ts";
import { whileWaiting } from "../../../core/doors/cli/while-waiting.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { listFiles, literal, parse, readSource, visitNodes } from "../../structure/source.ts";
import { fakeHost, fakeResult } from "./fake-host.ts";
import { fakeTerminal, type FakeTerminalOptions } from "./fake-terminal.ts";

const shape = /[\u2190-\u21ff\u2500-\u27bf\u2800-\u28ff»]/u;

const events = [
  { type: "plan", entries: [{ content: "Read", status: "completed" }, { content: "Write", status: "in_progress" }] },
  { type: "tool_call", call_id: "1", tool: "Read", input: { path: "a.ts" } },
  { type: "tool_result", call_id: "1", tool: "Read", success: false, output: "gone", duration_ms: 5 },
  { type: "progress", message: "Half", percentage: 50 },
  { type: "capability", permission: "run", target: "git", decision: "denied", reason: "not granted" },
  { type: "output", stream: "stdout", data: "→ the agent's ● own ─ words\n" },
  { type: "error", code: "fatal", message: "Broken", recoverable: true },
] as unknown as Envelope["event"][];
const result = fakeResult({
  artifacts: [{ path: "b.txt", from: "c.txt", change: "renamed", kind: "file", sha256: null, bytes: 3 }],
});

async function cli(args: string[], options: FakeTerminalOptions = {}) {
  const terminal = fakeTerminal({ args, cwd: tmpdir(), tty: true, columns: 80, ...options });
  const code = await runCli(terminal, { createHost: fakeHost({ events, result }).create });
  return { code, out: terminal.out(), err: terminal.err() };
}

test.each<[string[], Record<string, string>]>([
  [["--plain"], {}],
  [[], { BULKHEAD_PLAIN: "1" }],
  [[], { TERM: "dumb" }],
])("%j and %j give words for signs, and nothing moves", async (flags, env) => {
  const { out, err } = await cli(["run", "alpha", "go", ...flags], { env });
  const own = out.split("\n").filter((line) => !line.includes("own")).join("\n");
  expect(own + err).not.toMatch(shape);
  // deno-lint-ignore no-control-regex
  expect(out + err).not.toMatch(/[\u001b\r]/);
  for (
    const line of [
      "done: Read",
      "now: Write",
      "do: Read  a.ts",
      "result: Read failed",
      "50%  Half",
      "problem: denied run git",
      "problem: fatal: Broken",
      "ok: completed · end_turn",
    ]
  ) expect(out).toContain(line);
});

test("an agent's own words, its answer and JSON stay as they are", async () => {
  expect((await cli(["run", "alpha", "go", "--plain"])).out).toContain("→ the agent's ● own ─ words\n");
  expect((await cli(["run", "alpha", "go", "--plain", "--json"])).out).toContain("→ the agent's ● own ─ words");
  const asked = askedText({ command: "→ ● rm ─ -rf" }, { paint: createPaint("plain"), columns: 80 });
  expect(asked).toBe("  | → ● rm ─ -rf\n");
});

test("BULKHEAD_PLAIN=0 keeps the signs, and without it they are as before", async () => {
  expect((await cli(["run", "alpha", "go"], { env: { BULKHEAD_PLAIN: "0", TERM: "dumb" } })).out).toContain("→ Read");
  expect((await cli(["run", "alpha", "go"])).out).toContain("✔ completed");
});

test("questions, waiting lines, doctor, help and watch have no sign either", async () => {
  const { out, err } = await cli(["doctor", "--plain"]);
  expect(out + err).not.toMatch(shape);
  expect((await cli(["run", "--help", "--plain"])).out).not.toMatch(shape);
  const terminal = { ...fakeTerminal({ tty: true }), colours: { stdout: "plain", stderr: "plain" } as const };
  await whileWaiting("Waiting …", { terminal, work: Promise.resolve() });
  expect(terminal.err()).toBe("Waiting …\n");
});

test("every sign that the command line prints is in the one table", () => {
  const files = [...listFiles("core/doors/cli", ".ts"), "core/ground/checks/event-words.ts"];
  const found = new Map<string, string>();
  for (const path of files.filter((path) => !path.endsWith("signs.ts"))) {
    visitNodes(parse(path, readSource(path)), (node) => {
      const texts = node.type === "Literal"
        ? [String(literal(node))]
        : node.type === "TemplateLiteral"
        ? (node["quasis"] as { value: { cooked: string } }[]).map(({ value }) => value.cooked)
        : [];
      for (const char of texts.join("")) if (shape.test(char)) found.set(char, path);
    });
  }
  expect(found.size).toBeGreaterThan(15);
  const unknown = [...found].filter(([char]) => inWords(`${char} x`).includes(char));
  // The spinner is never drawn in plain output.
  expect(unknown.filter(([, path]) => !path.endsWith("session-status.ts"))).toEqual([]);
});
