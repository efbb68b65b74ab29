import { expect, test } from "vitest";
import { eventLines } from "../../../../core/doors/cli/render/event-lines.ts";
import { LiveView, type LiveViewOptions } from "../../../../core/doors/cli/render/live-view.ts";
import { createPaint } from "../../../../core/doors/cli/render/paint.ts";
import { resultLines } from "../../../../core/doors/cli/render/result-lines.ts";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { envelopesOf, fakeResult, fakeSettings } from "../fake-host.ts";

const asked = { workdir: "/w", prompt: "p" };
const held = fakeSettings();

async function show(envelopes: readonly Envelope[], options: Partial<LiveViewOptions> = {}): Promise<string> {
  let text = "";
  const view = new LiveView({
    write: async (piece) => {
      text += piece;
    },
    paint: createPaint(false),
    columns: 60,
    adapters: ["alpha"],
    ...options,
  });
  for (const envelope of envelopes) await view.show(envelope);
  await view.finish();
  return text;
}

const out = (data: string): Envelope["event"] => ({ type: "output", stream: "stdout", data });

test("LiveView shows events as lines behind the adapter's name", async () => {
  const text = await show(envelopesOf([
    {
      type: "session_started",
      adapter_id: "alpha",
      workdir: "/w",
      task_id: null,
      labels: {},
      requested: asked,
      effective: held,
      candidates: ["alpha"],
      passed_over: [],
    },
    { type: "agent_info", model: "model-x", tools: ["a", "b"], agent_session_id: "native-1" },
    { type: "thinking", content: "Let me " },
    { type: "thinking", content: "see." },
    out("I will "),
    out("write it."),
    { type: "tool_call", call_id: "1", tool: "Write", kind: "edit", input: { file_path: "a.txt", content: "x" } },
    { type: "tool_result", call_id: "1", tool: "Write", output: "ok\nthen", success: true, duration_ms: 61 },
    { type: "file_change", path: "a.txt", action: "create" },
    { type: "progress", message: "counting", percentage: 40 },
    { type: "plan", entries: [{ content: "one", status: "completed" }, { content: "two", status: "pending" }] },
    { type: "usage", scope: "turn", tokens_in: 1200, tokens_out: null, tokens_cached: null, cost: 0.5 },
    { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null },
  ]));
  expect(text).toBe([
    " alpha │ ● started in /w",
    " alpha │ · model-x · 2 tools · session native-1",
    " alpha │ Let me see.",
    " alpha │ I will write it.",
    " alpha │ → Write  a.txt  +1 −0",
    " alpha │   +x",
    " alpha │ ← Write ok  61 ms  ok then",
    " alpha │ + a.txt",
    " alpha │ ▰▰▰▰▱▱▱▱▱▱  40%  counting",
    " alpha │ ☑ one",
    " alpha │ ☐ two",
    " alpha │ · 1,200 tokens in, $0.50 (turn)",
    "",
  ].join("\n"));
});

test("LiveView names a lone agent once, and each one as soon as another speaks", async () => {
  const started = { type: "session_started", adapter_id: "alpha", workdir: "/w", requested: asked, effective: held };
  const first = envelopesOf([started as never, out("hi\n")]);
  const other = envelopesOf([out("ho\n")]).map((one) => ({ ...one, adapter: { ...one.adapter, id: "beta" } }));
  expect(await show([...first, ...other, ...envelopesOf([out("on\n")])], { lone: true }))
    .toBe(" alpha\n ● started in /w\n hi\n beta  │ ho\n alpha │ on\n");
  const effective = { ...held, model: "m-1", workspace: "worktree" };
  expect(await show(envelopesOf([{ ...started, effective } as never]), { lone: true }))
    .toBe(" alpha · m-1 · worktree\n ● started in /w\n");
});

