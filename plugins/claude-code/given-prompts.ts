import { type AdapterEvent, type AttachedPart, type JsonFields, textOf } from "bulkhead/plugin-sdk";

/**
 * Prompts and words that the program was given, and how far it is with each, as it tells by `command_lifecycle`. Versions
 * that do not tell it take no words into a turn.
 */
export class GivenPrompts {
  /** Prompts and words that are not done yet: a word has the id of its message. */
  readonly #open = new Map<string, { messageId: string | null; isStarted: boolean }>();
  /** The prompt of the turn. */
  #prompt = "";
  #tells: boolean | null = null;
  #decide: (tells: boolean) => void = () => {};
  readonly #decided: Promise<boolean> = new Promise((resolve) => (this.#decide = resolve));
  /** Whether the program has given a result and not begun to work again. */
  #hasResult = false;
  #hasFailed = false;

  /** Whether the program is done with all that it was given. */
  get areDone(): boolean {
    return this.#tells !== true || this.#open.size === 0;
  }

  /** Begins a turn; returns the line of its prompt. */
  begin(text: string, images: readonly AttachedPart[] = []): string {
    this.#hasResult = this.#hasFailed = false;
    this.#open.clear();
    this.#prompt = crypto.randomUUID();
    this.#open.set(this.#prompt, { messageId: null, isStarted: false });
    return userLine(text, { uuid: this.#prompt, images });
  }

  /** Returns the line of a word into the turn, once it is known that the program takes any; null: it takes none. */
  async steer(messageId: string, text: string, images: readonly AttachedPart[] = []): Promise<string | null> {
    if (!await this.#decided) return null;
    const uuid = crypto.randomUUID();
    this.#open.set(uuid, { messageId, isStarted: false });
    // Never "now": that cuts off what the model says, and calls it a success.
    return userLine(text, { uuid, priority: "next", images });
  }

  /** The program begins to work. */
  began(): void {
    this.#hasResult = false;
    this.#settle(false);
  }

  /** The program has given a result. */
  gaveResult({ failed }: { failed: boolean }): void {
    this.#hasResult = true;
    this.#hasFailed = failed;
    this.#settle(false);
  }

  /** Takes a `command_lifecycle` message. */
  take(message: JsonFields): AdapterEvent[] {
    this.#settle(true);
    const uuid = textOf(message["command_uuid"]) ?? "";
    const one = this.#open.get(uuid);
    if (!one) return [];
    switch (message["state"]) {
      case "started":
        return this.#started(one);
      case "completed":
        this.#open.delete(uuid);
        return this.#started(one);
      case "cancelled":
        this.#open.delete(uuid);
        // The prompt of a failure is cancelled as well.
        if (uuid === this.#prompt) return this.#hasFailed ? [] : [stopped];
        return one.messageId === null || one.isStarted ? [] : [told(one.messageId, "returned")];
      default:
        return [];
    }
  }

  #started(one: { messageId: string | null; isStarted: boolean }): AdapterEvent[] {
    if (one.isStarted || one.messageId === null) return [];
    one.isStarted = true;
    if (!this.#hasResult) return [told(one.messageId, "taken")];
    // It came after all that the turn did, and begins one of its own.
    this.#hasResult = false;
    return [{ type: "turn_began", message_ids: [one.messageId] }];
  }

  /** The first sign decides. */
  #settle(tells: boolean): void {
    this.#tells ??= tells;
    this.#decide(this.#tells);
  }
}

/** Ends a turn whose own prompt was cancelled, even if its result calls it a success. */
const stopped: AdapterEvent = {
  type: "error",
  code: "interrupted",
  message: "The agent was interrupted.",
  recoverable: false,
};

function told(message_id: string, state: "taken" | "returned"): AdapterEvent {
  return { type: "message", message_id, state };
}

function userLine(
  text: string,
  { images = [], ...more }: { uuid: string; priority?: "next"; images?: readonly AttachedPart[] },
): string {
  const pictures = images.map(({ part, base64 }) => {
    return { type: "image", source: { type: "base64", media_type: part.mime_type, data: base64 } };
  });
  // The model's server refuses an empty text.
  const content = [...pictures, ...(text === "" && pictures.length > 0 ? [] : [{ type: "text", text }])];
  const message = { role: "user", content };
  return `${JSON.stringify({ type: "user", message, parent_tool_use_id: null, session_id: "", ...more })}\n`;
}
