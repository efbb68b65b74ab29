import process from "node:process";
import { expect, test } from "vitest";
import { CliEnding } from "../../plugin-sdk/cli-ending.ts";
import type { AdapterEvent, CompletedEvent } from "../../plugin-sdk/events.ts";
import { OpenWork } from "../../plugin-sdk/open-work.ts";
import { RateLimitDetector } from "../../plugin-sdk/rate-limit.ts";

const runs = Number(process.env["BULKHEAD_MODEL_RUNS"] ?? 1000);
const waits = [false, false] as const;
const exited = { exit_code: 0, signal: null };
const rules = { meaning: "completed", strict: true } as const;

const said = (data: string): AdapterEvent => ({ type: "output", stream: "stdout", data });
const call = (call_id: string): AdapterEvent => ({
  type: "tool_call",
  call_id,
  tool: "Bash",
  kind: "execute",
  input: {},
});
const answered = (call_id: string): AdapterEvent => ({
  type: "tool_result",
  call_id,
  tool: "Bash",
  output: "",
  success: true,
  duration_ms: null,
});
const changed = (path: string): AdapterEvent => ({ type: "file_change", path, action: "modify" });
const failed: AdapterEvent = { type: "error", code: "agent_error", message: "no", recoverable: false };

function done(output: string, cost: number | null = null): CompletedEvent {
  return { type: "completed", success: true, output, files_changed: [], tokens_used: null, cost };
}

function ending(work = new OpenWork()) {
  return new CliEnding({ work, detector: new RateLimitDetector(), meaningOf: () => null });
}

/** The last word of a program that has ended by itself. */
function lastOf(made: CliEnding): AdapterEvent | undefined {
  return made.failure(exited, rules)?.at(-1) ?? made.completed(undefined);
}

test("a result is an interim one while a task runs, and the next one counts", () => {
  const work = new OpenWork();
  const made = ending(work);
  work.setTasks([{ id: "t", what: "look around" }]);
  const passed = made.take([said("I wait."), done("I wait.")]);
  expect(passed.at(-1)).toMatchObject({ type: "progress", message: expect.stringContaining("look around") });
  expect(made.patience(...waits)).toBe(null);
  expect(lastOf(made)).toMatchObject({ type: "error", code: "unavailable", recoverable: true });
  work.setTasks([]);
  // The program begins its next turn by itself, and may think for a while.
  expect(made.patience(...waits)).toBeGreaterThan(10_000);
  expect(made.take([said("42"), done("42")])).toEqual([said("42")]);
  expect(made.patience(...waits)).toBe(0);
  expect(lastOf(made)).toMatchObject({ output: "42" });
});

test("a task that was over by the time the result was taken still makes it an interim one", () => {
  const work = new OpenWork();
  const made = ending(work);
  const word = done("I wait.");
  work.setTasks([{ id: "t", what: "look around" }]);
  work.mark(word);
  work.setTasks([]);
  made.take([word]);
  expect(made.patience(...waits)).toBeGreaterThan(10_000);
});

test.each(["", undefined])("words after an interim result are the answer where the last result is %j", (output) => {
  const work = new OpenWork();
  const made = ending(work);
  work.setTasks([{ id: "t", what: "look around" }]);
  made.take([said("I wait."), done("I wait.", 0.01)]);
  work.setTasks([]);
  const last = done("");
  made.take([said("\n42"), output === undefined ? { ...last, output: undefined } as unknown as CompletedEvent : last]);
  expect(lastOf(made)).toMatchObject({ output: "42", cost: 0.01 });
});

test("a server that runs on ends no session badly, and holds none for ever", () => {
  const work = new OpenWork();
  const made = ending(work);
  work.setTasks([{ id: "s", what: "npm run dev", lasting: true }]);
  made.take([done("It runs.")]);
  expect(made.patience(...waits)).toBe(60_000);
  expect(lastOf(made)).toMatchObject({ type: "completed", output: "It runs." });
});

