import { type AdapterEvent, fieldsOf, type JsonFields, textOf } from "bulkhead/plugin-sdk";

/** A block of the message that streams now: how much of it has been passed on, and whether it came as a whole since. */
interface StreamedBlock {
  type: "text" | "thinking";
  length: number;
  whole: boolean;
}

/**
 * Text and thinking, which the program says twice: in pieces while they are made, then as whole blocks. Each is passed
 * on once, and of a whole block only what its pieces did not bring.
 */
export class SpokenText {
  #messageId: unknown = null;
  readonly #blocks = new Map<unknown, StreamedBlock>();
  #lineOpen = false;

  /** A message begins to stream. */
  begin(messageId: unknown): void {
    this.#messageId = messageId;
    this.#blocks.clear();
  }

  /** A block of it begins, perhaps with its first words. */
  beginBlock(index: unknown, block: JsonFields | null): AdapterEvent[] {
    const type = block?.["type"];
    if (type !== "text" && type !== "thinking") return [];
    const data = textOf(block?.[type]) ?? "";
    this.#blocks.set(index, { type, length: data.length, whole: false });
    return this.#say(type, data, { opens: true });
  }

  /** A piece of one of its blocks; null for a piece of something else. */
  piece(index: unknown, delta: JsonFields): AdapterEvent[] | null {
    const type = delta["type"] === "text_delta" ? "text" : delta["type"] === "thinking_delta" ? "thinking" : null;
    if (type === null) return null;
    const block = this.#blocks.get(index) ?? { type, length: 0, whole: false };
    this.#blocks.set(index, block);
    const data = textOf(delta[type]) ?? "";
    const events = this.#say(type, data, { opens: block.length === 0 });
    block.length += data.length;
    return events;
  }

  /** A whole block of a message; null for one that is neither text nor thinking. */
  whole(messageId: unknown, block: JsonFields): AdapterEvent[] | null {
    const type = block["type"];
    if (type === "redacted_thinking") return [];
    if (type !== "text" && type !== "thinking") return null;
    const streamed = messageId === this.#messageId
      ? [...this.#blocks.values()].find((one) => one.type === type && !one.whole)
      : undefined;
    if (streamed) streamed.whole = true;
    const said = streamed?.length ?? 0;
    return this.#say(type, (textOf(block[type]) ?? "").slice(said), { opens: said === 0 });
  }

  #say(type: "text" | "thinking", data: string, { opens }: { opens: boolean }): AdapterEvent[] {
    if (data === "") return [];
    if (type === "thinking") return [{ type: "thinking", content: data }];
    // Blocks are paragraphs: run together, a line of one would end in the next.
    const separator = opens && this.#lineOpen ? "\n" : "";
    this.#lineOpen = !data.endsWith("\n");
    return [{ type: "output", stream: "stdout", data: `${separator}${data}` }];
  }
}

/** The text of a tool's answer or of a message: texts joined where it is made of nothing else, else as it came. */
export function plainContent(content: unknown): unknown {
  if (!Array.isArray(content)) return content ?? null;
  const texts = content.map((part) => {
    const fields = fieldsOf(part);
    return fields?.["type"] === "text" && typeof fields["text"] === "string" ? fields["text"] : null;
  });
  return texts.length > 0 && texts.every((text) => text !== null) ? texts.join("\n") : content;
}
