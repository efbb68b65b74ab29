import { attachmentsOf, textOf } from "../../../../plugin-sdk/conversation.ts";
import type { Envelope, SessionEndedEvent } from "../../../../plugin-sdk/envelope.ts";
import type { AttachmentPart, Delivery, Part } from "../../../../plugin-sdk/messages.ts";
import type { LineEditor, LineHandlers } from "../../../ground/platform/terminal/line-editor.ts";
import { contentText } from "../../../ground/checks/event-words.ts";
import { AgentQuestions } from "../agent-questions.ts";
import { safeLine, safeText } from "../render/agent-text.ts";
import { LiveView } from "../render/live-view.ts";
import type { Paint } from "../render/paint.ts";
import { fitLine } from "../render/text-width.ts";
import type { Terminal } from "../../../ground/platform/terminal/terminal.ts";
import { ChatQuestions } from "./chat-questions.ts";

/** Acts of a chat for its person. */
interface ChatActions {
  /** Gives the agent a message; the first one begins the conversation. */
  say(text: string, delivery: Delivery): Promise<void>;
  stop(): Promise<void>;
  withdraw(messageId: string): Promise<void>;
  answer(requestId: string, choice: string | null): Promise<boolean>;
  /** Uploads a file, which goes with the next message. */
  attach(type: "image" | "file", named: string): Promise<void>;
  /** The next message carries these images and files, and no others. */
  carry(parts: AttachmentPart[]): void;
  /** Goes on with another agent. */
  agent(id: string): void;
  /** Takes the talk, and the files if they are kept, back to a turn. */
  rewind(to: number): Promise<void>;
  /** Goes on in a new conversation that knows this one up to a turn. */
  fork(at: number | undefined): Promise<void>;
  leave(): void;
}

interface ChatScreenOptions {
  terminal: Terminal;
  paint: Paint;
  actions: ChatActions;
  open(handlers: LineHandlers): LineEditor;
}

interface Pending {
  id: string;
  content: Part[];
  delivery: Delivery;
}

const help = `  Enter         the next prompt; while the agent works, a word into its turn
  Alt-Enter     after this turn, while the agent works or asks
  Esc, /stop    stop the turn
  /now <text>   stop the turn and go on with this
  /edit         take the newest message that waits back into the line
  /withdraw     take the newest message that waits back
  /agent <id>   go on with another agent
  /rewind <turn> take talk and files back to it; the files if they are kept
  /fork [turn]  go on in a new conversation, from that turn or from here
  /image <file> goes with the next message; so does /file <file>
  /detach       the next message carries no images and files
  /quit         leave (or Ctrl-C twice, or Ctrl-D); the conversation stays
`;

const isTurn = /^\d{1,9}$/;

/** Words before a message that waits. A word that finds no place in its turn is the next one. */
const waitingWords: Readonly<Record<Delivery, string>> = { queue: "waits", steer: "next", interrupt: "now" };

/** Messages that are drawn at most: what does not fit on a screen could not be removed from it. */
const mostDrawn = 5;

/** How soon a second Ctrl-C follows the first. Milliseconds. */
const twiceMs = 3000;

/** The screen of `bulkhead chat`: what the agent says above, the typed line below, and what waits between them. */
export class ChatScreen {
  readonly #options: ChatScreenOptions;
  readonly #line: LineEditor;
  readonly #view: LiveView;
  readonly #questions: ChatQuestions;
  readonly #asked: AgentQuestions;
  #pending: Pending[] = [];
  #isWorking = false;
  #interruptedAt = -Infinity;
  /** The text that was typed when the agent asked. */
  #draft = "";

