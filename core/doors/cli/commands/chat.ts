import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { formatDuration } from "../render/quantities.ts";
import { defaultLimits } from "../../../ground/config/limits.ts";
import { untilAborted, wait } from "../../../ground/platform/engine/wait.ts";
import { openLineEditor } from "../../../ground/platform/terminal/line-editor.ts";
import type { TextSink } from "../../../ground/platform/terminal/standard-streams.ts";
import type { Terminal } from "../../../ground/platform/terminal/terminal.ts";
import { upload } from "../chat/attached-files.ts";
import { ChatScreen } from "../chat/chat-screen.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { exitCodeOf } from "../exit-code.ts";
import { chooseAdapter } from "../find-adapters.ts";
import { findSession } from "../find-session.ts";
import { type OpenedSessions, openSessions } from "../open-sessions.ts";
import { safeLine } from "../render/agent-text.ts";
import { createPaint, isPlain } from "../render/paint.ts";
import { Questions } from "../questions.ts";
import { asTyped } from "../render/as-typed.ts";
import { addRunFlags, modeOf, textFlag } from "../session-command.ts";
import { showTurn } from "../chat/show-turn.ts";
import { ChatTalk, usualKeepMs } from "../chat/talk.ts";

/** How long a lost daemon is waited for between two tries. Milliseconds. */
const retryMs = 1000;

/** How often a conversation that has ended is looked at again. Milliseconds. */
const againMs = 2000;

/** `bulkhead chat [agent]`. */
export const defineChat: DefineCommand = (command, bind) => {
  command.usage("[agent] [flags]").argument("[agent]", "id of an enabled adapter; default: routing.agent");
  addRunFlags(command, {
    except: ["prompt", "content", "continue_from", "fork", "iteration", "max_iterations", "idempotency_key"],
  })
    .option("--conversation <id>", "go on with this one: the id of any of its sessions, or its beginning")
    .addHelpText(...examples(
      ["bulkhead chat my-agent", "type the first prompt; /help lists the keys"],
      ["bulkhead chat --conversation 3f2a", "come back to it, also while it works"],
      ["printf 'Fix it\\nAdd a test\\n' | bulkhead chat my-agent", "a prompt a line, one after the other"],
    ))
    .action(bind(chat));
};

async function chat(call: Invocation): Promise<number> {
  const { notices, terminal: noticed } = withNotices(call.terminal);
  await using opened = await openSessions({ ...call, terminal: noticed }, { warm: true });
  const talk = new ChatTalk(call, opened);
  const typed = textFlag(call, "conversation");
  if (typed !== undefined) talk.id = (await findSession(opened.sessions, typed)).session_id;
  else talk.wanted = await adapterOf(call, opened);
  const { terminal } = call;
  const isPerson = terminal.stdin.isTty && terminal.stderr.isTty && modeOf(call) === "live";
  return isPerson && !isPlain(terminal) ? await talkAtTerminal(call, { talk, notices }) : await talkByLines(call, talk);
}

/** Takes what a client of the daemon tells by itself, as that it is lost. */
interface Notices {
  /** Shows it where a line is typed; null writes it to the terminal. */
  show: ((text: string) => void) | null;
}

/** A terminal whose error output a screen may take. */
function withNotices(terminal: Terminal): { terminal: Terminal; notices: Notices } {
  const notices: Notices = { show: null };
  const write: TextSink["write"] = async (text) => {
    if (notices.show === null) await terminal.stderr.write(text);
    else notices.show(String(text));
  };
  return { terminal: { ...terminal, stderr: { ...terminal.stderr, write } }, notices };
}

async function adapterOf(call: Invocation, { plugins, manifest }: OpenedSessions): Promise<string | string[]> {
  const [given] = call.args;
  return chooseAdapter({ given, plugins: await plugins(), routing: manifest?.routing });
}

/** Yields each line of standard input that is a prompt; a person types one after the other. */
async function* promptsOf({ stdin, stderr }: Terminal): AsyncGenerator<string, void, void> {
  if (stdin.isTty) {
    for (;;) {
      await stderr.write("Your message: ");
      const line = await stdin.readLine();
      if (line === null) return;
      if (line.trim() !== "") yield line;
    }
  }
  const text = await stdin.readAll(defaultLimits.prompt_bytes);
  const prompts = text.split("\n").filter((line) => line.trim() !== "");
  if (prompts.length === 0) {
    throw new BulkheadError("invalid_config", "There is no prompt on standard input.", {
      hint: "Give one a line, or start it at a terminal.",
    });
  }
  yield* prompts;
}

