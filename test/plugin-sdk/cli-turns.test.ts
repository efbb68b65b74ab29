import { expect, test } from "vitest";
import { CliAdapter, type ParsedLine } from "../../plugin-sdk/cli-adapter.ts";
import type { CliCommand } from "../../plugin-sdk/cli-command.ts";
import { talkInTurns } from "../../plugin-sdk/cli-turns.ts";
import type { RunningProcess } from "../../plugin-sdk/context.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { type AdapterRun, runAdapter, type RunAdapterOptions, type ScriptedTurn } from "../../plugin-sdk/testing.ts";

/**
 * A program that takes prompts as lines. Each of its lines is one event, `{idle}` once it has nothing to do, or `{busy}`.
 */
class Talker extends CliAdapter {
  readonly id: string = "talker";
  readonly name: string = "Talker";
  readonly version: string = "1.0.0";
  readonly capabilities = {};
  readonly accessModes = [];
  #isBusy = false;
  protected override readonly talk = talkInTurns({
    prompt: ({ prompt, output_schema }) => {
      this.#isBusy = true;
      return output_schema ? null : `${JSON.stringify({ prompt })}\n`;
    },
    steer: ({ message_id, text }) => {
      if (text === "late") return null;
      this.#isBusy = true;
      return `${JSON.stringify({ steer: text, message_id })}\n`;
    },
    stop: () => '{"stop":true}\n',
    over: () => !this.#isBusy,
  });

  findBinary(): string {
    return "talker";
  }
  getVersion(): string {
    return "1.2.3";
  }
  checkAuth(): boolean {
    return true;
  }
  buildCommand(): CliCommand {
    return { binary: "talker", args: [], stdin: '{"hello":true}\n', keep_stdin_open: true };
  }
  override leaveProcess(child: RunningProcess): Promise<void> {
    return child.stdin.close();
  }
  parseOutput(line: string): ParsedLine {
    const said = JSON.parse(line) as AdapterEvent | { idle: boolean } | { tasks: string[] };
    if ("type" in said) return said;
    if ("idle" in said) this.#isBusy = !said.idle;
    else this.work.setTasks(said.tasks.map((id) => ({ id, what: id })));
    return null;
  }
}

interface Told {
  prompt?: string;
  steer?: string;
  message_id?: string;
  stop?: boolean;
}
type Print = (...lines: unknown[]) => void;

const said = (data: string) => ({ type: "output", stream: "stdout", data }) as const;
const done = (output: string) =>
  ({ type: "completed", success: true, output, files_changed: [], tokens_used: null, cost: null }) as const;
const idle = { idle: true };
const failed = (code: string) => ({ type: "error", code, message: "no", recoverable: false }) as const;

/** Runs the turns with a program that acts on each line it is told; `print` without lines ends it. */
async function talk(
  turns: ScriptedTurn[] | undefined,
  act: (told: Told, print: Print) => void,
  options: RunAdapterOptions = {},
): Promise<AdapterRun & { input: string; closed: boolean; runs: number }> {
  const answer = (line: string, print: (text: string | null) => void) =>
    act(JSON.parse(line), (...lines) => {
      print(lines.length === 0 ? null : lines.map((one) => `${JSON.stringify(one)}\n`).join(""));
    });
  const run = await runAdapter(Talker, { prompt: "one" }, {
    processes: [{ binary: "talker", answer }],
    ...(turns ? { turns } : {}),
    ...options,
  });
  const runs = run.calls.filter((call) => call.call === "run");
  return { ...run, runs: runs.length, input: runs[0]?.stdin ?? "", closed: runs[0]?.stdin_closed ?? false };
}

/** Answers each prompt with it. */
function echo({ prompt }: Told, print: Print): void {
  if (prompt !== undefined) print(said(prompt), done(prompt), idle);
}

const sound = { violations: [], error: null, closed: true, runs: 1 };

test("CliAdapter.talk takes one turn after the other in one program, and closes its input when there is none", async () => {
  const run = await talk([{}, { prompt: "two" }, { prompt: "three" }], echo);
  expect(run).toMatchObject(sound);
  expect(run.events).toEqual(["one", "two", "three"].flatMap((text) => [said(text), done(text)]));
  expect(run.input).toBe('{"hello":true}\n{"prompt":"one"}\n{"prompt":"two"}\n{"prompt":"three"}\n');
});

test("CliAdapter.talk ends a program that is not kept with its last word, and waits for no clock", async () => {
  const run = await talk(undefined, ({ prompt }, print) => prompt && print(said("a"), done("a")));
  expect(run).toMatchObject({ ...sound, events: [said("a"), done("a")] });
  expect(run.calls.filter((call) => call.call === "sleep" && call.ms < 1000)).toEqual([]);
});

test("CliAdapter.talk counts words and results that come late to their turn, and takes nothing away", async () => {
  const cost = { ...done("better"), cost: 1 };
  const run = await talk([{}, { prompt: "two" }], ({ prompt }, print) => {
    if (prompt === "two") return echo({ prompt }, print);
    if (prompt === undefined) return;
    print(said("a"), done("a"), idle);
    setTimeout(() => print(said("late"), cost), 20);
    setTimeout(() => print(done("")), 40);
  });
  expect(run).toMatchObject(sound);
  expect(run.events.filter(({ type }) => type !== "unparsed")).toEqual([
    said("a"),
    said("late"),
    cost,
    said("two"),
    done("two"),
  ]);
});