  constructor(options: ChatScreenOptions) {
    this.#options = options;
    const { terminal, paint, actions } = options;
    this.#line = options.open({
      onLine: (text, { later }) => this.#take(text, later),
      onEscape: () => this.#stop(),
      onInterrupt: () => this.#interrupt(),
      onEnd: () => actions.leave(),
      onResize: () => this.#draw(),
    });
    const columns = () => Math.min(160, Math.max(40, this.#line.columns));
    const print = (text: string) => this.#line.print(text);
    this.#questions = new ChatQuestions({ print, onChange: () => this.#asking() });
    this.#asked = new AgentQuestions({ answer: (id, choice) => actions.answer(id, choice) }, {
      questions: this.#questions,
      terminal,
    });
    this.#view = new LiveView({
      write: (text) => Promise.resolve(print(text)),
      paint,
      get columns() {
        return columns();
      },
      adapters: [],
      lone: true,
      streaming: false,
    });
    this.#draw();
  }

  /** Shows one event. */
  async see(envelope: Envelope): Promise<void> {
    const { event } = envelope;
    const wasWorking = this.#isWorking;
    this.#note(event);
    this.#asked.see(envelope);
    await this.#view.show(envelope);
    if (event.type === "turn_ended" || event.type === "session_ended") await this.#view.finish();
    // Only a turn that has ended in order says how.
    if (event.type === "session_ended" && wasWorking) this.#cutOff(event.result);
    this.#draw();
  }

  /** Tells the person something. */
  tell(text: string): void {
    this.#line.print(`${this.#options.paint("dim", text)}\n`);
  }

  /** The agent works from now on, or does not. */
  set isWorking(works: boolean) {
    this.#isWorking = works;
    this.#draw();
  }

  async close(): Promise<void> {
    await this.#asked.close();
    await this.#view.finish();
    this.#line.close();
  }

  #cutOff({ error, stop_reason }: SessionEndedEvent["result"]): void {
    if (stop_reason === "end_turn") return;
    const hint = error?.hint === undefined ? "" : ` ${error.hint}`;
    this.#line.print(`${this.#options.paint("red", safeText(`✗ ${error?.message ?? stop_reason}${hint}`))}\n`);
  }

  /** The line's meaning has changed: what was typed stays out of an answer, and comes back after it. */
  #asking(): void {
    if (this.#questions.prompt !== null) {
      this.#draft ||= this.#line.text;
      this.#line.text = "";
    } else if (this.#draft !== "") {
      if (this.#line.text === "") this.#line.text = this.#draft;
      this.#draft = "";
    }
    this.#draw();
  }

  #note(event: Envelope["event"]): void {
    switch (event.type) {
      case "session_started":
      case "turn_started":
        this.#isWorking = true;
        return;
      case "turn_ended":
      case "session_ended":
        this.#isWorking = false;
        return;
      case "message_accepted":
        this.#pending.push({ id: event.message_id, content: event.content, delivery: event.delivery });
        return;
      case "message_changed":
        this.#pending = this.#pending.map((one) =>
          one.id === event.message_id ? { ...one, content: event.content } : one
        );
        return;
      case "message_delivered":
      case "message_dropped":
        this.#pending = this.#pending.filter(({ id }) => id !== event.message_id);
        return;
    }
  }

  #take(text: string, later: boolean): void {
    if (this.#questions.prompt !== null && !later) {
      this.#line.print(`${this.#questions.prompt}${safeText(text)}\n`);
      this.#questions.answer(text);
    } else if (text.startsWith("/")) this.#command(text);
    else if (text.trim() !== "") this.#say(text, this.#isWorking && !later ? "steer" : "queue");
    this.#draw();
  }

  #say(text: string, delivery: Delivery): void {
    this.#do(this.#options.actions.say(text, delivery), () => {
      // What was typed is not lost with the host that should have had it.
      if (this.#line.text === "") this.#line.text = text;
    });
  }

  #command(typed: string): void {
    const [, word = "", argument = ""] = /^(\S+)\s*(.*)$/s.exec(typed.trim()) ?? [];
    const { actions } = this.#options;
    const newest = this.#pending.at(-1);
    switch (word) {
      case "/stop":
        return this.#stop();
      case "/edit":
      case "/withdraw":
        if (newest === undefined) return this.tell("No message waits.");
        return this.#do(
          actions.withdraw(newest.id).then(() => {
            if (word === "/edit") this.#edit(newest);
          }),
        );
      case "/now":
        if (argument === "") return this.tell("Say what to go on with: /now <text>.");
        return this.#say(argument, this.#isWorking ? "interrupt" : "queue");
      case "/agent":
        if (argument === "") return this.tell("Name the agent: /agent <id>.");
        return actions.agent(argument);
      case "/rewind":
        if (!isTurn.test(argument)) return this.tell("Name the turn to go back to: /rewind <turn>; 0 is before all.");
        return this.#do(actions.rewind(Number(argument)));
      case "/fork":
        if (argument !== "" && !isTurn.test(argument)) return this.tell("Name a turn by its number: /fork [turn].");
        return this.#do(actions.fork(argument === "" ? undefined : Number(argument)));
      case "/image":
      case "/file":
        if (argument === "") return this.tell(`Name the file: ${word} <file>.`);
        return this.#do(actions.attach(word === "/image" ? "image" : "file", argument));
      case "/detach":
        return actions.carry([]);
      case "/quit":
        return actions.leave();
      case "/help":
        return this.#line.print(help);
      default:
        return this.tell(`There is no ${word}. /help lists what there is.`);
    }
  }

  #edit({ content }: Pending): void {
    const attached = attachmentsOf(content);
    if (attached.length > 0) this.#options.actions.carry(attached);
    this.#line.text = textOf(content);
  }

  #stop(): void {
    if (this.#isWorking) this.#do(this.#options.actions.stop());
  }

  #interrupt(): void {
    const now = performance.now();
    if (now - this.#interruptedAt < twiceMs) return this.#options.actions.leave();
    this.#interruptedAt = now;
    this.tell("Press Ctrl-C again to leave; the conversation stays. Esc stops the turn.");
  }

  #do(action: Promise<void>, onFailure = () => {}): void {
    action.catch((error: unknown) => {
      this.tell(error instanceof Error ? error.message : String(error));
      onFailure();
    });
  }

  #draw(): void {
    const { paint } = this.#options;
    const { columns } = this.#line;
    const left = this.#pending.length - mostDrawn;
    const above = [
      ...this.#pending.slice(0, mostDrawn).map(({ content, delivery }) =>
        `⋯ ${waitingWords[delivery]}: ${safeLine(contentText(content))}`
      ),
      ...(left > 0 ? [`⋯ and ${left} more`] : []),
    ].map((text) => paint("dim", fitLine(text, columns - 1)));
    const prompt = this.#questions.prompt ?? (this.#isWorking ? "steer › " : "› ");
    this.#line.show(prompt, above);
  }
}
