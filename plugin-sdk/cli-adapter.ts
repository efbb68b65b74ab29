import { type AdapterEvents, AgentAdapter, demandMethods, requiredMembers } from "./adapter.ts";
import type { AvailabilityReport } from "./availability.ts";
import { type AuthStatus, probeCli } from "./cli-availability.ts";
import { type CliCommand, feedStdin, leaveStream, startCommand } from "./cli-command.ts";
import { CliEnding, isWork, rateLimitEvent } from "./cli-ending.ts";
import type { TalkInTurns } from "./cli-turns.ts";
import type { AdapterContext, AgentConfig, ProcessExit, RunningProcess } from "./context.ts";
import { BulkheadError } from "./errors.ts";
import { ToolOutput } from "./error-output.ts";
import type { AdapterEvent } from "./events.ts";
import type { ExitMeaning, FailureMeaning } from "./manifest.ts";
import type { LastWord } from "./mapping-rule.ts";
import { mergeStreams } from "./merge-streams.ts";
import { OpenWork } from "./open-work.ts";
import type { SessionRequest } from "./request.ts";
import { readLines } from "./read-lines.ts";
import { Settling } from "./settling.ts";

/** Return type of a parser for one line: an event, several, or null for a line without meaning. */
export type ParsedLine = AdapterEvent | AdapterEvent[] | null;

/** Members that a {@link CliAdapter} must have, in addition to those of every adapter. */
export const requiredCliMembers = ["findBinary", "getVersion", "checkAuth", "buildCommand", "parseOutput"] as const;

/**
 * Drives an agent that is a command-line program: one process for each session, whose output is read line by line. The
 * session ends with the program. Its last `completed` or `error` event comes last; without one, the exit decides.
 */
export abstract class CliAdapter extends AgentAdapter {
  static override readonly requiredMembers: readonly string[] = [...requiredMembers, ...requiredCliMembers];

  /** The session's work that is not over. The adapter tells it of tasks in the background; calls are in the events. */
  protected work: OpenWork = new OpenWork();
  /** Talks to a program that takes more than one prompt, by `talkInTurns()`; absent: one turn a program. */
  protected readonly talk?: TalkInTurns;
  #config: AgentConfig | null = null;
  #onLine: () => void = () => {};
  /** Running programs, each with the stop in progress, if any. */
  readonly #running = new Map<RunningProcess, Promise<void> | null>();

  constructor() {
    super();
    demandMethods(new.target, requiredCliMembers);
  }

  /** Returns the program's name or path, for `ctx.run`; null when there is none for this platform. */
  abstract findBinary(ctx: AdapterContext): Promise<string | null> | string | null;

  /**
   * Returns the program's version, or null if it reports none. Throw `BulkheadError` `unsupported` for a version that
   * this adapter cannot drive; let any error of `ctx.run` pass through.
   */
  abstract getVersion(ctx: AdapterContext): Promise<string | null> | string | null;

  /** Checks whether the program may be used, without spending anything. */
  abstract checkAuth(ctx: AdapterContext): Promise<AuthStatus | boolean> | AuthStatus | boolean;

  /** Builds the command of one session. */
  abstract buildCommand(request: SessionRequest, ctx: AdapterContext): Promise<CliCommand> | CliCommand;

  /** Turns one line, without its end, into events. A line on which it throws becomes `unparsed`. */
  abstract parseOutput(line: string, stream: "stdout" | "stderr"): ParsedLine;

  /** Called before the command is built, for files or folders the program needs. */
  setup(_request: SessionRequest, _ctx: AdapterContext): Promise<void> | void {}

  /** Throws for a configuration that the adapter cannot work with. Called once, by {@link initialize}. */
  validateConfig(_config: AgentConfig): void {}

