import { Command, Option } from "commander";
import { expect, test } from "vitest";
import { requestFlags } from "../../../core/doors/cli/request-flags.ts";
import { buildRequest } from "../../../core/doors/cli/session-request.ts";
import { sessionRequestSchema } from "../../../plugin-sdk/request.ts";

function parse(...args: string[]): Record<string, unknown> {
  const command = new Command().exitOverride().configureOutput({ outputError: () => {} });
  for (const { option } of requestFlags) command.addOption(option());
  return command.parse(args, { from: "user" }).opts();
}

function request(...args: string[]): Record<string, unknown> {
  return { ...buildRequest({ options: parse(...args), prompt: "Do it.", cwd: "/here", config: undefined }) };
}

test("requestFlags has a flag for every field of a session request", () => {
  const fields = Object.keys(sessionRequestSchema["properties"]);
  const covered = new Set(requestFlags.map(({ field }) => field.split(".")[0]));
  expect(fields.filter((field) => !covered.has(field))).toEqual([]);
  const budget = Object.keys(sessionRequestSchema["properties"].budget.properties);
  expect(requestFlags.flatMap(({ field }) => field.startsWith("budget.") ? [field.slice(7)] : []).sort())
    .toEqual(budget.sort());
});

test("requestFlags uses each flag once", () => {
  const names = requestFlags.flatMap(({ flags }) => {
    const { short, long } = new Option(flags);
    return [short, long].filter((name) => name !== undefined);
  });
  expect(new Set(names).size).toBe(names.length);
});

test("buildRequest sets every field from its flag", () => {
  const built = request(
    ..."--workdir sub --role implementor --model m --allowed-tools Read,Write --max-turns 3 --timeout 90s".split(" "),
    ..."--idle-timeout 500ms --context-file a.md --context-file b.md --env A=1 --env B=x=y".split(" "),
    ..."--continue-from native-1 --iteration 2 --max-iterations 5 --approval edits --budget-cost 0.5".split(" "),
    ..."--budget-tokens 1000 --budget-turns 4 --budget-tool-calls 0 --mcp-server one --workspace worktree".split(" "),
    ..."--retry safe --label team=core --task-id t1 --idempotency-key k1 --param speed=2 --param name=x".split(" "),
    ..."--tool-approval Bash=deny --tool-approval Re*=allow --answer-timeout 0 --best-effort --enhance no".split(" "),
    ..."--record-wire --replay-of s1".split(" "),
    "--system-prompt",
    "Be brief.",
    "--permissions",
    '{"net":[]}',
  );
  expect(built).toEqual({
    workdir: "/here/sub",
    prompt: "Do it.",
    role: "implementor",
    model: "m",
    allowed_tools: ["Read", "Write"],
    context_files: ["a.md", "b.md"],
    system_prompt: "Be brief.",
    max_turns: 3,
    timeout_ms: 90_000,
    idle_timeout_ms: 500,
    env: { A: "1", B: "x=y" },
    continue_from: "native-1",
    iteration: 2,
    max_iterations: 5,
    permissions: { net: [] },
    approval: "edits",
    tool_approvals: { Bash: "deny", "Re*": "allow" },
    answer_timeout_ms: 0,
    best_effort: true,
    enhance: false,
    budget: { cost: 0.5, tokens: 1000, turns: 4, tool_calls: 0 },
    mcp_servers: ["one"],
    workspace: "worktree",
    retry: "safe",
    labels: { team: "core" },
    task_id: "t1",
    idempotency_key: "k1",
    params: { speed: 2, name: "x" },
    record: "wire",
    replay_of: "s1",
  });
});

test("buildRequest leaves out what no flag sets, and works in the folder it was started in", () => {
  expect(request()).toEqual({ workdir: "/here", prompt: "Do it." });
});

test("buildRequest reads an empty --allowed-tools as none", () => {
  expect(request("--allowed-tools", "")["allowed_tools"]).toEqual([]);
});

test.each([
  ["--max-turns", "0"],
  ["--max-turns", "1.5"],
  ["--timeout", "soon"],
  ["--timeout", "0"],
  ["--timeout", "5"],
  ["--idle-timeout", "500"],
  ["--answer-timeout", "60"],
  ["--budget-cost", "-1"],
  ["--budget-tool-calls", "many"],
  ["--env", "=x"],
  ["--label", "alone"],
  ["--permissions", "[]"],
  ["--permissions", "{"],
  ["--role", "king"],
  ["--retry", "sometimes"],
  ["--tool-approval", "Bash"],
  ["--answer-timeout", "-1"],
  ["--enhance", "maybe"],
])("requestFlags refuses %s %s", (flag, value) => {
  expect(() => parse(flag, value)).toThrow(/invalid/);
});

test("buildRequest keeps __proto__ a key like any other", () => {
  const built = request("--label", "__proto__=x");
  expect(Object.keys(built["labels"] as object)).toEqual(["__proto__"]);
});

test("buildRequest gives params the type the manifest declares", () => {
  const config = {
    type: "object",
    properties: {
      text: { type: "string" },
      count: { type: "integer" },
      on: { type: "boolean" },
      list: { type: "array" },
    },
  } as const;
  const options = parse("--param", "text=12", "--param", "count=12", "--param", "on=true", "--param", "list=a,b");
  const { params } = buildRequest({ options, prompt: "p", cwd: "/", config });
  expect(params).toEqual({ text: "12", count: 12, on: true, list: ["a", "b"] });
});

test("buildRequest names the field that does not fit", () => {
  expect(() => request("--permissions", '{"fly":true}')).toThrow(/permissions.fly: expected a known key/);
});