test("CliAdapter.talk does not end a turn before the program has done all, nor while a task runs", async () => {
  const run = await talk([{}, { prompt: "two" }], ({ prompt }, print) => {
    if (prompt === "two") return echo({ prompt }, print);
    if (prompt === undefined) return;
    print(said("a"), { tasks: ["t"] }, done("a"), idle);
    setTimeout(() => print({ tasks: [] }, said("b"), { idle: false }, done("b")), 200);
    setTimeout(() => print(idle), 400);
  });
  expect(run).toMatchObject(sound);
  expect(run.events.filter(({ type }) => type === "completed")).toEqual([done("b"), done("two")]);
});

test("CliAdapter.talk gives a steer to the program, and back where the program takes none", async () => {
  const run = await talk([{ messages: ["left", "late"] }, { prompt: "two" }], (told, print) => {
    if (told.prompt === "two") return echo(told, print);
    if (told.prompt) print(said("a"));
    if (!told.steer) return;
    print({ type: "message", message_id: told.message_id, state: "taken" }, done(told.steer), idle);
  });
  expect(run).toMatchObject(sound);
  expect(run.events.filter(({ type }) => type !== "output")).toEqual(expect.arrayContaining([
    { type: "message", message_id: "turn-1-message-1", state: "taken" },
    { type: "message", message_id: "turn-1-message-2", state: "returned" },
    done("left"),
    done("two"),
  ]));
  expect(run.input).not.toContain("late");
});

test("CliAdapter.talk gives back a steer that comes when the turn is over", async () => {
  let tell = (_text: string): void => {};
  const come = new Promise<string>((resolve) => (tell = resolve));
  const messages = (async function* () {
    yield await come;
  })();
  const run = await talk([{ messages }], echo, {
    // The event is the turn's last word.
    stopTurnWhen: ({ type }) => {
      if (type === "completed") tell("left");
      return false;
    },
  });
  expect(run).toMatchObject(sound);
  expect(run.events).toEqual([
    said("one"),
    done("one"),
    { type: "message", message_id: "turn-1-message-1", state: "returned" },
  ]);
});

test("CliAdapter.talk lets a steer that the program kept begin a turn, after the last word of the one before", async () => {
  const began: AdapterEvent = { type: "turn_began", message_ids: ["turn-1-message-1"] };
  for (const [first, shown] of [[[done("a")], [done("a"), began]], [[], [{ type: "message", state: "taken" }]]]) {
    const run = await talk([{ messages: ["left"] }, { prompt: "two" }], (told, print) => {
      if (told.prompt === "two") return echo(told, print);
      if (told.steer) print(said("a"), ...(first as []), began, said("b"), done("b"), idle);
    });
    expect(run).toMatchObject(sound);
    expect(run.events).toMatchObject([said("a"), ...(shown as []), said("b"), done("b"), said("two"), done("two")]);
  }
});

test("CliAdapter.talk tells a turn that the program begins between two, which the next prompt waits for", async () => {
  let give = (): void => {};
  const after = new Promise<void>((resolve) => (give = resolve));
  let print: Print = () => {};
  const seen: string[] = [];
  const run = await talk([{}, { prompt: "two", after }], (told, printed) => {
    print = printed;
    if (told.prompt) seen.push(told.prompt);
    echo(told, printed);
  }, {
    stopTurnWhen: (event) => {
      if (event.type === "completed" && event.output === "one") {
        setTimeout(() => {
          // Neither of the first two is work.
          print({ type: "progress", message: "hm" }, done(""), said("own"), { idle: false });
        }, 30);
      }
      if (event.type === "output" && event.data === "own") {
        give();
        setTimeout(() => {
          seen.push("own");
          print(done("own"), idle);
        }, 30);
      }
      return false;
    },
  });
  expect(run.error).toBe(null);
  expect(run.events.filter(({ type }) => !["progress", "unparsed"].includes(type))).toEqual([
    ...[said("one"), done("one")],
    ...[{ type: "turn_began", message_ids: [] }, said("own"), done("own")],
    ...[said("two"), done("two")],
  ]);
  expect(seen).toEqual(["one", "own", "two"]);
});

test("CliAdapter.talk stops a turn and goes on in the same program; a stop goes before a result", async () => {
  const run = await talk([{}, { prompt: "two" }], (told, print) => {
    if (told.prompt === "two") return echo(told, print);
    if (told.prompt) print(said("a"));
    if (told.stop) print(done("half"), failed("interrupted"), idle);
  }, { stopTurnWhen: ({ type }, turn) => type === "output" && turn === 1 });
  expect(run).toMatchObject(sound);
  expect(run.events).toEqual([said("a"), failed("interrupted"), said("two"), done("two")]);
});

test("CliAdapter.talk ends without an event where the program is gone between turns, or cannot take the next", async () => {
  const never = new Promise<void>(() => {});
  let end = (): void => {};
  const gone = await talk([{}, { prompt: "two", after: never }], (told, print) => {
    echo(told, print);
    end = print;
  }, {
    stopTurnWhen: ({ type }) => {
      if (type === "completed") setTimeout(end, 30);
      return false;
    },
  });
  expect(gone).toMatchObject({ violations: [], error: null, events: [said("one"), done("one")] });
  const other = await talk([{}, { prompt: "two", output_schema: {} }, { prompt: "three" }], echo);
  expect(other).toMatchObject({ error: null, closed: true, events: [said("one"), done("one")] });
  expect(other.input).not.toContain("two");
});

test("CliAdapter.talk fails a turn whose program ends in it", async () => {
  const run = await talk([{}, { prompt: "two" }], (told, print) => {
    if (told.prompt !== "two") return echo(told, print);
    print(said("b"), failed("agent_error"));
    print();
  });
  expect(run).toMatchObject({ error: null, violations: [] });
  expect(run.events).toEqual([said("one"), done("one"), said("b"), failed("agent_error")]);
});
