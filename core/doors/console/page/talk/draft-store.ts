import { KeptEntries } from "../kept-entries.ts";
import type { AttachmentPart, Delivery } from "../../../../../plugin-sdk/messages.ts";

/** A message as it was handed to the host, which may have it or not: its answer did not come. */
export interface TriedMessage {
  id: string;
  text: string;
  delivery: Delivery;
  /** Its images and files, which are not kept over a reload: the message is then another one. */
  attached: readonly AttachmentPart[];
  /** Another agent that it goes to; null: the one before. */
  agent: string | null;
}

/** Words that were typed for a conversation and not sent, or whose arrival is not known. */
interface KeptDraft {
  text: string;
  tried: TriedMessage | null;
}

/** Characters of a draft that is kept over a reload. */
const mostCharacters = 100_000;

/** The drafts of this browser, by conversation. */
export class DraftStore {
  readonly #kept: KeptEntries;

  constructor(storage: Storage | null) {
    this.#kept = new KeptEntries(storage, { prefix: "bulkhead-draft:", most: 20 });
  }

  read(id: string): KeptDraft | null {
    return readDraft(this.#kept.read(id));
  }

  /** Keeps a draft; forgets it where there are no words. */
  write(id: string, draft: KeptDraft): void {
    const isNone = draft.text === "" && draft.tried === null || draft.text.length > mostCharacters;
    this.#kept.write(id, isNone ? null : draft);
  }

  /** As {@link KeptEntries.follow}. */
  follow(id: string, changed: () => void): () => void {
    return this.#kept.follow(id, changed);
  }
}

const deliveries: ReadonlySet<unknown> = new Set(["queue", "steer", "interrupt"] satisfies Delivery[]);

/** Any page of this address may have written it. */
function readDraft({ text, tried }: Record<string, unknown>): KeptDraft | null {
  if (typeof text !== "string") return null;
  const { id, text: triedText, delivery, attached, agent } = Object(tried) as Record<string, unknown>;
  const isTried = typeof id === "string" && id !== "" && id.length <= 256 && typeof triedText === "string" &&
    deliveries.has(delivery);
  if (!isTried) return { text, tried: null };
  // They are only compared with what is attached now.
  const parts = Array.isArray(attached) ? attached as AttachmentPart[] : [];
  const to = typeof agent === "string" ? agent : null;
  return { text, tried: { id, text: triedText, delivery: delivery as Delivery, attached: parts, agent: to } };
}
