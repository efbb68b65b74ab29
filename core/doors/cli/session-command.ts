import { type Command, Option } from "commander";
import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { measureCopied } from "../../records/git/copied-data.ts";
import { createAskGrant } from "./ask-grant.ts";
import { chooseAdapter, findAdapters, type FoundAdapters, unsearched } from "./find-adapters.ts";
import { findSession } from "./find-session.ts";
import type { Invocation } from "./command.ts";
import { watchInterrupts } from "./interrupts.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { RunSessionOptions, SessionHost } from "../../sessions/host/session-host.ts";
import { type ListedPlugin, type OpenedSessions, openSessions } from "./open-sessions.ts";
import type { PassedOver } from "../../sessions/routing/choose-route.ts";
import { readPrompt } from "./prompt.ts";
import { StatusScreen } from "./screen/status-screen.ts";
import { Questions } from "./questions.ts";
import { safeLine } from "./render/agent-text.ts";
import { editedLine } from "./render/install-lines.ts";
import { copiedText, formatBytes } from "./render/quantities.ts";
import { uploadedByFlags } from "./chat/attached-files.ts";
import { requestFlags } from "./request-flags.ts";
import { readRequired, requireFlag } from "./required-capabilities.ts";
import { buildRequest, inTrace } from "./session-request.ts";
import { tellMissingVariables } from "./tell-missing-variables.ts";
import { type ShowSessionOptions, showTimes } from "./show-session.ts";

/** A command that runs sessions, with the values of its flags. */
export interface SessionCommand extends AsyncDisposable {
  sessions: SessionHost;
  /** The host in this process; null where the daemon has it. */
  host: Host | null;
  /** Grants something in the daemon; null where the host in this process asks for grants itself. */
  grant: OpenedSessions["grant"];
  adapter: string | string[];
  /** Adapters that cannot take the request, and why. */
  passed_over: readonly PassedOver[];
  request: SessionRequest;
  /** How to start each session; the signal aborts at the first Ctrl-C. */
  how: RunSessionOptions & { signal: AbortSignal };
  show: ShowSessionOptions;
}

/** A request, as a command asks for it, and the adapters that may take it. */
interface AskedSession extends FoundAdapters {
  request: SessionRequest;
}

/** Adds the arguments and flags of a command that runs sessions. */
export function addSessionFlags(command: Command): Command {
  command
    .usage("[adapter] <prompt> [flags]")
    .argument("[adapter]", 'id of an enabled adapter, several with commas, or "auto"; default: routing.agent')
    .argument("[prompt]", "the prompt; default: standard input, where it is a pipe");
  return addRunFlags(command, { except: ["prompt"] })
    .addOption(new Option(requireFlag.flags, requireFlag.description).argParser(readRequired).helpGroup("Agent:"))
    .optionsGroup("Prompt:")
    .option("-f, --prompt-file <file>", "read the prompt from a file")
    .optionsGroup("Output:");
}

/** Adds a flag for each field of a request but those of `except`, and the flags that say how to show a session. */
export function addRunFlags(
  command: Command,
  { except = [] }: { except?: readonly (keyof SessionRequest)[] } = {},
): Command {
  for (const { field, heading, option } of requestFlags) {
    if (!except.some((one) => one === field.split(".")[0])) command.addOption(option().helpGroup(heading));
  }
  return command
    .optionsGroup("Output:")
    .option("-q, --quiet", "print only the final output")
    .option("-v, --verbose", "also show times, what was allowed, and the end of every process")
    .option("--times", "show when each event came");
}