  /**
   * Reads the running program: lines of standard output through {@link parseOutput}, error output as it arrives.
   * Override it for a program that needs answers while it runs; output that it leaves unread is dropped.
   */
  async *streamProcess(child: RunningProcess, ctx: AdapterContext): AsyncGenerator<AdapterEvent[], void, void> {
    const detector = this.getRateLimitDetector();
    const tools = new ToolOutput();
    // One failure is many lines of error output: report each wait only once until the program goes on.
    let told: (number | null)[] = [];
    const parse = (line: string, isWhole: boolean): AdapterEvent[] => {
      const events = isWhole ? this.#parse(line, ctx) : this.#parse(line, ctx).map((event) => withoutEnd(event, line));
      if (events.some(isWork)) told = [];
      for (const event of events) tools.take(event);
      return events;
    };
    yield* mergeStreams(
      readLines(child.stdout, { isText: this.printsText, read: ({ text, end }) => parse(text, end !== "") }),
      readLines(child.stderr, {
        isText: true,
        read: ({ text, end, line }) => {
          const output: AdapterEvent = { type: "output", stream: "stderr", data: text + end };
          // Some programs copy what their tools print.
          if (end === "" || tools.isRunning || tools.hasPrinted(line)) return [output];
          if (this.meaningOfText(line) !== "rate_limit") return [output];
          const limit = rateLimitEvent(line, detector);
          if (told.includes(limit.wait_ms)) return [output];
          told.push(limit.wait_ms);
          return [output, limit];
        },
      }),
    );
  }

  /**
   * Stops a program whose session is interrupted or past its deadline; called once for each. Override it for a program
   * that can be asked first, and be quick: the host kills what still runs after its `teardown_timeout_ms`.
   */
  stopProcess(child: RunningProcess): Promise<void> {
    return child.kill();
  }

  /**
   * Called once when the program's work is over: its last word has come, and nothing is open. Override it for a program
   * that waits for more input until it is told that none comes.
   */
  leaveProcess(_child: RunningProcess): Promise<void> | void {}

  /** Returns the meaning of the program's exit when there was no last word. */
  meaningOfExit(exit: ProcessExit): ExitMeaning {
    return exit.exit_code === 0 ? "completed" : "fatal";
  }

  /**
   * Returns the meaning of a text that the program says when it fails, on its error output or as an error without a
   * code of the host; null for a text without a meaning.
   */
  meaningOfText(text: string): FailureMeaning | null {
    return this.getRateLimitDetector().detect(text) ? "rate_limit" : null;
  }

  /** Whether a line of the error output says the same in each session and nothing of it: it is dropped. */
  isNoise(_line: string): boolean {
    return false;
  }

  /** Which `completed` or `error` event counts if the program has several. */
  get lastWord(): LastWord {
    return "last";
  }

  /**
   * Returns the final text of a program that does not print it. Called after a successful end; the text becomes an
   * `output` event and the output of `completed`.
   */
  finalOutput(_ctx: AdapterContext): Promise<string | undefined> | string | undefined {
    return undefined;
  }

  /**
   * Returns the answer where it is not all that the program said: the output of a `completed` event that has none.
   * Called after a successful end.
   */
  answer(): string | undefined {
    return undefined;
  }

  /** False for a program that tells its calls of tools and not their results: then no call is taken for open. */
  get tellsToolResults(): boolean {
    return true;
  }

  /** True for a program that always reports its end: then a missing last word is a failure, even with exit code 0. */
  get endsWithEvent(): boolean {
    return false;
  }

  /** True for a program whose output is text: a line that is too long for one event is then shown in several. */
  get printsText(): boolean {
    return false;
  }

