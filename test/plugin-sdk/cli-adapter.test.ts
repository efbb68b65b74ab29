import { describe, expect, test } from "vitest";
import { AgentAdapter } from "../../plugin-sdk/adapter.ts";
import { CliAdapter, type ParsedLine, requiredCliMembers } from "../../plugin-sdk/cli-adapter.ts";
import type { CliCommand } from "../../plugin-sdk/cli-command.ts";
import type { AdapterContext, RunningProcess } from "../../plugin-sdk/context.ts";
import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import { probeAdapter, runAdapter } from "../../plugin-sdk/testing.ts";

/** A program that prints JSON events, one a line. */
class Fake extends CliAdapter {
  readonly id: string = "fake";
  readonly name: string = "Fake";
  readonly version: string = "1.0.0";
  readonly capabilities = {};
  readonly accessModes = [];

  findBinary(): string | null {
    return "fake";
  }
  getVersion(): Promise<string | null> | string | null {
    return "1.2.3";
  }
  checkAuth(): boolean | { authenticated: boolean; reason?: string; next_step?: string } {
    return true;
  }
  buildCommand(request: SessionRequest): CliCommand {
    return { binary: "fake", args: ["run", request.prompt] };
  }
  parseOutput(line: string): ParsedLine {
    return JSON.parse(line) as ParsedLine;
  }
}

const completed = { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null } as const;
const said = (data: string) => ({ type: "output", stream: "stdout", data }) as const;
const lines = (...events: unknown[]) => events.map((event) => `${JSON.stringify(event)}\n`).join("");
const failed = (message: string, more: object = {}) => ({
  type: "error",
  code: "fatal",
  message,
  recoverable: false,
  ...more,
});

async function run(script: object, Adapter: new () => Fake = Fake) {
  return await runAdapter(Adapter, { prompt: "go" }, { processes: [script] });
}

