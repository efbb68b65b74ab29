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

const prefix = "bulkhead-draft:";
const mostDrafts = 20;
/** Characters of a draft that is kept over a reload. */
const mostCharacters = 100_000;
/** Time after which a draft is forgotten. Milliseconds. */
const longestMs = 14 * 24 * 3_600_000;

/** The drafts of this browser, by conversation. A browser that keeps nothing is no failure: the page then forgets them. */
export class DraftStore {
  readonly #storage: Storage | null;

  constructor(storage: Storage | null) {
    this.#storage = storage;
  }

  read(id: string): KeptDraft | null {
    return readDraft(this.#tried(() => this.#storage?.getItem(prefix + id) ?? null));
  }

  /** Keeps a draft; forgets it where there are no words. */
  write(id: string, { text, tried }: KeptDraft): void {
    this.#tried(() => {
      if (text === "" && tried === null || text.length > mostCharacters) return this.#storage?.removeItem(prefix + id);
      this.#storage?.setItem(prefix + id, JSON.stringify({ text, tried, at: Date.now() }));
      this.#tidy();
    });
  }

  /** Calls a function when another page of this browser changes a draft; returns the end of it. */
  follow(id: string, changed: () => void): () => void {
    const onStorage = ({ key }: StorageEvent) => key === prefix + id && changed();
    addEventListener("storage", onStorage);
    return () => removeEventListener("storage", onStorage);
  }

  #tidy(): void {
    const storage = this.#storage;
    if (storage === null) return;
    const keys = Object.keys(storage).filter((key) => key.startsWith(prefix));
    const kept = keys.map((key) => ({ key, at: timeOf(storage.getItem(key)) })).sort((a, b) => b.at - a.at);
    for (const [place, { key, at }] of kept.entries()) {
      if (place >= mostDrafts || Date.now() - at > longestMs) storage.removeItem(key);
    }
  }

  /** A full or forbidden storage throws. */
  #tried<T>(act: () => T): T | null {
    try {
      return act();
    } catch {
      return null;
    }
  }
}

/** Returns the browser's storage; null where it is forbidden. */
export function browserStorage(): Storage | null {
  try {
    return globalThis.localStorage;
  } catch {
    return null;
  }
}

const deliveries: ReadonlySet<unknown> = new Set(["queue", "steer", "interrupt"] satisfies Delivery[]);

/** Any page of this address may have written it. */
function readDraft(json: string | null): KeptDraft | null {
  const { text, tried } = fieldsOf(json);
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

function timeOf(json: string | null): number {
  const { at } = fieldsOf(json);
  return typeof at === "number" ? at : 0;
}

function fieldsOf(json: string | null): Record<string, unknown> {
  try {
    return Object(JSON.parse(json ?? "null")) as Record<string, unknown>;
  } catch {
    return {};
  }
}