test("LiveView gives a lone agent the whole width but one column, and its times without a line beside them", async () => {
  const words = "word ".repeat(40).trim();
  const lines = (await show(envelopesOf([out(`${words}\n`)]), { lone: true, columns: 40 })).trimEnd().split("\n");
  expect(lines[0]).toBe(` ${words.slice(0, 39).trim()}`);
  expect(await show(envelopesOf([out("hi\n")]), { lone: true, times: true })).toMatch(/^ \d\d:\d\d:\d\d hi\n$/);
});

test("LiveView wraps a refusal at its words, each behind the gutter, and leaves a command whole", async () => {
  const problem = "tool_call needs kind, which is one of the words that are listed for it";
  const grant_command = `bulkhead plugin grant alpha 'run:git ${"push ".repeat(20)}'`;
  const denied = { type: "capability", permission: "run", target: "git", decision: "denied", grant_command } as const;
  const text = await show(
    envelopesOf([{ type: "unparsed", data: { problem, yielded: { type: "tool_call" } } }, denied]),
    { columns: 40 },
  );
  const lines = text.trimEnd().split("\n");
  expect(lines.slice(0, -2).every((line) => line.startsWith(" alpha │ ") && line.length <= 40)).toBe(true);
  expect(lines.slice(0, -2).map((line) => line.slice(9)).join(" ")).toBe(`✗ event refused: ${problem}`);
  expect(lines.at(-1)).toBe(` alpha │   to allow it: ${grant_command}`);
});

test("LiveView shows a plan once, then what changes of it, and a new plan whole", async () => {
  const plan = (...entries: [string, "pending" | "completed"][]): Envelope["event"] => ({
    type: "plan",
    entries: entries.map(([content, status]) => ({ content, status })),
  });
  const text = await show(envelopesOf([
    plan(["one", "pending"], ["two", "pending"]),
    plan(["one", "completed"], ["two", "pending"]),
    plan(["one", "completed"], ["two", "pending"]),
    plan(["other", "pending"], ["more", "pending"]),
  ]));
  expect(text.replaceAll(" alpha │ ", "").split("\n")).toEqual(["☐ one", "☐ two", "☑ one", "☐ other", "☐ more", ""]);
});

test("LiveView leaves the colours of a tool out, counts the lines of an edit and shows the first of them", async () => {
  const edit = { file_path: "src/a.ts", old_string: "a\nb", new_string: "a\nc\nd\ne\nf\ng\nh" };
  const text = await show(envelopesOf([
    { type: "tool_call", call_id: "1", tool: "Edit", kind: "edit", input: edit },
    {
      type: "tool_result",
      call_id: "1",
      tool: "Bash",
      output: "\u001b[1mRUN\u001b[0m v4\u001b[2J",
      success: true,
      duration_ms: 9,
    },
    out("\u001b[36mblue\u001b[0m\n"),
  ]));
  expect(text.replaceAll(" alpha │ ", "").split("\n")).toEqual([
    "→ Edit  src/a.ts  +6 −1",
    "  -b",
    "  +c",
    "  +d",
    "  +e",
    "  +f",
    "  +g",
    "  … and 1 more line",
    "← Bash ok  9 ms  RUN v4\\u{1b}[2J",
    "blue",
    "",
  ]);
});

test("LiveView makes room for the name of an adapter that was not announced", async () => {
  const said = (id: string) =>
    envelopesOf([out("hi\n")]).map((one) => ({ ...one, session_id: id, adapter: { ...one.adapter, id } }));
  const names = ["al", "asker", "al", "a-name-longer-than-any-column"];
  expect(await show(names.flatMap(said), { adapters: [] }))
    .toBe(" al   │ hi\n asker │ hi\n al    │ hi\n a-name-longer-than-a │ hi\n");
});

test("LiveView keeps the texts of sessions apart and shows only full lines", async () => {
  const a = envelopesOf([out("one "), out("two\n"), out("end")], { adapter: "alpha", session: "a" });
  const b = envelopesOf([out("un "), out("deux\n")], { adapter: "beta", session: "b" });
  const mixed = [a[0], b[0], a[1], b[1], a[2]].filter((envelope) => envelope !== undefined);
  expect(await show(mixed, { adapters: ["alpha", "beta"] })).toBe(" alpha │ one two\n beta  │ un deux\n alpha │ end\n");
});

