import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { eventText } from "./event-text.ts";

/** Text to find, at the number of the event with which it begins. */
export interface Document {
  gseq: number;
  session_id: string;
  /** The agent that said it. */
  adapter_id: string;
  text: string;
}

/** Characters after which a document ends: a long answer is found where it stands. */
const mostCharacters = 4096;

/** Joins the pieces of an answer, of a journal's envelopes in order. What it returns is complete. */
export class JoinedOutputs {
  readonly #open = new Map<string, Document & { kind: string }>();

  /** Returns the documents that this envelope completes. */
  add({ gseq, session_id, adapter, event }: Envelope): Document[] {
    const whose = { gseq, session_id, adapter_id: adapter.id };
    const open = this.#open.get(session_id);
    if (event.type !== "output" && event.type !== "thinking") {
      const text = eventText(event);
      const own = text === "" ? [] : [{ ...whose, text }];
      this.#open.delete(session_id);
      return open === undefined ? own : [open, ...own];
    }
    const kind = event.type === "output" ? event.stream : event.type;
    const text = event.type === "output" ? event.data : eventText(event);
    if (open !== undefined && open.kind === kind && open.text.length + text.length <= mostCharacters) {
      open.text += text;
      return [];
    }
    this.#open.set(session_id, { ...whose, text, kind });
    return open === undefined ? [] : [open];
  }

  /** The number with which the oldest incomplete document begins; null: there is none. */
  get oldest(): number | null {
    const begins = [...this.#open.values()].map(({ gseq }) => gseq);
    return begins.length === 0 ? null : Math.min(...begins);
  }

  /** Returns the documents that are not complete, and forgets them. */
  rest(): Document[] {
    const rest = [...this.#open.values()];
    this.#open.clear();
    return rest;
  }
}
