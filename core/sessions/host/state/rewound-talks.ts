import { Type } from "@sinclair/typebox";
import { closed, exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import { lazyCheck } from "../../../ground/checks/lazy-check.ts";
import type { Journal } from "../../../records/journal/journal.ts";

/** A rewind of files and talk together, of which the talk's session has perhaps not begun. */
export interface RewoundTalk {
  conversation: string;
  /** The turn that both go back to. */
  to: number;
  /** The session that the talk goes on from then. */
  session_id: string;
  client: string;
  /** Trees of the files before and after. */
  before: string;
  after: string;
}

const text = Type.String({ maxLength: 256 });
const rewoundTalkSchema: SchemaOf<RewoundTalk> = exactly<RewoundTalk>()(Type.Object({
  conversation: text,
  to: Type.Integer({ minimum: 0 }),
  session_id: text,
  client: text,
  before: text,
  after: text,
}, closed));

const isList = lazyCheck(Type.Array(rewoundTalkSchema));

/** Names the row of the journal's keys. */
const listName = "rewound talks";

/**
 * Rewinds of files and talk together, as the journal names them from before the first file is written until the talk's session
 * has begun: a host that is killed in between leaves none half done.
 */
export class RewoundTalks {
  readonly #journal: Pick<Journal, "noteKey">;
  readonly #listed: Map<string, RewoundTalk>;

  constructor(journal: Pick<Journal, "noteKey">, listed: readonly RewoundTalk[] = []) {
    this.#journal = journal;
    this.#listed = new Map(listed.map((one) => [one.conversation, one]));
  }

  /** Returns the conversations of which one is not done. */
  get conversations(): string[] {
    return [...this.#listed.keys()];
  }

  of(conversation: string): RewoundTalk | undefined {
    return this.#listed.get(conversation);
  }

  /** Writes one down; durable once it resolves. */
  async begin(rewound: RewoundTalk): Promise<void> {
    this.#listed.set(rewound.conversation, rewound);
    await this.#note();
  }

  async end(conversation: string): Promise<void> {
    if (this.#listed.delete(conversation)) await this.#note();
  }

  async #note(): Promise<void> {
    const digest = JSON.stringify([...this.#listed.values()]);
    await this.#journal.noteKey({ name: listName, digest, session_id: "" }, Number.MAX_SAFE_INTEGER);
  }
}

/** Returns the rewinds that were not done when their host ended. */
export async function readRewound(journal: Pick<Journal, "findKey">): Promise<RewoundTalk[]> {
  const row = await journal.findKey(listName);
  if (row === null) return [];
  const list: unknown = JSON.parse(row.digest);
  return isList().Check(list) ? list as RewoundTalk[] : [];
}