test("LiveView shows words as they come when it streams", async () => {
  const pieces: string[] = [];
  const view = new LiveView({
    write: async (piece) => void pieces.push(piece),
    paint: createPaint(false),
    columns: 60,
    adapters: ["alpha"],
    streaming: true,
  });
  for (const envelope of envelopesOf([out("one tw"), out("o three")])) await view.show(envelope);
  expect(pieces).toEqual([" alpha │ one ", "two "]);
  await view.finish();
  expect(pieces.join("")).toBe(" alpha │ one two three\n");
});

test("LiveView wraps long text under the name and never writes a line wider than the terminal", async () => {
  const text = await show(envelopesOf([out("word ".repeat(30)), { type: "progress", message: "x".repeat(500) }]));
  for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(60);
  expect(text).toContain("…");
});

const completed = (output: string, success = true): Envelope["event"] => {
  return { type: "completed", success, output, files_changed: [], tokens_used: null, cost: null };
};

test("LiveView shows an answer that comes with the last word alone, and no answer twice", async () => {
  expect(await show(envelopesOf([out("Thinking.\n"), completed("Your number is 4.")])))
    .toBe(" alpha │ Thinking.\n alpha │ Your number is 4.\n");
  expect(await show(envelopesOf([out("Your number"), out(" is 4."), completed("Your number is\n4.")])))
    .toBe(" alpha │ Your number is 4.\n");
  expect(await show(envelopesOf([completed("It broke.", false)])))
    .toBe(" alpha │ It broke.\n alpha │ ✗ the agent reports failure\n");
});

test("LiveView shows an answer in the agent's words", async () => {
  const ask: Envelope["event"] = {
    type: "permission_request",
    request_id: "r1",
    tool: "Bash",
    title: "Run it?",
    options: [{ id: "a", label: "Yes, once", kind: "allow_once" }],
  };
  const answered = (choice: string | null, by: "client" | "policy"): Envelope["event"] => {
    return { type: "permission_resolved", request_id: "r1", choice, by };
  };
  expect(
    await show(envelopesOf([ask, answered("a", "client"), answered("free text", "policy"), answered(null, "client")])),
  )
    .toBe(
      " alpha │ ? Bash asks: Run it?\n alpha │ ✓ answered: Yes, once\n alpha │ ✓ answered by policy: free text\n" +
        " alpha │ ✗ not answered\n",
    );
});

test("LiveView shows the words of each session's own request, where agents count their requests alike", async () => {
  const asked = (session: string, label: string) =>
    envelopesOf([{
      type: "permission_request",
      request_id: "r1",
      tool: "Bash",
      title: "Run it?",
      options: [{ id: "a", label, kind: "allow_once" }],
    }, { type: "permission_resolved", request_id: "r1", choice: "a", by: "client" }], { session });
  const [one, two] = [asked("1", "Once"), asked("2", "For good")];
  const text = await show([one[0]!, two[0]!, one[1]!, two[1]!]);
  expect(text.split("\n").filter((line) => line.includes("answered"))).toEqual([
    " alpha │ ✓ answered: Once",
    " alpha │ ✓ answered: For good",
  ]);
});

test("LiveView tells sessions of one adapter apart by their ids, and shows when events came", async () => {
  const said = ["76af00", "12bc00"].flatMap((session) => envelopesOf([out(`from ${session}\n`)], { session }));
  expect(await show(said, { ids: true })).toBe(" alpha 76af │ from 76af00\n alpha 12bc │ from 12bc00\n");
  const [first] = said;
  const time = `${new Date(first!.ts).toTimeString().slice(0, 8)}`;
  expect(await show([first!], { times: true })).toBe(` ${time} alpha │ from 76af00\n`);
  const long = await show(envelopesOf([out("word ".repeat(40))]), { times: true, ids: true });
  for (const line of long.split("\n")) expect(line.length).toBeLessThanOrEqual(60);
});