/** Finds the daemon or opens a host, and asks for the request. Without a person to ask, no session waits for one. */
export async function prepareSessions(
  given: Invocation,
  ask: (opened: OpenedSessions) => Promise<AskedSession> = (opened) => askedByFlags(given, opened),
): Promise<SessionCommand> {
  const { options, json } = given;
  const screen = json ? undefined : StatusScreen.of(given.terminal);
  const terminal = screen?.terminal ?? given.terminal;
  const call = { ...given, terminal };
  const attended = Questions.possible(terminal) && !json;
  const questions = attended ? new Questions(terminal) : undefined;
  const interrupts = watchInterrupts(terminal);
  const { signal } = interrupts;
  // What waits behind a question is shown at once.
  signal.addEventListener("abort", () => void questions?.close(), { once: true });
  const askGrant = questions &&
    ((manifestFile: string | undefined) => createAskGrant(questions, { manifestFile }));
  const opened = await openSessions(call, { warm: true, askGrant }).catch((error: unknown) => {
    interrupts[Symbol.dispose]();
    throw error;
  });
  const dispose = async () => {
    await opened[Symbol.asyncDispose]();
    await questions?.close();
    interrupts[Symbol.dispose]();
  };
  try {
    const { sessions, host, grant } = opened;
    const asked = await ask(opened);
    const { first, adapter, passed_over, isChecked } = asked;
    const content = await uploadedByFlags(call, sessions);
    const wanted = { ...asked.request, ...(content.length === 0 ? {} : { content }) };
    const request = attended ? wanted : { answer_timeout_ms: 0, ...wanted };
    const isCopied = request.workspace === "worktree" || options["all"] === true;
    if (isCopied && modeOf(call) !== "quiet") await tellCopied(call, { workdir: request.workdir, signal });
    const show: ShowSessionOptions = {
      terminal,
      adapter: first,
      status: screen && { screen, interrupts },
      questions,
      mode: modeOf(call),
      verbose: options["verbose"] === true,
      times: showTimes(options),
    };
    const require = options["require"] as AgentCapabilities | undefined;
    const how = { adapter, signal, require: isChecked ? undefined : require };
    return { sessions, host, grant, adapter, passed_over, request, how, show, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function askedByFlags(call: Invocation, opened: OpenedSessions): Promise<AskedSession> {
  const { terminal, options } = call;
  const { host, manifest } = opened;
  const plugins = await opened.plugins();
  const all = options["all"] === true;
  const { adapter: given, prompt } = await readPrompt({
    args: call.args,
    promptFile: textFlag(call, "promptFile"),
    adapters: plugins.map((plugin) => plugin.id),
    maxBytes: manifest?.limits.prompt_bytes ?? defaultLimits.prompt_bytes,
  }, terminal);
  const wanted = chooseAdapter({
    given: given ?? (all ? "auto" : undefined),
    plugins,
    routing: manifest?.routing,
  });
  if (modeOf(call) !== "quiet") {
    await tellEdited(call, { plugins, wanted });
    await tellMissingVariables(terminal, { plugins, wanted });
  }
  // A daemon finds adapters itself, and its events name the chosen one.
  const found = host === null ? unsearched(wanted) : await findAdapters(call, {
    host,
    wanted,
    prompt,
    all,
    quiet: modeOf(call) !== "live",
  });
  const { first } = found;
  const config = options["param"] === undefined || first === "auto" ? undefined : await opened.configOf(first);
  const request = buildRequest({ options: inTrace(options, terminal), prompt, cwd: terminal.cwd, config });
  if (request.replay_of !== undefined) {
    request.replay_of = (await findSession(opened.sessions, request.replay_of)).session_id;
  }
  return { request, ...found };
}

/** Copies of large data take seconds and room, and nothing else shows meanwhile. */
async function tellCopied(
  { terminal }: Pick<Invocation, "terminal">,
  { workdir, signal }: { workdir: string; signal: AbortSignal },
): Promise<void> {
  const large = await measureCopied(workdir, signal);
  if (large === null) return;
  const { path, bytes } = large.largest;
  await terminal.stderr.write(
    `The worktree gets copies of ${copiedText(large)} that are in no commit; the largest is ${safeLine(path)}, ${
      formatBytes(bytes)
    }.\n` +
      `  To leave them out, name them in .gitignore or .git/info/exclude.\n`,
  );
}

/** A daemon keeps the code that it loaded; without a word, an edit would seem to have no effect. */
async function tellEdited(
  { terminal }: Pick<Invocation, "terminal">,
  { plugins, wanted }: { plugins: readonly ListedPlugin[]; wanted: string | readonly string[] },
): Promise<void> {
  const edited = plugins.filter(({ id, edited }) =>
    edited === true && (wanted === "auto" || [wanted].flat().includes(id))
  );
  await terminal.stderr.write(edited.map(({ id }) => `${editedLine(id)}\n`).join(""));
}

/** Returns how the flags ask to show a session. */
export function modeOf({ json, options }: Invocation): ShowSessionOptions["mode"] {
  return json ? "json" : options["quiet"] === true ? "quiet" : "live";
}

/** Returns the value of a flag that takes text. */
export function textFlag({ options }: Pick<Invocation, "options">, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}