  /** Returns the configuration given to {@link initialize}. */
  get config(): AgentConfig {
    if (this.#config) return this.#config;
    throw new BulkheadError("internal", `Adapter "${this.id}" was used before initialize().`);
  }

  override initialize(config: AgentConfig): Promise<void> | void {
    this.validateConfig(config);
    this.#config = config;
  }

  /** True from a turn's last word to the next prompt, in a program that takes several turns: its end is no failure then. */
  get isBetweenTurns(): boolean {
    return false;
  }

  override isAvailable(ctx: AdapterContext): Promise<AvailabilityReport> {
    return probeCli(this, ctx);
  }

  override async interrupt(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((child) => this.#stop(child)));
  }

  override async *runSession(request: SessionRequest, ctx: AdapterContext): AdapterEvents {
    ctx.signal.throwIfAborted();
    await this.setup(request, ctx);
    const command = await this.buildCommand(request, ctx);
    const started = await startCommand(command, ctx);
    const child = this.talk?.childOf(started) ?? started;
    this.#running.set(child, null);
    const kill = (): void => void child.kill().catch(() => {});
    const stop = (): void => void this.#stop(child).catch(() => {});
    ctx.signal.addEventListener("abort", stop);
    this.work = new OpenWork({ calls: this.tellsToolResults });
    const newEnding = () =>
      new CliEnding({
        work: this.work,
        detector: this.getRateLimitDetector(),
        meaningOf: (text) => this.meaningOfText(text),
        lastWord: this.lastWord,
      });
    let exit: ProcessExit | null = null;
    const leave = () => this.leaveProcess(child);
    try {
      if (ctx.signal.aborted) kill();
      if (this.talk) {
        const turns = this.talk.turnsOf({
          ctx,
          child,
          opening: command.stdin,
          work: this.work,
          read: () => this.#read(child, ctx),
          newEnding,
          end: (ending, how) => this.#end(ending, { ...how, ctx }),
          leave,
          kill,
        });
        this.#onLine = () => turns.look();
        exit = yield* turns.run();
      } else {
        if (command.stdin !== undefined) void feedStdin(child, command.stdin, command);
        const endsAlone = command.keep_stdin_open !== true;
        const steps = { ctx, endsAlone, leave, kill: () => exit ?? kill() };
        let ending = newEnding();
        let settling = new Settling(ending, steps);
        for await (const events of this.#read(child, ctx)) {
          const passed = ending.take(events);
          if (ending.isOver && this.isBetweenTurns) {
            yield [...passed, ...await this.#end(ending, { exit: { exit_code: 0, signal: null }, ctx })];
            this.work = new OpenWork({ calls: this.tellsToolResults });
            ending = newEnding();
            settling = new Settling(ending, steps);
            continue;
          }
          settling.heard(events);
          if (passed.length > 0) yield passed;
        }
        exit = await child.exit;
        if (!this.isBetweenTurns) yield await this.#end(ending, { exit, ctx });
      }
    } finally {
      if (!exit) kill();
      ctx.signal.removeEventListener("abort", stop);
      this.#running.delete(child);
    }
  }

  /** Reads all output, without lines that say nothing. */
  async *#read(child: RunningProcess, ctx: AdapterContext): AsyncGenerator<AdapterEvent[], void, void> {
    for await (const all of this.streamProcess(child, ctx)) {
      yield all.some((event) => this.#isNoise(event)) ? all.filter((event) => !this.#isNoise(event)) : all;
    }
    await Promise.all([leaveStream(child.stdout), leaveStream(child.stderr)]);
  }

  #isNoise(event: AdapterEvent): boolean {
    return event.type === "output" && event.stream === "stderr" && this.isNoise(event.data.trimEnd());
  }

  #stop(child: RunningProcess): Promise<void> {
    const stopping = this.#running.get(child) ?? this.stopProcess(child).catch(() => child.kill());
    this.#running.set(child, stopping);
    return stopping;
  }

  async #end(
    ending: CliEnding,
    { exit, ctx, kept }: { exit: ProcessExit; ctx: AdapterContext; kept?: boolean },
  ): Promise<AdapterEvent[]> {
    if (ctx.signal.aborted) return ending.interrupted(ctx.signal.reason);
    const failure = ending.failure(exit, { meaning: this.meaningOfExit(exit), strict: this.endsWithEvent, kept });
    if (failure) return failure;
    const text = await this.finalOutput(ctx);
    const last = ending.completed(text, this.answer());
    return text ? [{ type: "output", stream: "stdout", data: text }, last] : [last];
  }

  #parse(line: string, ctx: AdapterContext): AdapterEvent[] {
    try {
      const parsed = this.parseOutput(line, "stdout");
      const events = parsed === null ? [] : [parsed].flat();
      for (const event of events) if (event.type === "completed") this.work.mark(event);
      this.#onLine();
      return events;
    } catch (error) {
      ctx.log.warn("A line of output could not be parsed.", { error: String(error) });
      return [{ type: "unparsed", data: line }];
    }
  }
}

/** Takes the end of the line from what an unfinished one is shown as. */
function withoutEnd(event: AdapterEvent, line: string): AdapterEvent {
  return event.type === "output" && event.data === `${line}\n` ? { ...event, data: line } : event;
}