test("LiveView lets no escape sequence of an agent through", async () => {
  const evil = "\u001b[2J\u001b]0;title\u0007\u009b31m";
  const events: Envelope["event"][] = [
    out(`${evil}\n`),
    { type: "thinking", content: evil },
    { type: "progress", message: evil },
    { type: "tool_call", call_id: "1", tool: evil, kind: "other", input: { command: evil } },
    { type: "unparsed", data: { evil } },
  ];
  const text = await show(envelopesOf(events, { adapter: `alpha${evil}` }), { streaming: true });
  const controls = [...text.replaceAll("\n", "")].filter((character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
  });
  expect(controls).toEqual([]);
});

test("eventLines shows a denial with the whole command that would grant it", () => {
  const grant_command = `bulkhead plugin grant alpha read:/${"long/".repeat(40)}`;
  const denied = { type: "capability", permission: "read", target: "/etc", decision: "denied", grant_command } as const;
  expect(eventLines(denied)).toEqual([
    { tone: "red", text: "✗ denied read /etc" },
    { tone: "dim", text: `  to allow it: ${grant_command}`, whole: "command" },
  ]);
  const allowed = { type: "capability", permission: "read", target: "/etc", decision: "allowed" } as const;
  expect(eventLines(allowed)).toEqual([]);
  expect(eventLines(allowed, { verbose: true })).toHaveLength(1);
});

test("eventLines always shows what became of a guarded place", () => {
  const reason = "It was changed while the session ran.";
  const changed = {
    type: "capability",
    permission: "write",
    target: "workdir:AGENTS.md",
    decision: "allowed",
    reason,
  } as const;
  expect(eventLines(changed)).toEqual([{ tone: "yellow", text: `! write workdir:AGENTS.md: ${reason}` }]);
});

test("eventLines names no command for a denial that a grant alone does not lift", () => {
  const grant_command = "bulkhead plugin grant alpha run:git";
  const denied = { type: "capability", permission: "run", target: "git", decision: "denied", grant_command } as const;
  const [, why] = eventLines({ ...denied, grantable: false });
  expect(why).toMatchObject({ text: expect.stringContaining("granting it would not help"), whole: "words" });
  expect(why?.text).not.toContain("bulkhead plugin grant");
  const [, line] = eventLines({ ...denied, grantable: false, manifest_entry: "permissions: { run: [git] }" });
  expect(line).toMatchObject({ text: "  add to plugin.yaml: permissions: { run: [git] }", whole: "command" });
});

test("eventLines shows a refused event as one whole sentence, and other unknown output as data", () => {
  const problem = `completed needs files_changed (a list)${" ".repeat(100)}.`;
  expect(eventLines({ type: "unparsed", data: { problem, yielded: { type: "completed" } } })).toEqual([
    { tone: "red", text: `✗ event refused: ${problem}`, whole: "words" },
  ]);
  expect(eventLines({ type: "unparsed", data: { odd: 1 } })).toEqual([{ tone: "dim", text: '… {"odd":1}' }]);
});

test("eventLines has words for every event of the host", () => {
  const error = { code: "crash", message: "It died." } as const;
  const texts = ([
    { type: "queued", position: 2 },
    { type: "queued", position: 0, reason: "alpha is limited.", retry_in_ms: 9000 },
    { type: "attempt_started", attempt: 2, adapter_id: "alpha" },
    { type: "attempt_failed", attempt: 1, adapter_id: "alpha", error, retry_in_ms: 2000 },
    { type: "fallback", from: "alpha", to: "beta", reason: "crash" },
    { type: "process_spawned", process_id: 1, pid: 5, argv: ["/usr/bin/node", "x.mjs"] },
    { type: "process_exited", process_id: 1, pid: 5, exit_code: null, signal: "SIGKILL", duration_ms: 1500 },
    { type: "permission_resolved", request_id: "1", choice: null, by: "deadline" },
    { type: "worker", state: "out_of_memory", message: "The heap is full." },
    { type: "gap", from_seq: 2, to_seq: 4 },
  ] satisfies Envelope["event"][]).flatMap((event) => eventLines(event).map(({ text }) => text));
  expect(texts).toEqual([
    "… waiting for a slot, position 2",
    "… waiting: alpha is limited; next try in 9.0 s",
    "↻ attempt 2 on alpha",
    "✗ attempt 1 failed: It died; next try in 2.0 s",
    "↪ fallback: beta takes over from alpha: crash",
    "▸ node x.mjs",
    "▹ process 5 was ended by SIGKILL after 1.5 s",
    "✗ no answer came in time",
    "✗ worker out of memory: The heap is full.",
    "… events 2 to 4 are no longer held",
  ]);
});

