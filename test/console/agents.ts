import { adapterCode } from "../sessions/host/test-host.ts";

/** Texts that do harm where they are taken for markup, or change the order of what is read. */
export const nasty: string = [
  `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`,
  `<a href="javascript:document.title='owned'">click</a>{{constructor.constructor('document.title=1')()}}`,
  "safe\u202etxt.exe\u202c \u2066hidden\u2069 zero\u200bwidth bell\u0007 null\u0000 \u001b]0;owned\u0007\u001b[2Jclear",
  "javascript:document.title='owned' https://xn--80ak6aa92e.com/%2e%2e/?q=<b>",
].join("\n");

/** Markdown with everything in it that the console draws. */
export const prose: string = [
  "# Tally is done",
  "I changed `tally` in **src/tally.js**, *not* in ~~words.js~~. See [the rules](https://example.com/rules?of=tally) or https://example.com/bare.",
  "## What is left\n\n1. Read the code\n2. Change it\n   - and its test\n   - and its page\n3. Run it",
  "- [x] plurals\n- [ ] fractions",
  "```ts\nexport function tally(words: string[]): string {\n  return String(words.length);\n}\n```",
  "| Test | Time | Result |\n| :--- | ---: | :----: |\n| counts words | 3 ms | ok |\n| knows plurals | 12 ms | **fails** |",
  "> The check uses `==`,\n> so null passes.",
  "---",
  "It ends here.",
].join("\n\n");

/** Markdown that would do harm where its markup, pictures or addresses were taken as such. */
export const nastyProse: string = [
  "<details open ontoggle=\"document.title='owned'\"><summary>x</summary><iframe src=/console></iframe></details>",
  "![picture](https://example.com/a.png \"t\") and <img src=x onerror=document.title='owned'> inside",
  "[click](javascript:document.title='owned') [data](data:text/html,<script>1</script>) [https://good.example/](https://evil.example/\u202etxt)",
  "<javascript:document.title='owned'> [ref][r] ![r] `</code><script>document.title='owned'</script>`",
  "[r]: javascript:document.title='owned'",
  "```html\"onclick=1\n</pre><script>document.title='owned'</script>\n```",
  "| <b>a</b> | ![p](x) |\n|---|---|\n| <script>document.title='owned'</script> | [l](vbscript:x) |",
  "999999999999999. <svg onload=document.title='owned'>\n\n# <h1 style=\"background:url(https://example.com/)\">",
].join("\n\n");

/**
 * What an agent of very many events says: lines, a tool's call every ten events, and a change of its plan every thousand. Of each
 * hundred thousand an agent of it does ten thousand.
 */
const eventAt = `    const eventAt = (at) => {
      const place = at % 100_000;
      if (place === 40_000) return { type: "agent_started", agent_id: "sub-" + at, name: "Explorer", prompt: "Look" };
      if (place === 50_000) return { type: "agent_ended", agent_id: "sub-" + (at - 10_000), outcome: "completed" };
      const event = own(at);
      return place > 40_000 && place < 50_000 && event.type !== "plan" ? { ...event, agent_id: "sub-" + (at - place + 40_000) } : event;
    };
    const own = (at) => at % 1000 === 505
      ? { type: "plan", entries: [0, 1, 2].map((step) => ({ content: "step " + step, status: step < at / 1000 % 4 ? "completed" : "pending" })) }
      : at % 10 === 0
      ? { type: "tool_call", call_id: "c" + at, tool: "Read", kind: "read", input: { file_path: "src/file-" + at + ".ts" } }
      : at % 10 === 1 && at > 1
      ? { type: "tool_result", call_id: "c" + (at - 1), tool: "Read", output: "line of a file ".repeat(6), success: true, duration_ms: 4 }
      : { type: "output", stream: "stdout", data: "line " + at + " of what the agent says\\n" };`;

