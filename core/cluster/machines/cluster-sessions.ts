import type { MachineCalls } from "./machine.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionGroup } from "../../records/journal/session-groups.ts";
import { EndedLines } from "../../records/journal/ended-lines.ts";
import { groupPages } from "../../records/journal/session-pages.ts";
import type { SessionFilter, SessionRecord, SessionSpan } from "../../records/journal/session-record.ts";
import type { ElsewhereSession, ElsewhereSessions, ElsewhereSummary } from "../../sessions/host/host-seams.ts";
import { type SpentPages, spentPages } from "../../sessions/host/session-usage.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import type { Engine } from "../engine/engine.ts";
import type { Mirror } from "../log/mirror.ts";
import { callMachine } from "./calls.ts";
import type { KeptAnswers } from "./kept-answers.ts";
import type { LostMachines } from "./lost-machines.ts";
import type { Presence } from "./presence.ts";

interface ClusterSessionsDeps {
  engine: Engine;
  presence: Pick<Presence, "present" | "isLively">;
  mirrors(): readonly Mirror[];
  lost: Pick<LostMachines, "write">;
  answers: Pick<KeptAnswers, "keep">;
}

/** Questions under way about the sessions of other machines, by machine. */
type Asked<N extends "waiting" | "facts"> = Map<string, Promise<MachineCalls[N]["answer"]>>;

const nothing: Readonly<Record<string, never>> = {};

/** Longest wait for what the sessions of another machine wait for, or do. Milliseconds. */
const aboutMs = 1000;

/** The sessions of all other machines: read from the copies here, controlled where they run. */
export class ClusterSessions implements ElsewhereSessions {
  readonly #deps: ClusterSessionsDeps;
  /** Questions under way, by machine: readers at the same time share one. */
  readonly #waiting: Asked<"waiting"> = new Map();
  readonly #facts: Asked<"facts"> = new Map();
  readonly #ended = new EndedLines();

  constructor(deps: ClusterSessionsDeps) {
    this.#deps = deps;
  }

  async list(filter: SessionFilter, { facts = false }: { facts?: boolean } = {}): Promise<ElsewhereSummary[]> {
    const lists = await Promise.all(
      this.#deps.mirrors().map(async (mirror) => {
        const records = await mirror.journal.sessions(filter);
        const runs = records.some(({ state }) => state === "running");
        const [waiting, does, lines] = await Promise.all([
          runs ? this.#waitingOf(mirror.machine) : nothing,
          runs && facts ? this.#factsOf(mirror.machine) : nothing,
          facts ? this.#ended.of(mirror.journal, records) : null,
        ]);
        return records.map((record) => ({
          record,
          waiting: waiting[record.session_id] ?? [],
          facts: does[record.session_id],
          lines: lines?.get(record.session_id),
        }));
      }),
    );
    return lists.flat();
  }

  async *groups(span: SessionSpan): AsyncGenerator<SessionGroup[], void, void> {
    for (const { journal } of this.#deps.mirrors()) yield* groupPages(journal, span);
  }

  async *spent(since: string): SpentPages {
    for (const mirror of this.#deps.mirrors()) yield* spentPages(mirror.journal, since);
  }

  async find(sessionId: string): Promise<ElsewhereSession | null> {
    for (const mirror of this.#deps.mirrors()) {
      const record = await mirror.journal.session(sessionId);
      if (record !== null) return this.#session(record, mirror);
    }
    return null;
  }

  #session(record: SessionRecord, mirror: Mirror): ElsewhereSession {
    const { session_id, state } = record;
    const { machine } = mirror;
    return {
      record,
      read: (options) => mirror.journal.read(options),
      waiting: async () => state === "running" ? (await this.#waitingOf(machine))[session_id] ?? [] : [],
      history: () => mirror.journal.history(session_id),
      events: (query) => eventsOf(mirror, session_id, query),
      delete: () => this.#delete(session_id, machine),
      interrupt: async () => {
        await callMachine(this.#deps.engine, { machine, name: "interrupt", ask: { session_id } });
      },
      answer: (request_id, choice) => this.#answer({ session_id, request_id, choice }, mirror),
    };
  }

  async #delete(session_id: string, machine: string): Promise<void> {
    const { engine, presence, lost } = this.#deps;
    if (presence.present(machine) !== null) {
      await callMachine(engine, { machine, name: "delete", ask: { session_id } });
      return;
    }
    const isDeleted = await lost.write(machine, (journal) => journal.delete(session_id, "client"));
    if (isDeleted) return;
    throw new BulkheadError("busy", `Cannot delete session "${session_id}": it is still running.`, {
      details: { session_id, machine },
    });
  }

  async #answer(ask: MachineCalls["answer"]["ask"], mirror: Mirror): Promise<boolean> {
    const { engine, presence, answers } = this.#deps;
    const { machine } = mirror;
    if (!presence.isLively(machine)) return await answers.keep(ask, mirror);
    return await callMachine(engine, { machine, name: "answer", ask }).catch(async (error: unknown) => {
      if (error instanceof BulkheadError && error.code === "unavailable") return await answers.keep(ask, mirror);
      throw error;
    });
  }

  #waitingOf(machine: string): Promise<MachineCalls["waiting"]["answer"]> {
    return this.#ask(this.#waiting, { machine, name: "waiting" });
  }

  #factsOf(machine: string): Promise<MachineCalls["facts"]["answer"]> {
    return this.#ask(this.#facts, { machine, name: "facts" });
  }

  /** Asks a machine about its sessions; nothing from one that does not answer, and from a version without the question. */
  #ask<N extends "waiting" | "facts">(
    asked: Asked<N>,
    { machine, name }: { machine: string; name: N },
  ): Promise<MachineCalls[N]["answer"]> {
    const { engine, presence } = this.#deps;
    if (!presence.isLively(machine)) return Promise.resolve({});
    const under = asked.get(machine);
    if (under !== undefined) return under;
    const asking = callMachine(engine, { machine, name, ask: {}, timeoutMs: aboutMs })
      .catch((): MachineCalls[N]["answer"] => ({})).finally(() => asked.delete(machine));
    asked.set(machine, asking);
    return asking;
  }
}

async function* eventsOf(
  mirror: Mirror,
  sessionId: string,
  { after = 0, signal }: EventQuery,
): AsyncGenerator<Envelope, void, void> {
  // Read before the record is: what comes between them is then read as well.
  const now = mirror.journal.lastGseq;
  const record = await mirror.journal.session(sessionId);
  if (record === null) return;
  const cursor = await mirror.journal.cursorOf(sessionId, after) ??
    (record.state === "running" ? now : record.last_gseq - 1);
  const where = { sessionId, after: cursor, afterSeq: after };
  const subscription = mirror.subscribe(signal === undefined ? where : { ...where, signal });
  if (record.state !== "running") subscription.finish();
  yield* subscription;
}