test("resultLines shows where a plugin failed, and not where it refused an operator's mistake, but for its author", () => {
  const lines = (name: string, verbose: boolean) => {
    const details = { stack: `${name}: No.\n    at mod.ts:3:4` };
    const result = fakeResult({
      outcome: "error",
      stop_reason: "fatal",
      error: { code: "fatal", message: "No.", details },
    });
    return resultLines(result, { paint: createPaint(false), columns: 80, events: 1, verbose }).join("\n");
  };
  expect(lines("TypeError", false)).toContain("at mod.ts:3:4");
  expect(lines("BulkheadError", false)).not.toContain("at mod.ts");
  expect(lines("BulkheadError", true)).toContain("at mod.ts:3:4");
});

test("resultLines names the session whose events have the other changes of git", () => {
  const git_changes = Array.from({ length: 23 }, (_, at) => ({ name: `refs/heads/b${at}`, outcome: "moved" as const }));
  const result = fakeResult({ session_id: "3f2a91c0aabb", git_changes });
  const lines = resultLines(result, { paint: createPaint(false), columns: 80, events: 1 });
  expect(lines).toContain("  and 3 more: bulkhead session events 3f2a91c0");
});

test("resultLines says where a budget is held by the agent's word alone", () => {
  const lines = (budget_basis: "wire" | "reported") =>
    resultLines(fakeResult({ effective: { ...fakeSettings(), budget: { cost: 1 }, budget_basis } }), {
      paint: createPaint(false),
      columns: 80,
      events: 1,
    });
  expect(lines("reported")).toContain("  budget held by the agent's own word: it may be passed");
  expect(lines("wire").join()).not.toContain("budget");
});

test("resultLines says in plain words why changes are unknown", () => {
  const lines = (artifacts_reason: string) =>
    resultLines(fakeResult({ artifacts: null, artifacts_reason }), {
      paint: createPaint(false),
      columns: 80,
      events: 1,
    });
  expect(lines("host_restarted")).toContain("  changed files unknown: the host was restarted");
  expect(lines("not a git repository")).toContain("  changed files unknown: not a git repository");
});

test("resultLines shows ending, use and artifacts", () => {
  const sha256 = "98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4";
  const result = fakeResult({
    artifacts: [
      { path: "a.txt", change: "untracked", kind: "file", sha256, bytes: 3, lines: { added: 12, removed: 0 } },
      { path: "b.txt", from: "c.txt", change: "renamed", kind: "file", sha256, bytes: 2048 },
      { path: "c.sh", change: "modified", kind: "file", sha256, bytes: 7, lines: { added: 0, removed: 0 } },
      { path: "old", change: "deleted", kind: "file", sha256: null, bytes: null, lines: { added: 0, removed: 40 } },
    ],
    artifacts_shared_with: ["s2"],
    claimed_only: ["never.txt"],
  });
  const part = { ...result, usage: { ...result.usage, partial: true as const, requests: 3 } };
  expect(resultLines(part, { paint: createPaint(false), columns: 80, events: 12 })).toContain(
    "  at least 600 tokens in · 120 out · 3 requests · $0.0036 · model-x",
  );
  expect(resultLines(result, { paint: createPaint(false), columns: 80, events: 12 })).toEqual([
    "✔ completed · end_turn · 2.1 s · 12 events",
    "  600 tokens in · 120 out · $0.0036 · model-x",
    "  + created   a.txt              +12 −0",
    "  ~ renamed   b.txt (was c.txt)  2 KiB",
    "  ~ modified  c.sh               7 B",
    "  - deleted   old                +0 −40",
    "  claimed, but git shows no change: never.txt",
    "  another session worked here: some changes may be its",
  ]);
});

