import { parseJson } from "../../../../plugin-sdk/json-fields.ts";

/** Time after which an entry is forgotten. Milliseconds. */
const longestMs = 14 * 24 * 3_600_000;

/** Which entries of a storage are meant: how their keys begin, and how many are kept. */
interface EntryKind {
  prefix: string;
  most: number;
}

/** Unfinished work of a person, by id, in a browser's storage. A browser that keeps nothing is no failure: the page then forgets it. */
export class KeptEntries {
  readonly #storage: Storage | null;
  readonly #kind: EntryKind;

  constructor(storage: Storage | null, kind: EntryKind) {
    this.#storage = storage;
    this.#kind = kind;
  }

  /** Reads the fields of an entry, none where it is too old; any page of this address may have written them. */
  read(id: string): Record<string, unknown> {
    const fields = fieldsOf(tried(() => this.#storage?.getItem(this.#kind.prefix + id) ?? null));
    const { at } = fields;
    return typeof at === "number" && Date.now() - at > longestMs ? {} : fields;
  }

  /** Keeps an entry, and forgets what is too old or the oldest of too many; null forgets it. */
  write(id: string, fields: object | null): void {
    const key = this.#kind.prefix + id;
    tried(() => {
      if (fields === null) return this.#storage?.removeItem(key);
      this.#storage?.setItem(key, JSON.stringify({ ...fields, at: Date.now() }));
      this.#tidy();
    });
  }

  /** Calls a function when another page of this browser changes an entry; returns the end of it. */
  follow(id: string, changed: () => void): () => void {
    const onStorage = ({ key }: StorageEvent) => key === this.#kind.prefix + id && changed();
    addEventListener("storage", onStorage);
    return () => removeEventListener("storage", onStorage);
  }

  #tidy(): void {
    const storage = this.#storage;
    if (storage === null) return;
    const { prefix, most } = this.#kind;
    const keys = Object.keys(storage).filter((key) => key.startsWith(prefix));
    const kept = keys.map((key) => ({ key, at: Number(fieldsOf(storage.getItem(key))["at"]) || 0 }));
    for (const [place, { key, at }] of kept.sort((a, b) => b.at - a.at).entries()) {
      if (place >= most || Date.now() - at > longestMs) storage.removeItem(key);
    }
  }
}

/** Returns the browser's storage; null where it is forbidden. */
export function browserStorage(): Storage | null {
  return tried(() => globalThis.localStorage);
}

/** Does something with a storage; null where it is full or forbidden. */
export function tried<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}

function fieldsOf(json: string | null): Record<string, unknown> {
  return Object(parseJson(json ?? "null")) as Record<string, unknown>;
}