test.each<[string, AdapterEvent[], object]>([
  ["an open call and no words", [call("1"), done("")], { type: "error", code: "unavailable" }],
  ["an open call after the answer's words", [said("I run it."), call("1"), done("I run it.")], { code: "unavailable" }],
  ["words after a call whose result was lost", [call("1"), said("All pass."), done("All pass.")], {
    output: "All pass.",
  }],
  ["words in the answer alone", [call("1"), done("All pass.")], { output: "All pass." }],
  ["a result that came late", [call("1"), done("ok"), answered("1")], { output: "ok" }],
  ["a file that was changed late", [done("ok"), changed("a")], { output: "ok", files_changed: ["a"] }],
  ["an error of no turn after the result", [said("ok"), done("ok", 0.01), failed], { output: "ok", cost: 0.01 }],
  ["an empty result of no turn", [said("ok"), done("ok", 0.01), done("")], { output: "ok", cost: 0.01 }],
  ["a later result without a cost", [done("a", 0.01), said("b"), done("b")], { output: "b", cost: 0.01 }],
  ["words between two results of one batch", [done("a"), said("b"), done("")], { output: "b" }],
  ["an error after more work", [done("a"), call("1"), failed], { type: "error", code: "agent_error" }],
])("%s", (_what, events, last) => {
  const made = ending();
  made.take(events);
  expect(lastOf(made)).toMatchObject(last);
});

test(`${runs} orders of late updates and results end as the rule says`, () => {
  const random = seeded(44);
  for (let run = 0; run < runs; run++) {
    const work = new OpenWork();
    const made = ending(work);
    const model = new Model();
    for (let step = 0; step < 1 + random(12); step++) {
      const id = String(random(3));
      const event =
        [said(`words ${step} `), call(id), answered(id), changed(id), done(""), done(`new ${step}`), failed][random(9)];
      if (event === undefined) {
        const tasks = random(2) === 0 ? [] : [{ id, what: id, lasting: random(2) === 0 }];
        work.setTasks(tasks);
        model.tasks = tasks;
      } else {
        made.take([event]);
        model.take(event);
      }
      expect(made.patience(...waits) === null, `run ${run}, step ${step}`).toBe(model.goesOn);
    }
    const last = lastOf(made);
    expect(last?.type === "error" ? last.code : "done", `run ${run}`).toBe(model.end);
    if (last?.type === "completed") {
      expect(new Set(last.files_changed), `run ${run}`).toEqual(model.late);
      expect(last.output, `run ${run}`).toBe(model.output);
    }
  }
});

/** The rule, said once more and plainly. */
class Model {
  tasks: { lasting: boolean }[] = [];
  readonly late = new Set<string>();
  output = "";
  readonly #calls = new Set<string>();
  #word: "none" | "done" | "failed" = "none";
  #interim = false;
  #idle = true;
  #quietSinceCall = false;
  #said = "";
  #saidSince = "";

  get #runs(): boolean {
    return this.tasks.some(({ lasting }) => !lasting);
  }

  get goesOn(): boolean {
    return this.#word === "none" || (this.#word === "done" && this.#runs);
  }

  get end(): string {
    if (this.#word === "none") return "crash";
    if (this.#word === "failed") return "agent_error";
    const cut = this.#calls.size > 0 && this.#quietSinceCall && this.#said.includes(this.output);
    return this.#runs || cut ? "unavailable" : "done";
  }

  take(event: AdapterEvent): void {
    if (event.type === "completed" || event.type === "error") return this.#takeWord(event);
    this.#idle = false;
    if (event.type === "output") {
      this.#quietSinceCall = false;
      this.#said += event.data;
      if (this.#word !== "none") this.#saidSince += event.data;
    }
    if (event.type === "tool_call") {
      this.#calls.add(event.call_id);
      this.#quietSinceCall = true;
    }
    if (event.type === "tool_result") this.#calls.delete(event.call_id);
    if (event.type === "file_change" && this.#word !== "none") this.late.add(event.path);
  }

  #takeWord(word: AdapterEvent): void {
    const output = word.type === "completed" ? word.output : undefined;
    const empty = output === undefined || output === "";
    if (this.#word === "done" && this.#idle && !this.#interim && empty) return;
    this.#idle = true;
    const since = this.#saidSince.trim();
    this.#saidSince = "";
    if (word.type === "error") {
      this.#word = "failed";
      this.#interim = false;
      return;
    }
    if (this.#word !== "done" || !empty) this.output = output ?? "";
    else if (since !== "") this.output = since;
    this.#word = "done";
    this.#interim = this.tasks.length > 0 || this.#calls.size > 0;
  }
}

function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