/** Takes each line of standard input as a prompt, after the turn before it: no line is drawn over. */
async function talkByLines(call: Invocation, talk: ChatTalk): Promise<number> {
  const { terminal, options } = call;
  let code = 0;
  const questions = terminal.stdin.isTty && Questions.possible(terminal) ? new Questions(terminal) : undefined;
  for await (const prompt of promptsOf(terminal)) {
    const { sessionId, messageId } = await talk.say(prompt, "queue");
    const end = await showTurn(await talk.sessions.open(sessionId), {
      messageId,
      terminal,
      questions,
      adapter: "",
      mode: modeOf(call),
      verbose: options["verbose"] === true,
    });
    code = exitCodeOf(end);
    if (end.outcome !== "completed" && !terminal.stdin.isTty) break;
  }
  return code;
}

async function talkAtTerminal(
  call: Invocation,
  { talk, notices }: { talk: ChatTalk; notices: Notices },
): Promise<number> {
  const { terminal } = call;
  const left = new AbortController();
  /** Aborts when it goes on in another conversation. */
  let other = new AbortController();
  const isOver = untilAborted(left.signal);
  const paint = createPaint(terminal.colours.stderr);
  let watching: Promise<void> | null = null;
  let lastGseq = 0;
  const screen: ChatScreen = new ChatScreen({
    terminal,
    paint,
    open: openLineEditor,
    actions: {
      say: async (text, delivery) => {
        const isFirst = talk.id === null;
        if (isFirst) screen.isWorking = true;
        await talk.say(text, delivery).catch((error: unknown) => {
          if (isFirst) screen.isWorking = false;
          throw error;
        });
        watch();
      },
      stop: async () => {
        if (talk.id !== null) await talk.sessions.conversations.stop(talk.id);
      },
      withdraw: async (messageId) => {
        if (talk.id !== null) await talk.sessions.conversations.withdraw(talk.id, messageId);
      },
      answer: async (requestId, choice) =>
        talk.id !== null && await (await talk.sessions.open(talk.id)).answer(requestId, choice),
      attach: async (type, named) => {
        talk.attached.push(await upload({ type, named, cwd: terminal.cwd }, talk.sessions));
        tellCarried();
      },
      carry: (parts) => {
        talk.attached = parts;
        tellCarried();
      },
      agent: (id) => {
        talk.wanted = id;
        screen.tell(`The next message goes to ${id}.`);
      },
      rewind: async (to) => screen.tell(await talk.rewind(to)),
      fork: async (at) => {
        screen.tell(asTyped(await talk.fork(at)));
        other.abort();
        other = new AbortController();
        watch();
      },
      leave: () => left.abort(),
    },
  });
  notices.show = (text) => screen.tell(text.trim());
  const stopHangUp = terminal.onInterrupt(() => left.abort());
  if (talk.id !== null) watch();
  else screen.tell("Type a prompt. /help lists the keys.");
  await isOver;
  stopHangUp();
  notices.show = null;
  await screen.close();
  await tellWayBack();
  return 0;

  function tellCarried(): void {
    const names = talk.attached.map((part) => safeLine("name" in part && part.name ? part.name : part.mime_type));
    screen.tell(
      names.length === 0
        ? "The next message carries no images and files."
        : `The next message carries ${names.join(", ")}.`,
    );
  }

  /** Shows what comes of the conversation, and after its end what comes of its next session. */
  function watch(): void {
    watching ??= follow().finally(() => (watching = null));
  }

  async function follow(): Promise<void> {
    let isLost = false;
    while (!left.signal.aborted && talk.id !== null) {
      const signal = AbortSignal.any([left.signal, other.signal]);
      try {
        const { conversations } = talk.sessions;
        for await (const envelope of conversations.events(talk.id, { after: lastGseq, signal })) {
          if (isLost) screen.tell("It is back.");
          isLost = false;
          lastGseq = envelope.gseq;
          await screen.see(envelope);
        }
        // Another client may begin the conversation's next session.
        await wait(againMs, signal);
      } catch (error) {
        if (left.signal.aborted) return;
        if (signal.aborted) continue;
        if (!isLost) screen.tell(`${error instanceof Error ? error.message : String(error)} Trying again.`);
        isLost = true;
        await wait(retryMs, left.signal);
      }
    }
  }

  async function tellWayBack(): Promise<void> {
    if (talk.id === null) return;
    const line = asTyped(`bulkhead chat --conversation ${talk.id}`);
    const keepMs = typeof call.options["keep"] === "number" ? call.options["keep"] : usualKeepMs;
    const kept = talk.isKept ? ` Its agent is kept for ${formatDuration(keepMs)}.` : "";
    await terminal.stderr.write(`Go on with: ${line}.${kept}\n`);
  }
}