test("resultLines tells the calls that the host saw, and where the agent reports other figures", () => {
  const wire = { calls: 3, unknown: 0, tokens_in: 900, tokens_out: 100, tokens_cached: 0, cost: null, currency: null };
  const lines = (more: object) => {
    const { usage, ...result } = fakeResult({});
    const options = { paint: createPaint(false), columns: 120, events: 1 };
    return resultLines({ ...result, usage: { ...usage, wire: { ...wire, ...more } } }, options)
      .filter((line) => /seen|reports/.test(line));
  };
  expect(lines({})).toEqual(["  seen: 3 model calls · 900 tokens in · 100 out"]);
  expect(lines({ calls: 1, unknown: 1, tokens_cached: 40 })).toEqual([
    "  seen: 1 model call, 1 without whole figures · 900 tokens in, 40 of them cached · 100 out",
  ]);
  expect(lines({ unknown: 1, counted: { tokens: 40_500, cost: 0 } })).toEqual([
    "  seen: 3 model calls, 1 without whole figures · 900 tokens in · 100 out · a budget counts 40,500",
  ]);
  expect(lines({ reported_tokens: 40_500 })).toEqual([
    "  seen: 3 model calls · 900 tokens in · 100 out",
    "  the agent reports 40,500 tokens instead",
  ]);
});

test("resultLines names other sessions only where something changed", () => {
  const result = fakeResult({ artifacts: [], artifacts_shared_with: ["s2"] });
  expect(resultLines(result, { paint: createPaint(false), columns: 80, events: 1 })).not.toContainEqual(
    expect.stringContaining("another session"),
  );
});

test("resultLines counts the changed files that it does not show, and those that the result leaves out", () => {
  const artifacts = Array.from(
    { length: 60 },
    (_, index) => ({ path: `f${index}`, change: "untracked", kind: "file", sha256: null, bytes: 0 }) as const,
  );
  const more = (omitted: object) =>
    resultLines(fakeResult({ artifacts, ...omitted }), { paint: createPaint(false), columns: 80, events: 1 })
      .filter((line) => line.includes("more"));
  expect(more({})).toEqual(["  and 40 more"]);
  expect(more({ artifacts_omitted: 12_000 })).toEqual(["  and 12,040 more"]);
});

test("resultLines names what a plugin asks for in all beside the one grant that it lacked first", () => {
  const hint = "bulkhead plugin grant alpha secrets:KEY";
  const result = fakeResult({ stop_reason: "fatal", error: { code: "permission_denied", message: "No.", hint } });
  expect(resultLines(result, { paint: createPaint(false), columns: 80, events: 1 })).toEqual(expect.arrayContaining([
    `  ${hint}`,
    "  all that alpha asks for: bulkhead plugin explain alpha",
  ]));
});

test("resultLines shows why a session failed and why artifacts are unknown", () => {
  const result = fakeResult({
    stop_reason: "crash",
    error: { code: "out_of_memory", message: "The worker ran out of memory.", hint: "Raise heap_mb." },
    artifacts: null,
    artifacts_reason: "git_missing",
    usage: { ...fakeResult().usage, tokens_in: null, tokens_out: null, cost: null, model: null },
  });
  expect(resultLines(result, { paint: createPaint(false), columns: 80, events: 1 })).toEqual([
    "✘ error · crash · 2.1 s · 1 event",
    "  out_of_memory: The worker ran out of memory.",
    "  Raise heap_mb.",
    "  changed files unknown: there is no git",
  ]);
});