/** Works on turns: streams lines, calls a tool, asks, takes words into a turn and stops, as the prompt says. */
const talking = `    yield { type: "agent_info", agent_session_id: "talk-1", model: "tide-2" };
    for await (const turn of ctx.turns) {
      const { prompt, signal } = turn;
      const words = [];
      void (async () => { for await (const word of turn.messages) words.push(word); })().catch(() => {});
      yield { type: "output", stream: "stdout", data: "turn " + turn.number + " heard: " + prompt + "\\n" };
      for (const part of (turn.content ?? []).filter(({ type }) => type !== "text")) {
        const bytes = await ctx.attachments.base64(part.sha256);
        yield { type: "output", stream: "stdout", data: "saw " + part.type + " " + (part.name ?? part.mime_type) + " of " + bytes.length + " letters\\n" };
      }
      if (prompt.includes("tool")) yield { type: "tool_call", call_id: "t" + turn.number, tool: "Bash", kind: "execute", input: { command: "sleep 600" } };
      if (prompt.includes("ask")) {
        const request_id = "p" + turn.number;
        yield { type: "permission_request", request_id, tool: "Bash", title: "Run the tests", kind: "execute", input: { command: "npm test" }, options: [{ id: "yes", label: "Allow once", kind: "allow_once" }, { id: "no", label: "Reject", kind: "reject_once" }] };
        yield { type: "output", stream: "stdout", data: "answer: " + await ctx.answer(request_id) + "\\n" };
      }
      for (let at = 1, ends = !/work|tool/.test(prompt); !ends && !signal.aborted; at++) {
        for (const { message_id, text } of words.splice(0)) {
          yield { type: "message", message_id, state: "taken" };
          yield { type: "output", stream: "stdout", data: "heard meanwhile: " + text + "\\n" };
          ends = text.includes("finish");
        }
        if (prompt.includes("work") && at % 5 === 0) yield { type: "output", stream: "stdout", data: "line " + at / 5 + " of the work\\n" };
        await ctx.sleep(20, { signal }).catch(() => {});
      }
      if (prompt.includes("fail")) yield { type: "error", code: "model_missing", message: "The model tide-9 does not exist.", recoverable: false };
      else if (!signal.aborted) yield { type: "completed", success: true, output: "turn " + turn.number + " is done", files_changed: [], tokens_used: 12, cost: 0.02 };
    }`;

/** Writes files in each turn; with "think" it first waits for a file of a person's. */
const writing = `    yield { type: "agent_info", agent_session_id: "write-1", model: "tide-2" };
    for await (const { number, prompt } of ctx.turns) {
      yield { type: "output", stream: "stdout", data: "turn " + number + " heard: " + prompt + "\\n" };
      while (prompt.includes("think") && await ctx.fs.readText("mine.md").then(() => false, () => true)) await ctx.sleep(20);
      if (prompt.includes("hold")) await ctx.sleep(600_000);
      const before = await ctx.fs.readText("tally.js");
      await ctx.fs.writeText("tally.js", before + "export const turn" + number + " = " + number + ";\\n");
      await ctx.fs.writeText("note-" + number + ".md", "# " + prompt + "\\n");
      yield { type: "completed", success: true, output: "turn " + number + " is done", files_changed: [], tokens_used: 12, cost: 0.02 };
    }`;

