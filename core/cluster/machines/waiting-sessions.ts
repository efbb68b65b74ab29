import { Type } from "@sinclair/typebox";
import { agentCapabilitiesSchema } from "../../../plugin-sdk/capabilities.ts";
import { attachmentsSchema } from "../../../plugin-sdk/messages.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { RunSessionOptions } from "../../sessions/host/session-host.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { lazyCheck, parseChecked } from "../../ground/checks/lazy-check.ts";
import type { OfferedAgent } from "./machine.ts";
import { offeredAgentSchema } from "./machine-facts.ts";
import type { Note } from "./shared-notes.ts";

/** A session that waits for a machine. */
export interface WaitingSession {
  session_id: string;
  request: SessionRequest;
  options: Pick<RunSessionOptions, "adapter" | "require" | "artifacts" | "client">;
  /** Agents of the machine that was asked: another one with other code under the same id does not fit. */
  agents: OfferedAgent[];
  /** When it waits no longer. Milliseconds since 1970. */
  until: number;
}

/** Kind of the note of a session that any machine may take; one for a certain machine has that machine's name. */
const anyone = "_";
/** Clients whose last turn is remembered. */
const mostClients = 4096;
/** A client may have so many times more waiting than there is room left, so that there is always room for another. */
const share = 9;

/**
 * The sessions that wait for a machine, in the order of their turns: clients take turns, and each client's sessions are
 * served first come, first served. All machines hear the same notes in the same order, so they agree whose turn it is.
 */
export class WaitingSessions {
  readonly #sessions = new Map<string, WaitingSession>();
  /** When each client had its last turn, counted in turns. */
  readonly #turns = new Map<string, number>();
  #turn = 0;

  get size(): number {
    return this.#sessions.size;
  }

  has(sessionId: string): boolean {
    return this.#sessions.has(sessionId);
  }

  static note(session: WaitingSession): Note {
    const { request, ...rest } = session;
    // A version that would not find the images and files must not take it: it reads no note without "request".
    const told = request.content === undefined ? session : { ...rest, attached: request };
    return { kind: request.place?.machine ?? anyone, name: session.session_id, text: JSON.stringify(told) };
  }

  /**
   * Takes a note: a session that waits, or its end where the note has no text.
   * @returns false for a note that is neither; then that session does not wait
   */
  hear({ name, text }: Note): boolean {
    const session = text === "" ? null : readNote(text);
    if (session?.session_id === name) this.#sessions.set(name, session);
    else this.#sessions.delete(name);
    return text === "" || session?.session_id === name;
  }

  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  clear(): void {
    this.#sessions.clear();
  }

  /** Notes that a client has had a turn. */
  hadTurn(client: string): void {
    this.#turns.delete(client);
    this.#turns.set(client, ++this.#turn);
    const oldest = this.#turns.size > mostClients ? this.#turns.keys().next().value : undefined;
    if (oldest !== undefined) this.#turns.delete(oldest);
  }

  /** Whether a client may wait: if one client could fill the line, all others would be refused. */
  hasRoom(client: string, most: number): boolean {
    const free = most - this.#sessions.size;
    const own = [...this.#sessions.values()].filter((session) => clientOf(session) === client).length;
    return free > 0 && own < share * free;
  }

  /** Returns the sessions that a machine may take, in the order of their turns. */
  inTurn(machine: string): WaitingSession[] {
    const byClient = new Map<string, WaitingSession[]>();
    for (const session of this.#sessions.values()) {
      const { machine: wanted } = session.request.place ?? {};
      if (wanted !== undefined && wanted !== machine) continue;
      const client = clientOf(session);
      const own = byClient.get(client);
      if (own === undefined) byClient.set(client, [session]);
      else own.push(session);
    }
    // The sort keeps the order of those that have had no turn yet: first come, first served.
    const lists = [...byClient].sort(([one], [other]) => (this.#turns.get(one) ?? 0) - (this.#turns.get(other) ?? 0));
    const rounds = Math.max(0, ...lists.map(([, own]) => own.length));
    return Array.from({ length: rounds }, (_, round) => lists.flatMap(([, own]) => own.slice(round, round + 1))).flat();
  }
}

/** Parses the note of a session that waits; null for anything else. */
function readNote(text: string): WaitingSession | null {
  const read = parseChecked(text, check);
  if (read === null) return null;
  const { attached, ...session } = read;
  const request = session.request ?? attached;
  return request === undefined ? null : { ...session, request } as WaitingSession;
}

/** Returns whose turn a waiting session takes: a short name without blanks. */
export function clientOf({ options: { client } }: WaitingSession): string {
  return client === undefined ? "" : sha256Hex(client).slice(0, 16);
}

const short = Type.String({ minLength: 1, maxLength: 256 });

// Fields that a newer version adds are let through: machines are upgraded one at a time. The machine that takes the session
// checks the rest of the request, as each host does.
const request = Type.Object({
  workdir: Type.String(),
  prompt: Type.String(),
  content: Type.Optional(attachmentsSchema),
  place: Type.Optional(Type.Object({
    machine: Type.Optional(short),
    labels: Type.Optional(Type.Record(Type.String(), Type.String())),
    repository: Type.Optional(Type.Object({ url: Type.String(), ref: Type.Optional(Type.String()) })),
  })),
});

const check = lazyCheck(Type.Object({
  session_id: short,
  request: Type.Optional(request),
  attached: Type.Optional(request),
  options: Type.Object({
    adapter: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 1024 })])),
    require: Type.Optional(agentCapabilitiesSchema),
    artifacts: Type.Optional(Type.Union([Type.Literal("git"), Type.Literal("none")])),
    client: Type.Optional(Type.String()),
  }),
  agents: Type.Array(offeredAgentSchema, { maxItems: 1024 }),
  until: Type.Number({ minimum: 0, maximum: 8.64e15 }),
}));
