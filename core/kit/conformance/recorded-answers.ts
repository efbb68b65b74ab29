import { type ArgumentPiece, formatArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { omitEmpty } from "../../../plugin-sdk/optional-fields.ts";
import type { Heard, HeardAnswer, HeardRun, HeardStep } from "./recorder-source.ts";
import type { DialogStep, ProgramAnswer, ScriptedProgram, ScriptedServer, ServerAnswer } from "./script.ts";

/** A recorded session in the words of `conformance.yaml`. */
export interface RecordedAnswers {
  programs: ScriptedProgram[];
  servers: ScriptedServer[];
  /** Recordings to write, by their path in the package. */
  files: Map<string, string>;
}

interface RecordedAnswersOptions {
  name: string;
  workdir: string;
  /** Folder of all that is there for this session alone: its paths are others the next time. */
  root: string;
  /** Files that the agent left in the working directory. */
  left: Readonly<Record<string, string>>;
}

/** Longest text that stands in `conformance.yaml` itself, and longest end of an error output. */
const inlineMost = 2000;
const mostStderr = 4096;
const mostSteps = 100;

/**
 * Writes what was heard in a session as answers that give it again.
 * @throws {BulkheadError} `unsupported` for a conversation that is longer than `conformance.yaml` takes
 */
export function recordedAnswers(heard: Heard, options: RecordedAnswersOptions): RecordedAnswers {
  const files = new Map<string, string>();
  const shelf = new Shelf(files, options);
  const works = heard.runs.filter(({ probe }) => !probe);
  const programs = new Map<string, ProgramAnswer[]>();
  for (const run of heard.runs) {
    const answers = programs.get(run.binary) ?? [];
    programs.set(run.binary, answers);
    const alike = works.filter(({ binary }) => binary === run.binary);
    const isLast = run === works.at(-1);
    // A program that is asked in the way in which it works is answered by its work.
    if (run.probe && alike.some(({ args }) => sameArgs(args, run.args))) continue;
    const named = run.probe || alike.length > 1 ? { args: argsOf(run, options) } : {};
    if (answers.some(({ args, probe = false }) => args === named.args && probe === run.probe)) continue;
    answers.push(programAnswer(run, named, { shelf, ...options, left: isLast ? options.left : {} }));
  }
  return {
    programs: [...programs].map(([binary, answers]) => ({ binary, answers })),
    servers: serversOf(heard.answers, options, shelf),
    files,
  };
}

/** Puts texts where they stand best: a short one into `conformance.yaml`, a long one into a file beside it. */
class Shelf {
  readonly #files: Map<string, string>;
  readonly #options: Pick<RecordedAnswersOptions, "name" | "workdir">;

  constructor(files: Map<string, string>, options: Pick<RecordedAnswersOptions, "name" | "workdir">) {
    this.#files = files;
    this.#options = options;
  }

  /** Puts what a program printed as a field of its answer; none for nothing. */
  stdout(text: string, options: { inline: boolean }): Pick<ProgramAnswer, "stdout" | "stdout_file"> {
    const put = this.#put(text, options);
    if (put === null) return {};
    return "file" in put ? { stdout_file: put.file } : { stdout: put.text };
  }

  /** Does the same for a server. */
  body(text: string, options: { inline: boolean }): Pick<ServerAnswer, "body" | "body_file"> {
    const put = this.#put(text, options);
    if (put === null) return {};
    return "file" in put ? { body_file: put.file } : { body: put.text };
  }

  #put(text: string, { inline }: { inline: boolean }): { text: string } | { file: string } | null {
    const plain = this.plain(text);
    if (plain === "") return null;
    return inline && plain.length <= inlineMost ? { text: plain } : { file: this.#file(plain) };
  }

  /** A text without the path of the working directory. */
  plain(text: string): string {
    return text.replaceAll(this.#options.workdir, "{{workdir}}");
  }

  #file(text: string): string {
    const base = this.#options.name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "session";
    const number = this.#files.size === 0 ? "" : `-${this.#files.size + 1}`;
    const path = `recordings/${base}${number}.${isJsonLines(text) ? "jsonl" : "txt"}`;
    this.#files.set(path, text);
    return path;
  }
}

function programAnswer(
  run: HeardRun,
  named: Pick<ProgramAnswer, "args">,
  { name, shelf, left }: RecordedAnswersOptions & { shelf: Shelf },
): ProgramAnswer {
  const { probe, steps, stderr, exit_code } = run;
  const said = shelf.plain(stderr).slice(-mostStderr);
  return {
    ...named,
    ...(probe ? { probe } : { session: name }),
    ...spoken(steps, { shelf, inline: probe }),
    ...omitEmpty({ stderr: said, exit_code: exit_code || undefined, files: { ...left } }),
  };
}

/** Tells what a program read and printed, in the order in which the adapter saw it. */
function spoken(
  steps: readonly HeardStep[],
  { shelf, inline }: { shelf: Shelf; inline: boolean },
): Pick<ProgramAnswer, "stdin" | "dialog" | "stdout" | "stdout_file"> {
  const printed = steps.flatMap((step) => ("out" in step ? [step.out] : [])).join("");
  const firstOut = steps.findIndex((step) => "out" in step);
  const lastIn = steps.findLastIndex((step) => "in" in step);
  if (lastIn < 0) return shelf.stdout(printed, { inline });
  const isClosed = steps.some((step) => "closed" in step);
  if (isClosed && (firstOut < 0 || lastIn < firstOut)) {
    return { stdin: "read", ...shelf.stdout(printed, { inline }) };
  }
  const turns = turnsOf(steps);
  const last = turns.pop() ?? { reads: 0, text: "" };
  const dialog = turns.map(({ reads, text }): DialogStep => ({ reads, ...shelf.stdout(text, { inline: true }) }));
  return { dialog: [...dialog, { reads: last.reads }], ...shelf.stdout(last.text, { inline }) };
}

/** Printed texts, each with the count of input lines since the previous one. */
function turnsOf(steps: readonly HeardStep[]): { reads: number; text: string }[] {
  const turns: { reads: number; text: string }[] = [];
  let reads = 0;
  for (const step of steps) {
    if ("in" in step) reads += step.in.split("\n").length - 1;
    if (!("out" in step)) continue;
    const before = turns.at(-1);
    if (reads === 0 && before !== undefined) before.text += step.out;
    else turns.push({ reads, text: step.out });
    reads = 0;
  }
  if (turns.length <= mostSteps && turns.every((turn) => turn.reads <= mostSteps)) return turns;
  throw new BulkheadError("unsupported", `Cannot record a conversation of more than ${mostSteps} turns.`, {
    hint: "Record a shorter session.",
  });
}

function serversOf(
  heard: readonly HeardAnswer[],
  { name }: RecordedAnswersOptions,
  shelf: Shelf,
): ScriptedServer[] {
  const servers = new Map<string, ServerAnswer[]>();
  for (const { host, probe, method, path, status, headers, body } of heard) {
    const answers = servers.get(host) ?? [];
    servers.set(host, answers);
    const isKnown = (one: ServerAnswer) => one.method === method && one.path === path && (one.probe ?? false) === probe;
    // Servers answer a path in one way.
    if (answers.some(isKnown)) continue;
    answers.push({
      method,
      path,
      ...(probe ? { probe } : { session: name }),
      status,
      ...omitEmpty({ headers }),
      ...shelf.body(body, { inline: probe }),
    });
  }
  return [...servers].map(([host, answers]) => ({ host, answers }));
}

/** The arguments as a pattern: paths that are others the next time fit anything. */
function argsOf({ args }: HeardRun, { root }: RecordedAnswersOptions): string {
  return formatArgumentPattern(args.map((argument): ArgumentPiece[] => {
    if (argument.includes(root)) return [{ slot: "any" }];
    return argument === "" ? [] : [{ literal: argument }];
  }));
}

function sameArgs(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((argument, index) => argument === b[index]);
}

function isJsonLines(text: string): boolean {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.length > 0 && lines.every((line) => {
    try {
      JSON.parse(line);
      return true;
    } catch {
      return false;
    }
  });
}
