import { describe, expect, test } from "vitest";
import { recordedAnswers } from "../../../core/kit/conformance/recorded-answers.ts";
import type { Heard, HeardRun } from "../../../core/kit/conformance/recorder-source.ts";
import { readText, type ScriptedSession } from "../../../core/kit/conformance/script.ts";
import { withRecording } from "../../../core/kit/conformance/write-script.ts";
import { parse } from "yaml";

const options = { name: "Two words", workdir: "/tmp/kit/workdir", root: "/tmp/kit", left: {} };
const run = (changes: Partial<HeardRun>): HeardRun => ({
  binary: "agent",
  args: [],
  probe: false,
  steps: [],
  stderr: "",
  exit_code: 0,
  ...changes,
});
const heard = (changes: Partial<Heard>): Heard => ({ runs: [], answers: [], sockets: 0, cut: false, ...changes });

describe("recordedAnswers", () => {
  test("a program that reads all of its input first", () => {
    const steps = [{ in: "the prompt" }, { closed: true as const }, { out: '{"in":"/tmp/kit/workdir"}\n' }];
    const work = run({ steps, stderr: "a note\n", exit_code: 3 });
    const version = run({ args: ["--version"], probe: true, steps: [{ out: "1.2.3\n" }] });
    const { programs, files } = recordedAnswers(heard({ runs: [version, work] }), {
      ...options,
      left: { "a.txt": "hi" },
    });
    expect(programs).toEqual([{
      binary: "agent",
      answers: [
        { args: "--version", probe: true, stdout: "1.2.3\n" },
        {
          session: "Two words",
          stdin: "read",
          stdout_file: "recordings/two-words.jsonl",
          stderr: "a note\n",
          exit_code: 3,
          files: { "a.txt": "hi" },
        },
      ],
    }]);
    expect([...files]).toEqual([["recordings/two-words.jsonl", '{"in":"{{workdir}}"}\n']]);
  });

  test("a program that is answered while it runs, also where it prints first", () => {
    const steps = [{ out: "ready\n" }, { in: "a\nb\n" }, { out: "A" }, { out: "B\n" }, { in: "bye\n" }, {
      out: "so long\n",
    }];
    const { programs, files } = recordedAnswers(
      heard({ runs: [run({ steps: [...steps, { closed: true }] })] }),
      options,
    );
    expect(programs[0]?.answers).toEqual([{
      session: "Two words",
      dialog: [{ reads: 0, stdout: "ready\n" }, { reads: 2, stdout: "AB\n" }, { reads: 1 }],
      stdout_file: "recordings/two-words.txt",
    }]);
    expect([...files.values()]).toEqual(["so long\n"]);
  });

  test("several runs of a program are told apart by arguments, but for paths of this session alone", () => {
    const runs = [["one", "a b"], ["two", "--in=/tmp/kit/workdir/x"], ["one", "a b"]].map((args) => run({ args }));
    expect(recordedAnswers(heard({ runs }), options).programs[0]?.answers.map(({ args }) => args)).toEqual([
      'one "a b"',
      "two {*}",
    ]);
  });

  test("a probe in the way of the work is answered by the work", () => {
    const runs = [run({ args: ["--acp"], probe: true }), run({ args: ["--acp"] })];
    expect(recordedAnswers(heard({ runs }), options).programs[0]?.answers).toEqual([{ session: "Two words" }]);
  });

  test("a server", () => {
    const answer = {
      host: "api.example.com:443",
      probe: false,
      method: "POST",
      path: "/v1",
      status: 429,
      headers: { "retry-after": "3" },
      body: "slow down",
    };
    const { servers, files } = recordedAnswers(heard({ answers: [answer, answer] }), options);
    const { host, probe: _probe, body, ...rest } = answer;
    expect(servers).toEqual([{
      host,
      answers: [{ ...rest, session: "Two words", body_file: "recordings/two-words.txt" }],
    }]);
    expect([...files.values()]).toEqual([body]);
  });

  test("a conversation that conformance.yaml could not hold is refused", () => {
    const steps = Array.from({ length: 101 }, () => [{ in: "x\n" }, { out: "y\n" }]).flat();
    expect(() => recordedAnswers(heard({ runs: [run({ steps })] }), options)).toThrow("more than 100 turns");
  });
});

describe("withRecording", () => {
  const session: ScriptedSession = { name: "new", prompt: "Do it.", expect: { outcome: "completed" } };
  const recorded = {
    programs: [{
      binary: "agent",
      answers: [{ args: "--version", probe: true, stdout: "2\n" }, { session: "new", stdout: "done" }],
    }],
    servers: [],
    asked: ["agent"],
  };
  const of = (text: string): unknown => parse(withRecording(readText(text), session, recorded));

  test("makes a script of its own", () => {
    expect(of("conformance: 1\n")).toEqual({
      conformance: 1,
      sessions: [session],
      programs: [{
        binary: "agent",
        answers: [{ args: "--version", probe: true, stdout: "2\n" }, { stdout: "done" }],
      }],
    });
  });

  test("drops the program of a template that the plugin does not start", () => {
    const programs = `programs:
  - { binary: fake, answers: [{ stdout: "" }] }
  - { binary: agent, answers: [{ stdout: "" }] }
`;
    const read = (sessions: string) => of(`conformance: 1\nsessions: [${sessions}]\n${programs}`) as typeof recorded;
    expect(read("{ name: new, prompt: x. }").programs.map(({ binary }) => binary)).toEqual(["agent"]);
    expect(read("{ name: old, prompt: x. }").programs.map(({ binary }) => binary)).toEqual(["fake", "agent"]);
  });

  test("takes the place of a session of its name, and keeps the others, their answers and comments", () => {
    const text = `# How it is tried.
conformance: 1
sessions:
  - { name: old, prompt: Before. } # kept
  - { name: new, prompt: Otherwise., expect: { output: x } }
programs:
  - binary: agent
    answers:
      - { args: --version, probe: true, stdout: "1" }
      - { args: models, probe: true, stdout: m }
      - { session: new, stdout: lost }
      - { stdout: general }
  - { binary: other, answers: [{ stdout: o }] }
`;
    expect(withRecording(readText(text), session, recorded)).toMatch(/^# How it is tried\.[^]*# kept/);
    expect(of(text)).toEqual({
      conformance: 1,
      sessions: [{ name: "old", prompt: "Before." }, session],
      programs: [
        {
          binary: "agent",
          answers: [
            { args: "models", probe: true, stdout: "m" },
            { args: "--version", probe: true, stdout: "2\n" },
            { session: "new", stdout: "done" },
            { stdout: "general" },
          ],
        },
        { binary: "other", answers: [{ stdout: "o" }] },
      ],
    });
  });
});