/** Agents that the console's tests run, by the ids of their plugins. */
export const agents: Readonly<Record<string, { code: string; manifest?: string }>> = {
  works: {
    manifest:
      "reports: [tokens, cost]\npermissions:\n  read: [workdir]\n  write: [workdir]\n  net: [api.example.com:443]",
    code: adapterCode(`    yield { type: "agent_info", model: "tide-2", agent_version: "3.1.0" };
    const plan = (...done) => ({ type: "plan", entries: ["Read the code", "Change tally", "Run the tests"].map((content, at) => ({ content, status: done[at] })) });
    yield plan("in_progress", "pending", "pending");
    yield { type: "thinking", content: "The tally counts words, but it should tell singular from plural. I look at src/tally.js first." };
    yield { type: "output", stream: "stdout", data: "I read the code, then change \\u001b[1mtally\\u001b[0m. See https://example.com/docs/tally for the rules.\\n" };
    yield { type: "tool_call", call_id: "t1", tool: "Read", kind: "read", input: { file_path: "src/tally.js" } };
    yield { type: "tool_result", call_id: "t1", tool: "Read", output: "export function tally(words) {\\n  return words.length;\\n}\\n", success: true, duration_ms: 12 };
    yield plan("completed", "in_progress", "pending");
    yield { type: "tool_call", call_id: "t2", tool: "Edit", kind: "edit", input: { file_path: "src/tally.js", old_string: "return words.length;", new_string: "return String(words.length);" } };
    try { await ctx.fs.writeText("src/tally.js", "export function tally(words) {\\n  // Words, as a text.\\n  return String(words.length);\\n}\\n"); } catch {}
    try { await ctx.fs.writeText("src/" + request.prompt.length + ".js", "export const answer = 42;\\n"); } catch {}
    yield { type: "tool_result", call_id: "t2", tool: "Edit", output: "done", success: true, duration_ms: 31 };
    yield { type: "file_change", path: "src/tally.js", action: "modify", diff: "--- a/src/tally.js\\n+++ b/src/tally.js\\n@@ -1,3 +1,4 @@\\n export function tally(words) {\\n-  return words.length;\\n+  // Words, as a text.\\n+  return String(words.length);\\n }\\n" };
    yield { type: "tool_call", call_id: "t3", tool: "Bash", kind: "execute", input: { command: "npm test -- --run tally" } };
    yield { type: "output", stream: "stdout", data: "\\u001b[32m✓\\u001b[0m tally counts words \\u001b[2m(3 ms)\\u001b[0m\\n\\u001b[31m✗\\u001b[0m tally knows plurals\\n" };
    yield { type: "tool_result", call_id: "t3", tool: "Bash", output: "1 test failed", success: false, duration_ms: 2380 };
    try { await ctx.fetch("https://registry.example.org/"); } catch {}
    if (request.prompt.includes("Be denied")) try { await ctx.fetch("https://api.example.com/"); } catch {}
    yield plan("completed", "completed", "in_progress");
    yield { type: "usage", scope: "session", tokens_in: 18230, tokens_out: 1904, tokens_cached: null, cost: 0.0831, currency: "USD", model: "tide-2" };
    yield { type: "completed", success: true, output: "Tally returns a text now. One test about plurals still fails.", files_changed: ["src/tally.js"], tokens_used: 20134, cost: 0.0831, confidence: 0.8, structured_output: { tests_failing: 1 } };`),
  },
  reaches: {
    manifest:
      "permissions:\n  read: [workdir]\n  run: [{ binary: git, args: [push, 'push {...}'] }]\n  net: [orders.example.org:443]\n  env: [TIDE_KEY]",
    code: adapterCode(
      `    const tries = { git: () => ctx.run("git", ["push"]), orders: () => ctx.fetch("https://orders.example.org/"), key: () => ctx.env.get("TIDE_KEY") };
    for (const [name, reach] of Object.entries(tries)) {
      if (request.prompt.includes(name)) try { await reach(); } catch {}
    }
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`,
    ),
  },
  says: {
    code: adapterCode(`    const text = ${JSON.stringify(prose)};
    const size = Number(/\\d+/.exec(request.prompt)?.[0] ?? text.length);
    for (let at = 0; at < text.length; at += size) {
      yield { type: "output", stream: "stdout", data: text.slice(at, at + size) };
      if (size < text.length) await ctx.sleep(30);
    }
    if (request.prompt.includes("wait")) await ctx.sleep(600_000);
    yield { type: "completed", success: true, output: "It is **done**.", files_changed: [], tokens_used: null, cost: null };`),
  },
  stumbles: {
    code: adapterCode(`    const fails = new Set([300, 1500, 2600]);
    for (let at = 1; at <= 3000; at++) {
      const call_id = "c" + at;
      if (!fails.has(at)) yield { type: "progress", message: "step " + at };
      else {
        yield { type: "output", stream: "stdout", data: "I try **" + at + "**." };
        yield { type: "tool_call", call_id, tool: "Bash", kind: "execute", input: { command: "npm test -- " + at } };
        yield { type: "progress", message: "meanwhile" };
        yield { type: "tool_result", call_id, tool: "Bash", output: "no", success: false, duration_ms: 3 };
      }
    }
    if (request.prompt.includes("wait")) await ctx.sleep(600_000);
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`),
  },
  asks: {
    code: adapterCode(
      `    const options = [{ id: "yes", label: "Allow once", kind: "allow_once" }, { id: "always", label: "Always allow", kind: "allow_always" }, { id: "no", label: "Reject", kind: "reject_once" }];
    yield { type: "permission_request", request_id: "p1", tool: "Bash", title: "Run a command that removes the build", kind: "execute", input: { command: "rm -rf dist && npm run build" }, options };
    yield { type: "output", stream: "stdout", data: "answer one: " + await ctx.answer("p1") + "\\n" };
    yield { type: "question", request_id: "q1", question: "Which database should the tests use?", options: ["SQLite", "Postgres"] };
    yield { type: "output", stream: "stdout", data: "answer two: " + await ctx.answer("q1") + "\\n" };
    yield { type: "question", request_id: "q2", question: "What should the branch be called?" };
    yield { type: "output", stream: "stdout", data: "answer three: " + await ctx.answer("q2") + "\\n" };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`,
    ),
  },
  edits: {
    code: adapterCode(
      `    const options = [{ id: "yes", label: "Allow once", kind: "allow_once" }, { id: "always", label: "Always allow", kind: "allow_always" }, { id: "no", label: "Reject", kind: "reject_once" }];
    yield { type: "permission_request", request_id: "e1", tool: "Edit", title: "Edit src/tally.js", kind: "edit", input: { file_path: "src/tally.js", old_string: "return words.length;", new_string: "return String(words.length);" }, options };
    await ctx.answer("e1");
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`,
    ),
  },
  wordy: {
    manifest: "reports: [cost]",
    code: adapterCode(
      `    yield { type: "usage", scope: "session", tokens_in: 1, tokens_out: 1, tokens_cached: null, cost: 12345.678, currency: "USD", model: "m" };
    const command = "cd shop && " + "make everything-and-more ".repeat(40);
    const options = [{ id: "yes", label: "Yes, allow this command to be run this one single time in this folder of yours", kind: "allow_once" }, { id: "always", label: "Yes, and do not ask again for make everything-and-more:* in /home/" + "a-long-folder-".repeat(12) + "end", kind: "allow_always" }, { id: "no", label: "No", kind: "reject_once" }];
    yield { type: "permission_request", request_id: "w1", tool: "Bash", title: "Run it " + "very ".repeat(60), kind: "execute", input: { command }, options };
    await ctx.answer("w1");
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`,
    ),
  },
  fails: {
    code: adapterCode(`    yield { type: "output", stream: "stderr", data: "cannot reach the model\\n" };
    yield { type: "error", code: "model_missing", message: "The model tide-9 does not exist.", recoverable: false };`),
  },
  waits: {
    code: adapterCode(`    yield { type: "progress", message: "Watching the tests", percentage: 40 };
    await ctx.sleep(600_000);`),
  },
  busy: {
    manifest: "reports: [tokens, cost]\npermissions:\n  net: [api.example.com:443]",
    code: adapterCode(
      `    const plan = (done) => ({ type: "plan", entries: ["Read the code", "Fix the comparison", "Change the test", "Run all tests", "Tell it"].map((content, at) => ({ content, status: at < done ? "completed" : at === done ? "in_progress" : "pending" })) });
    const tool = (call_id, name, kind, input) => ({ type: "tool_call", call_id, tool: name, kind, input });
    const answer = (call_id, name, output, success = true) => ({ type: "tool_result", call_id, tool: name, output, success, duration_ms: 7 });
    yield plan(0);
    for (const at of [1, 2, 3]) {
      yield tool("r" + at, "Read", "read", { file_path: "src/part-" + at + ".js" });
      yield answer("r" + at, "Read", "export const part = " + at);
    }
    yield plan(1);
    yield tool("g", "Grep", "search", { pattern: "tally\\\\(", path: "src" });
    yield answer("g", "Grep", "src/tally.js:1");
    yield { type: "output", stream: "stdout", data: "The check uses **==**, so null passes." };
    yield tool("e", "Edit", "edit", { file_path: "src/tally.js", old_string: "return words.length;", new_string: "const count = words.length;\\nreturn String(count);" });
    yield answer("e", "Edit", "done");
    yield plan(2);
    yield { type: "agent_started", agent_id: "sub-1", name: "Explorer", prompt: "Look for other callers" };
    yield { ...tool("s", "Grep", "search", { pattern: "tally" }), agent_id: "sub-1" };
    yield { ...answer("s", "Grep", "src/other.js:4"), agent_id: "sub-1" };
    yield { type: "agent_ended", agent_id: "sub-1", outcome: "completed", output: "There is **one** caller." };
    try { await ctx.fetch("https://api.example.com/"); } catch {}
    yield { type: "usage", scope: "session", tokens_in: 18230, tokens_out: 1904, tokens_cached: null, cost: 0.1231, currency: "USD", model: "tide-2" };
    yield tool("b", "Bash", "execute", { command: "npm test -- --run tally" });
    yield answer("b", "Bash", "1 test failed: knows plurals", false);
    yield plan(3);
    yield tool("t", "Bash", "execute", { command: "npm test" });
    for (let at = 0; at < 400 && !request.prompt.includes("to the end"); at++) {
      await ctx.sleep(1500);
      yield { type: "progress", message: "test " + at };
    }
    yield { type: "completed", success: true, output: "It is **exact**.", files_changed: [], tokens_used: null, cost: null };`,
    ),
  },
  delegates: {
    code: adapterCode(
      `    const steps = ["Read the code", "Ask an explorer", "Fix the comparison", "Change the test", "Run all tests"];
    const plan = (done) => ({ type: "plan", entries: steps.map((content, at) => ({ content, status: at < done ? "completed" : at === done ? "in_progress" : "pending" })) });
    const tool = (call_id, name, kind, input) => ({ type: "tool_call", call_id, tool: name, kind, input });
    const answer = (call_id, name, output, success = true) => ({ type: "tool_result", call_id, tool: name, output, success, duration_ms: 7 });
    const sub = (event) => ({ ...event, agent_id: "toolu_01" });
    yield plan(0);
    for (let at = 0; at < 60; at++) yield { type: "progress", message: "look " + at };
    yield plan(1);
    yield tool("task", "Task", "other", { description: "Look for callers" });
    yield { type: "agent_started", agent_id: "toolu_01", call_id: "task", name: "Explorer", prompt: "Look for other callers of tally" };
    for (let at = 1; at <= 130; at++) {
      yield sub(tool("s" + at, "Grep", "search", { pattern: "caller-" + at }));
      yield sub(answer("s" + at, "Grep", at === 67 ? "the needle of the explorer" : "src/other.js:" + at));
      if (at === 50) yield plan(1);
    }
    yield { ...sub({ type: "agent_ended" }), outcome: "completed", output: "There are **130** callers." };
    yield answer("task", "Task", "130 callers");
    yield plan(2);
    for (let at = 1; at <= 40; at++) {
      yield tool("r" + at, "Read", "read", { file_path: "src/part-" + at + ".js" });
      yield answer("r" + at, "Read", "export const part = " + at);
    }
    const text = "# Callers\\n\\n| File | Line |\\n|---|---|\\n" + Array.from({ length: 30 }, (_, at) => "| src/other-" + at + ".js | " + at + " |\\n").join("");
    for (let at = 0; at < text.length; at += 5) yield { type: "output", stream: "stdout", data: text.slice(at, at + 5) };
    yield plan(3);
    if (request.prompt.includes("wait")) {
      for (let done = 3; done < 60; done++) {
        await ctx.sleep(120);
        for (let at = 0; at < 9; at++) yield { type: "progress", message: "test " + at };
        yield plan(3 + done % 2);
      }
      await ctx.sleep(600_000);
    }
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`,
    ),
  },
  differs: {
    manifest: "permissions:\n  write: [workdir]",
    code: adapterCode(`    await ctx.fs.writeText("src/tally.js", "export const tally = (words) => words.length;\\n");
    yield { type: "completed", success: true, files_changed: ["src/tally.js"], tokens_used: null, cost: null };`),
  },
  gone: {
    code: adapterCode(
      `    yield { type: "error", code: "binary_missing", message: "The program is gone.", recoverable: false };`,
    ),
  },
  limited: {
    manifest: "permissions:\n  read: [workdir]\n  write: [workdir]",
    code: adapterCode(`    const isFirst = await ctx.fs.readText("limited").then(() => false, () => true);
    if (isFirst) {
      await ctx.fs.writeText("limited", "once\\n");
      yield { type: "rate_limit", message: "Slow down", wait_ms: 400 };
      yield { type: "error", code: "rate_limit", message: "Slow down", recoverable: true };
    } else yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`),
  },
  single: {
    code: adapterCode(`    yield { type: "progress", message: "Holds the only slot", percentage: 10 };
    await ctx.sleep(600_000);`),
  },
  many: {
    code: adapterCode(`${eventAt}
    const [count, pauseMs = 0, group = 50] = request.prompt.split(" ").map(Number);
    for (let at = 1; at <= count; at++) {
      yield eventAt(at);
      if (pauseMs > 0 && at % group === 0) await ctx.sleep(pauseMs);
    }
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`),
  },
  pours: {
    code: adapterCode(`${eventAt}
    const began = Date.now();
    for (let at = 1; at < 10_000_000;) {
      for (const due = (Date.now() - began) * Number(request.prompt) / 1000; at <= due; at++) yield eventAt(at);
      await ctx.sleep(5);
    }`),
  },
  remembers: {
    manifest: "accepts: [continue_from]",
    code: adapterCode(`    yield { type: "agent_info", agent_session_id: "own-1" };
    yield { type: "output", stream: "stdout", data: (request.continue_from ?? "new") + " heard: " + request.prompt + "\\n" };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`),
  },
  talks: { manifest: "accepts: [turns, steer, stop_turn, continue_from]", code: adapterCode(talking) },
  deaf: { manifest: "accepts: [turns, stop_turn, continue_from]", code: adapterCode(talking) },
  sees: { manifest: "accepts: [turns, steer, stop_turn, continue_from, images]", code: adapterCode(talking) },
  reads: { manifest: "accepts: [turns, stop_turn, continue_from, images, files]", code: adapterCode(talking) },
  writes: {
    manifest:
      "accepts: [turns, stop_turn, continue_from]\nreports: [tool_calls]\npermissions:\n  read: [workdir]\n  write: [workdir]",
    code: adapterCode(writing),
  },
  crashes: {
    code: adapterCode(`    void Promise.reject(new Error("No luck"));
    await ctx.sleep(1e8);`),
  },
  hostile: { code: hostile() },
};

