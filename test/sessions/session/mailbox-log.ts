import type { Envelope, MessageAcceptedEvent } from "../../../plugin-sdk/envelope.ts";

interface Written {
  session: string;
  event: Envelope["event"];
}

/** The log of a host, of which a kill keeps the beginning: at least what is durable, and only whole batches. */
export class ModelLog {
  readonly written: Written[] = [];
  /** Entries that a kill cannot take. */
  durable = 0;
  #batches: number[] = [];
  readonly #ended = new Set<string>();
  readonly #bySession = new Map<string, Envelope["event"][]>();

  /** Adds a batch, as a session's stream does: nothing after the session's end. */
  write(session: string, events: readonly Envelope["event"][]): void {
    if (events.length === 0 || this.#ended.has(session)) return;
    for (const event of events) this.#add({ session, event });
    this.#batches.push(this.written.length);
  }

  /** Where batches end that are not durable yet. */
  get open(): number[] {
    return [this.durable, ...this.#batches.filter((end) => end > this.durable)];
  }

  /** The host is killed: only what is before stays. */
  cut(end: number): void {
    const kept = this.written.splice(0).slice(0, end);
    this.durable = end;
    this.#batches = this.#batches.filter((one) => one <= end);
    this.#ended.clear();
    this.#bySession.clear();
    for (const one of kept) this.#add(one);
  }

  #add({ session, event }: Written): void {
    this.written.push({ session, event });
    if (event.type === "session_ended") this.#ended.add(session);
    const own = this.#bySession.get(session);
    if (own === undefined) this.#bySession.set(session, [event]);
    else own.push(event);
  }

  of(session: string): readonly Envelope["event"][] {
    return this.#bySession.get(session) ?? [];
  }

  get unended(): string[] {
    return [...this.#bySession.keys()].filter((session) => !this.#ended.has(session));
  }
}

/** What an agent saw of a message, in the order in which it did. */
export interface Seen {
  id: string;
  /** Session and turn: a turn that is tried again shows its prompt again. */
  at: string;
}

interface Record {
  accepted: MessageAcceptedEvent;
  outcomes: string[];
  to?: string | undefined;
}

/** What breaks the rules of messages, as sentences: told by events alone, and by what agents saw. */
export function faultsOf({ log, seen, calm }: { log: ModelLog; seen: readonly Seen[]; calm: boolean }): string[] {
  const faults: string[] = [];
  const records = new Map<string, Record>();
  for (const { session, event } of log.written) {
    if (!("message_id" in event) || event.type === "message") continue;
    const key = `${session}/${event.message_id}`;
    const record = records.get(key);
    if (event.type === "message_accepted") {
      if (record !== undefined) faults.push(`${key} is accepted twice`);
      records.set(key, { accepted: event, outcomes: [] });
    } else if (record === undefined) faults.push(`${key} has ${event.type} and was never accepted`);
    else if (record.outcomes.length > 0) faults.push(`${key} has ${event.type} after ${record.outcomes.join()}`);
    else if (event.type === "message_delivered") record.outcomes.push(event.how);
    else if (event.type === "message_dropped") {
      record.outcomes.push(event.reason);
      record.to = event.to;
    }
  }
  const places = new Map<string, Set<string>>();
  for (const { id, at } of seen) places.set(id, (places.get(id) ?? new Set()).add(at));
  for (const [id, at] of places) if (at.size > 1) faults.push(`${id} is seen ${at.size} times: ${[...at].join()}`);

  const final = new Map<string, string[]>();
  for (const [key, { accepted: { message_id: id }, outcomes: [outcome = "none"], to }] of records) {
    if (outcome === "none") faults.push(`${key} has no outcome`);
    if (outcome === "unsure" && calm) faults.push(`${key} is unsure without a crash`);
    if (outcome !== "moved") final.set(id, [...final.get(id) ?? [], outcome]);
    else if (!records.has(`${to}/${id}`)) faults.push(`${key} is moved to ${to}, which never had it`);
  }
  for (const id of new Set([...records.values()].map(({ accepted }) => accepted.message_id))) {
    const outcomes = final.get(id) ?? [];
    if (outcomes.length !== 1) faults.push(`${id} has ${outcomes.length} outcomes: ${outcomes.join()}`);
    const [outcome = ""] = outcomes;
    if (outcome === "injected" && !places.has(id)) faults.push(`${id} is injected and was never seen`);
    if (unseen.has(outcome) && places.has(id)) faults.push(`${id} is dropped as ${outcome} and was seen`);
  }
  return faults;
}

const unseen: ReadonlySet<string> = new Set(["withdrawn", "turn_failed", "session_ended", "host_restarted"]);