describe("CliAdapter.runSession", () => {
  test("starts the command without a shell and turns its lines into events", async () => {
    const result = await run({ binary: "fake", args: "run go", stdout: lines(said("hi"), completed) });
    expect(result.events).toEqual([said("hi"), completed]);
    expect(result.calls[0]).toMatchObject({
      call: "run",
      binary: "fake",
      args: ["run", "go"],
      options: { stdin: "closed" },
    });
    expect([result.violations, result.error]).toEqual([[], null]);
  });

  test("gives events in the order of the lines, however the output is cut", async () => {
    const text = lines(...Array.from({ length: 50 }, (_item, index) => said(String(index))), completed);
    const { events } = await run({ stdout: text.match(/.{1,7}/gs) ?? [] });
    expect(events.map((event) => event.type === "output" && event.data).slice(0, 50)).toEqual(
      Array.from({ length: 50 }, (_item, index) => String(index)),
    );
  });

  test("reads a line of a megabyte in small pieces", async () => {
    const data = "x".repeat(1_000_000);
    const { events } = await run({ stdout: lines(said(data), completed).match(/.{1,9000}/gs) ?? [] });
    expect(events[0]).toEqual(said(data));
  });

  test("passes error output on as it comes", async () => {
    const { events } = await run({ stdout: lines(completed), stderr: "warning: a\nb" });
    expect(events).toEqual([
      { type: "output", stream: "stderr", data: "warning: a\n" },
      { type: "output", stream: "stderr", data: "b\n" },
      completed,
    ]);
  });

  test("keeps a line it cannot parse as unparsed and goes on", async () => {
    const result = await run({ stdout: `not json\n${lines(completed)}` });
    expect(result.events).toEqual([{ type: "unparsed", data: "not json" }, completed]);
    expect(result.log).toMatchObject([{ level: "warn" }]);
  });

  test("completes by exit code 0 where the program gives no last word, naming the files it changed", async () => {
    const change = { type: "file_change", path: "a.ts", action: "modify" };
    const { events } = await run({ stdout: lines(change, change) });
    expect(events.at(-1)).toEqual({ ...completed, files_changed: ["a.ts"] });
  });

  test("fails by another exit code, with the end of the error output", async () => {
    const { last } = await run({ stdout: lines(said("hi")), stderr: "boom\nno such file\n", exit_code: 3 });
    expect(last).toEqual(failed("The program exited with code 3: boom\nno such file"));
  });

  test("calls a program that a signal ended a crash, which a retry may mend", async () => {
    const { last } = await run({ signal: "SIGSEGV" });
    expect(last).toEqual(failed("The program was ended by SIGSEGV.", { code: "crash", recoverable: true }));
  });

  test("believes the program's last word rather than its exit code", async () => {
    expect((await run({ stdout: lines(completed), exit_code: 1 })).last).toEqual(completed);
    expect((await run({ stdout: lines(failed("no")), exit_code: 0 })).last).toEqual(failed("no"));
  });

  test("takes a missing last word as a failure where the program always gives one", async () => {
    class Strict extends Fake {
      override get endsWithEvent(): boolean {
        return true;
      }
    }
    const { last } = await run({ stdout: lines(said("hi")) }, Strict);
    expect(last).toMatchObject({ type: "error", code: "crash" });
    expect((await run({ stdout: lines(completed) }, Strict)).last).toEqual(completed);
  });

  test("ends with the last word, also when more follows it, and keeps one that is replaced", async () => {
    const result = await run({ stdout: lines(failed("reconnecting"), said("late"), completed, said("later")) });
    expect(result.events).toEqual([
      said("late"),
      { type: "unparsed", data: failed("reconnecting") },
      said("later"),
      completed,
    ]);
    expect(result.violations).toEqual([]);
  });

  test("ends a program that lives on after its last word", async () => {
    const result = await run({ stdout: lines(completed), hangs: true });
    expect(result.last).toEqual(completed);
    expect(result.calls).toContainEqual(expect.objectContaining({ call: "run", killed: true }));
  });

  test("writes the prompt to standard input whole, and closes it", async () => {
    class Reader extends Fake {
      override buildCommand(request: SessionRequest): CliCommand {
        return { binary: "fake", args: [], stdin: request.prompt, env: { A: "b" }, cwd: "sub" };
      }
    }
    const prompt = "😀".repeat(300_000);
    const { calls } = await runAdapter(Reader, { prompt }, { processes: [{ stdout: Array<string>(20).fill("\n") }] });
    expect(calls[0]).toMatchObject({ options: { stdin: "open", env: { A: "b" }, cwd: "sub" }, stdin_closed: true });
    expect(calls[0]?.call === "run" && calls[0].stdin === prompt).toBe(true);
  });

  test("is not harmed by a program that does not read its input", async () => {
    class Reader extends Fake {
      override buildCommand(): CliCommand {
        return { binary: "fake", args: [], stdin: "x".repeat(10_000_000) };
      }
    }
    const { last } = await run({ stdout: lines(completed) }, Reader);
    expect(last).toEqual(completed);
  });

  test("leaves standard input open for a program that is answered while it runs", async () => {
    class Answering extends Fake {
      override buildCommand(): CliCommand {
        return { binary: "fake", args: [], stdin: "first\n", keep_stdin_open: true };
      }
      override async *streamProcess(child: RunningProcess, ctx: AdapterContext) {
        for await (const events of super.streamProcess(child, ctx)) {
          yield events;
          await child.stdin.write("second\n");
        }
      }
    }
    const { calls, error } = await run({ stdout: lines(said("hi")) }, Answering);
    expect(error).toBe(null);
    expect(calls[0]).toMatchObject({ stdin: "first\nsecond\n", stdin_closed: false });
  });

  test("asks a program to stop in the adapter's own way, and takes in what it says then", async () => {
    class Polite extends Fake {
      override buildCommand(): CliCommand {
        return { binary: "fake", args: [], stdin: "", keep_stdin_open: true };
      }
      override async stopProcess(child: RunningProcess) {
        await child.stdin.write("stop\n");
        await super.stopProcess(child);
      }
    }
    const result = await runAdapter(Polite, { prompt: "go" }, {
      processes: [{ stdout: lines(said("working")), hangs: true }],
      interruptWhen: (event) => event.type === "output",
    });
    expect(result.last).toMatchObject({ type: "error", code: "interrupted" });
    expect(result.calls[0]).toMatchObject({ stdin: expect.stringContaining("stop"), killed: true });
  });

  test("kills the program when the session is interrupted", async () => {
    const result = await runAdapter(Fake, {}, {
      processes: [{ stdout: lines(said("hi")), hangs: true }],
      interruptWhen: (event) => event.type === "output",
    });
    expect(result.last).toMatchObject({ type: "error", code: "interrupted", recoverable: false });
    expect(result.calls[0]).toMatchObject({ killed: true });
  });

  test("says why when the signal has a reason of ours", async () => {
    const { last } = await runAdapter(Fake, {}, { processes: [{ hangs: true }], timeoutMs: 20 });
    expect(last).toMatchObject({ type: "error", code: "timeout" });
  });

  test("calls setup before it builds the command, and lets errors of both through", async () => {
    class Setup extends Fake {
      override async setup(_request: SessionRequest, ctx: Parameters<CliAdapter["setup"]>[1]): Promise<void> {
        await ctx.temp.write("a", "b");
      }
      override buildCommand(): CliCommand {
        throw new BulkheadError("env_missing", "No KEY.");
      }
    }
    const result = await runAdapter(Setup);
    expect(result.calls).toMatchObject([{ call: "temp.write" }]);
    expect(result.error).toEqual({ code: "env_missing", message: "No KEY." });
  });

  test("can be told to read the program in another way", async () => {
    class Own extends Fake {
      override async *streamProcess(...[child]: Parameters<CliAdapter["streamProcess"]>) {
        for await (const piece of child.stdout) yield [said(piece)];
      }
    }
    expect((await run({ stdout: ["a", "b"] }, Own)).events).toEqual([said("a"), said("b"), completed]);
  });
});