/** Yields every event with such a text in every field that takes one, and a line of ten megabytes. */
function hostile(): string {
  const text = JSON.stringify(nasty);
  const line = JSON.stringify(nasty.replace(/\p{Cc}/gu, "").slice(0, 250));
  return adapterCode(`    const text = ${text};
    const id = ${line};
    yield { type: "agent_info", model: id, agent_version: id, agent_session_id: id, tools: [text] };
    yield { type: "output", stream: "stdout", data: text };
    yield { type: "output", stream: "stderr", data: text };
    yield { type: "output", stream: "stdout", data: ${JSON.stringify(nastyProse)} };
    yield { type: "thinking", content: text };
    yield { type: "plan", entries: [{ content: text, status: "in_progress" }] };
    yield { type: "progress", message: text, percentage: 50 };
    yield { type: "tool_call", call_id: id, tool: id, kind: "execute", input: { command: text, [text]: text } };
    yield { type: "tool_result", call_id: id, tool: id, output: { [text]: [text] }, success: false, duration_ms: 1 };
    yield { type: "file_change", path: text, action: "rename", from: text, diff: "--- a/" + id + "\\n+++ b/" + id + "\\n@@ -1 +1 @@\\n-" + id + "\\n+" + id + "\\n" };
    yield { type: "usage", scope: "session", tokens_in: 1, tokens_out: 1, tokens_cached: null, cost: 1, currency: "USD", model: id };
    yield { type: "rate_limit", message: text, wait_ms: 5 };
    yield { type: "unparsed", data: { [text]: text } };
    yield { type: "output", stream: "stdout", data: "<b>x".repeat(2_600_000) };
    yield { type: "permission_request", request_id: "h1", tool: id, title: text.slice(0, 900), kind: "execute", input: { command: text }, options: [{ id: "a", label: text.slice(0, 900), kind: "allow_once" }, { id: "b", label: "Reject", kind: "reject_once" }] };
    await ctx.answer("h1");
    yield { type: "question", request_id: "h2", question: text, options: [text, "plain"] };
    await ctx.answer("h2");
    yield { type: "completed", success: true, output: text, files_changed: [text], tokens_used: null, cost: null };`);
}
