import { shortId } from "../../../ground/log/short-id.ts";
import { errorDataOf } from "../../../../plugin-sdk/errors.ts";
import type { AttachmentPart, Delivery } from "../../../../plugin-sdk/messages.ts";
import { omitEmpty, omitUndefined } from "../../../../plugin-sdk/optional-fields.ts";
import { randomId } from "../../../ground/platform/files/hash.ts";
import { rewindText } from "../commands/session/session-rewind.ts";
import type { Invocation } from "../command.ts";
import type { OpenedSessions } from "../open-sessions.ts";
import { buildRequest, inTrace } from "../session-request.ts";

/** How long the agent is kept between two prompts, without a flag. Milliseconds. */
export const usualKeepMs: number = 15 * 60_000;

/** The sessions of a talk. */
type TalkSessions = Pick<OpenedSessions, "sessions" | "configOf" | "host">;

/** The session that has a message, and the message's id; null for the session's own prompt. */
interface Said {
  sessionId: string;
  messageId: string | null;
}

/** A message that goes to the host, with what was chosen for it. */
interface Next {
  text: string;
  delivery: Delivery;
  wanted: string | string[] | null;
  carried: AttachmentPart[];
}

/** One conversation from this end. */
export class ChatTalk {
  readonly #call: Pick<Invocation, "options" | "terminal">;
  readonly #opened: TalkSessions;
  /** Id of one of its sessions; null before the first prompt. */
  id: string | null = null;
  /** The agent that takes the next message, where it is another one than before. */
  wanted: string | string[] | null = null;
  /** Images and files that go with the next message. */
  attached: AttachmentPart[] = [];
  /** Ends when the message before is with the host: the first one begins the conversation, and each keeps its place. */
  #before: Promise<unknown> = Promise.resolve();
  /** The message that may have arrived or not: the same words again have its id. */
  #unsure: { text: string; messageId: string } | null = null;

  constructor(call: Pick<Invocation, "options" | "terminal">, opened: TalkSessions) {
    this.#call = call;
    this.#opened = opened;
  }

  get sessions(): OpenedSessions["sessions"] {
    return this.#opened.sessions;
  }

  /** Whether the conversation's host lives on without this command. */
  get isKept(): boolean {
    return this.#opened.host === null;
  }

  /**
   * Says something, after what was said before; returns the session that has it, and the message's id, null for the
   * session's own prompt.
   */
  async say(text: string, delivery: Delivery): Promise<Said> {
    const next: Next = { text, delivery, wanted: this.wanted, carried: this.attached };
    this.wanted = null;
    this.attached = [];
    const said = this.#before.then(() => this.id === null ? this.#begin(next) : this.#goOn(this.id, next));
    this.#before = said.catch(() => {});
    try {
      return await said;
    } catch (error) {
      this.wanted ??= next.wanted;
      this.attached = [...next.carried, ...this.attached];
      throw error;
    }
  }

  async #begin({ text, wanted, carried }: Next): Promise<Said> {
    const { options, terminal } = this.#call;
    const adapter = wanted ?? this.wanted ?? "auto";
    const [first = "auto"] = [adapter].flat();
    const config = options["param"] === undefined ? undefined : await this.#opened.configOf(first);
    const request = buildRequest({ options: inTrace(options, terminal), prompt: text, cwd: terminal.cwd, config });
    const content = omitEmpty({ content: carried });
    const { id } = await this.sessions.start({ keep_ms: usualKeepMs, ...request, ...content }, { adapter });
    this.id = id;
    return { sessionId: id, messageId: null };
  }

  async #goOn(id: string, { text, delivery, wanted, carried }: Next): Promise<Said> {
    const messageId = this.#unsure?.text === text ? this.#unsure.messageId : randomId();
    this.#unsure = { text, messageId };
    const { session_id } = await this.sessions.conversations.say(id, {
      message_id: messageId,
      content: [{ type: "text", text }, ...carried],
      delivery,
      ...omitUndefined({ with: typeof wanted === "string" ? { agent: wanted } : undefined }),
    });
    this.#unsure = null;
    this.id = session_id;
    return { sessionId: session_id, messageId };
  }

  /** Takes the talk back to a turn, and the files if they are kept; returns what was done. */
  async rewind(to: number): Promise<string> {
    if (this.id === null) return "Nothing was said yet.";
    const { conversations } = this.sessions;
    const id = this.id;
    const request = { to, talk: true };
    const report = await conversations.rewind(id, request).catch((error: unknown) => {
      // Without checkpoints. A turn that is not there is refused again.
      if (errorDataOf(error)?.code !== "not_found") throw error;
      return conversations.rewind(id, { ...request, files: false });
    });
    return rewindText(report, id);
  }

  /** Goes on in a new conversation. */
  async fork(at: number | undefined): Promise<string> {
    if (this.id === null) return "Nothing was said yet.";
    const from = this.id;
    this.id = (await this.sessions.conversations.fork(from, omitUndefined({ at }))).session_id;
    return `This is ${shortId(this.id)} now. To go back: bulkhead chat --conversation ${shortId(from)}`;
  }
}