describe("CliAdapter and rate limits", () => {
  test("is told once for each wait that lines of error output name, until the program goes on", async () => {
    const stderr = "429\n  at send (429)\n429: wait 30 seconds\n429: wait 30 seconds\n";
    const { events } = await run({ stderr, exit_code: 1 });
    const waits = events.flatMap((event) => (event.type === "rate_limit" ? [event.wait_ms] : []));
    expect(waits.slice(0, 2)).toEqual([null, 30_000]);
    expect(waits.length).toBeLessThanOrEqual(3);
  });

  test("is told once where lines about something else come between those that name it", async () => {
    const stdout = Array.from({ length: 20 }, () => lines({ type: "agent_info", agent_session_id: "one" }));
    const { events } = await run({ stdout, stderr: Array.from({ length: 20 }, () => "429\n"), exit_code: 1 });
    // The second is that of the end.
    expect(events.filter(({ type }) => type === "rate_limit").length).toBeLessThanOrEqual(2);
  });

  test("sees one in error output, reports it and fails by it", async () => {
    const { events } = await run({ stderr: "429: wait 30 seconds\n", exit_code: 1 });
    expect(events.slice(1)).toEqual([
      { type: "rate_limit", message: "429: wait 30 seconds", wait_ms: 30_000 },
      failed("The program exited with code 1: 429: wait 30 seconds", { code: "rate_limit", recoverable: true }),
    ]);
  });

  test("sees one in a failure's text", async () => {
    const { events } = await run({ stdout: lines(failed("Too many requests")), exit_code: 1 });
    expect(events).toEqual([
      { type: "rate_limit", message: "Too many requests", wait_ms: null },
      failed("Too many requests", { code: "rate_limit", recoverable: true }),
    ]);
  });

  test("sees one in a result that says it is none", async () => {
    const word = { ...completed, success: false, output: "rate limit, retry after 5 seconds" };
    expect((await run({ stdout: lines(word) })).events).toMatchObject([
      { type: "rate_limit", wait_ms: 5000 },
      { type: "error", code: "rate_limit" },
    ]);
    const plain = { ...completed, success: false, output: "no" };
    expect((await run({ stdout: lines(plain) })).events).toEqual([plain]);
  });

  test("does not see one in what the agent says, and goes on after one it survived", async () => {
    const { events } = await run({
      stdout: lines(said("rate limit 429"), completed),
      stderr: "rate limit, retrying in 1s\n",
    });
    expect(events.filter((event) => event.type === "rate_limit")).toHaveLength(1);
    expect(events.at(-1)).toEqual(completed);
  });

  test("leaves an error alone that says by a code of ours what it is", async () => {
    const denied = failed("no 429 here", { code: "permission_denied" });
    expect((await run({ stdout: lines(denied) })).events).toEqual([denied]);
  });

  describe("takes what a tool prints for no limit of its own", () => {
    const call = { type: "tool_call", call_id: "1", tool: "sh", kind: "execute", input: null };
    const result = (output: unknown) =>
      ({ type: "tool_result", call_id: "1", tool: "sh", output, success: true, duration_ms: null }) as const;
    const copied = "HTTP 429 Too Many Requests, retry after 3600 seconds";

    test("while the tool runs", async () => {
      const { events } = await run({ stdout: lines(said("hi"), call), stderr: `${copied}\n`, exit_code: 1 });
      expect(events.map(({ type }) => type)).not.toContain("rate_limit");
      expect(events.at(-1)).toMatchObject({ code: "fatal" });
    });

    test("nor where its result holds the same", async () => {
      const { last } = await run({
        stdout: lines(call, result({ content: [{ text: `a\n${copied}\nb` }] })),
        stderr: `${copied}\nIncorrect API key provided\n`,
        exit_code: 1,
      });
      expect(last).toEqual(failed("The program exited with code 1: Incorrect API key provided"));
    });

    test("nor where other statements follow it, to the end of the error output", async () => {
      const stderr = `${copied}\nand more\nTraceback:\n  at send (a)\n  at main (b)\nUnauthorized\n`;
      expect((await run({ stderr, exit_code: 1 })).last).toEqual(
        failed("The program exited with code 1: and more\nTraceback:\n  at send (a)\n  at main (b)\nUnauthorized"),
      );
    });

    test("but sees the program's own at the end, with its own wait", async () => {
      const { events } = await run({
        stdout: lines(call, result(copied)),
        stderr: `${copied}\nError: 429\n  at send (a)\nwait 20 seconds\n`,
        exit_code: 1,
      });
      expect(events.at(-1)).toMatchObject({ code: "rate_limit" });
      expect(events.filter((event) => event.type === "rate_limit").at(-1)).toMatchObject({ wait_ms: 20_000 });
    });
  });

  test("reports one that only the exit tells", async () => {
    class Coded extends Fake {
      override meaningOfExit(): "rate_limit" {
        return "rate_limit";
      }
    }
    expect((await run({ exit_code: 9 }, Coded)).events).toMatchObject([
      { type: "rate_limit", wait_ms: null },
      { type: "error", code: "rate_limit", recoverable: true },
    ]);
  });
});

describe("CliAdapter.isAvailable", () => {
  const probe = async (overrides: Partial<Fake>) => {
    class Probed extends Fake {}
    Object.assign(Probed.prototype, overrides);
    const { report, violations } = await probeAdapter(Probed);
    expect(violations).toEqual([]);
    return report;
  };
  const fails = (error: unknown) => () => {
    throw error;
  };

  test("is available when all probes succeed, with the version", async () => {
    expect(await probe({})).toEqual({ availability: "available", reason: expect.any(String), version: "1.2.3" });
  });

  test.each<[string, Partial<Fake>, string]>([
    ["no program for the platform", { findBinary: () => null }, "missing"],
    ["a program that is not there", { getVersion: fails(new BulkheadError("binary_missing", "x")) }, "missing"],
    ["a program that may not be run", { getVersion: fails(new BulkheadError("permission_denied", "x")) }, "unrunnable"],
    ["a version that cannot be driven", { getVersion: fails(new BulkheadError("unsupported", "x")) }, "incompatible"],
    ["a probe that breaks", { getVersion: fails("odd") }, "unrunnable"],
    ["nobody logged in", { checkAuth: () => false }, "unauthenticated"],
    ["a key that is not set", { checkAuth: fails(new BulkheadError("env_missing", "x")) }, "unauthenticated"],
    ["a limit that a probe tells", { checkAuth: () => ({ authenticated: false, reason: "HTTP 429" }) }, "rate_limited"],
    ["a limit that is thrown", { checkAuth: fails(new BulkheadError("rate_limit", "x")) }, "rate_limited"],
  ])("tells %s", async (_what, overrides, availability) => {
    expect(await probe(overrides)).toMatchObject({ availability });
  });

  test("knows an error of ours also when another copy of the module made it", async () => {
    const foreign = Object.assign(new Error("Not found."), { code: "binary_missing", hint: "Install it." });
    expect(await probe({ getVersion: fails(foreign) })).toEqual({
      availability: "missing",
      reason: "Not found.",
      next_step: "Install it.",
    });
  });
});

describe("CliAdapter", () => {
  test("names the members that a complete one has", () => {
    expect(CliAdapter.requiredMembers).toEqual([...AgentAdapter.requiredMembers, ...requiredCliMembers]);
  });

  test("checks its configuration when it is initialised, and has none before", async () => {
    class Picky extends Fake {
      override validateConfig(): void {
        throw new Error("no context file");
      }
    }
    expect((await runAdapter(Picky)).error).toEqual({ code: "fatal", message: "no context file" });
    expect(() => new Fake().config).toThrow("before initialize()");
  });
});
