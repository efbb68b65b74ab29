import { BulkheadError, type ErrorCode, type ErrorData } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { SessionPlacement } from "../../../plugin-sdk/request.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { sleep, untilAborted, wait } from "../../ground/platform/engine/wait.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { Engine } from "../engine/engine.ts";
import type { MachineFacts, OfferedAgent } from "./machine.ts";
import { isSameAgent } from "./machine-facts.ts";
import type { Repositories } from "./repositories.ts";
import type { RunOf } from "./run-ends.ts";
import { noteWords, SharedNotes } from "./shared-notes.ts";
import { clientOf, type WaitingSession, WaitingSessions } from "./waiting-sessions.ts";

interface WorkQueueDeps {
  engine: Engine;
  notes: SharedNotes;
  repositories: Repositories;
  facts(): MachineFacts;
  /** Agents of this machine, with their code as it is now. */
  agents(): Promise<readonly OfferedAgent[]>;
  isKnown(sessionId: string): Promise<boolean>;
  /** Whether a run of a machine begins no more sessions, and all that it began are known here. */
  isOver(run: RunOf): Promise<boolean>;
  writeLog(record: LogRecord): void;
}

/** Wait before sessions that do not fit this machine are looked at again. Milliseconds. */
const againMs = 300;
/** How long a session is kept here at most. Milliseconds. */
const keptMs = 7 * 24 * 3_600_000;
/** Most sessions that wait in the whole cluster. */
const mostWaiting = 4096;
/** Errors of a machine that can take no session now: the session goes on waiting. */
const passing: ReadonlySet<ErrorCode> = new Set(["busy", "host_closed", "journal_error"]);
/** Most sessions that this machine starts at a time. */
const mostStarting = 8;

/** Sessions that wait for a machine: each is taken by one that fits, and clients take turns. */
export class WorkQueue {
  readonly #deps: WorkQueueDeps;
  readonly #stream: SharedNotes;
  readonly #waiting = new WaitingSessions();
  /** Sessions that this machine is starting. */
  readonly #starting = new Set<string>();
  #wake: () => void = () => {};
  #losses = 0;

  constructor(deps: WorkQueueDeps) {
    this.#deps = deps;
    this.#stream = new SharedNotes(deps.engine, { names: deps.engine.names.work, keptMs });
    this.#stream.watch({
      heard: (note) => {
        if (!this.#waiting.hear(note)) deps.engine.dropped.tell("A note of a waiting session", "it is none");
        this.#wake();
      },
      lost: () => {
        this.#waiting.clear();
        this.#losses++;
      },
    });
    deps.notes.watch({
      heard: ({ kind, name, text }) => {
        // One that was taken back, or given back, is no turn.
        if (kind !== "claim" || !name.startsWith(startOf("")) || text === "" || text === withdrawn) return;
        const client = claimIn(text)?.client;
        if (client === undefined) deps.engine.dropped.tell(noteWords(kind), `"${text.slice(0, 64)}" is no claim`);
        else this.#waiting.hadTurn(client);
      },
    });
  }

  /** Sessions that wait now, as far as this machine has heard. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Times that the servers have lost all that waited. */
  get losses(): number {
    return this.#losses;
  }

  /** Makes the stream of sessions that wait. */
  async open(): Promise<void> {
    await this.#stream.open();
  }

  has(sessionId: string): boolean {
    return this.#waiting.has(sessionId);
  }

  /**
   * Adds a session.
   * @throws {BulkheadError} `busy`, `too_large`, `unavailable`
   */
  async add(session: WaitingSession): Promise<void> {
    const note = WaitingSessions.note(session);
    const bytes = new TextEncoder().encode(note.text).byteLength;
    if (bytes > this.#deps.engine.messageBytes) throw largeError(bytes, this.#deps.engine.messageBytes);
    if (!this.#waiting.hasRoom(clientOf(session), mostWaiting)) throw fullError(this.#waiting.size);
    await this.#stream.set(note).catch((cause: unknown) => {
      throw new BulkheadError("unavailable", "Cannot place the session: the cluster's servers do not answer.", {
        hint: "Try again when they are back: bulkhead cluster status.",
        cause,
      });
    });
  }

  /** Hears what waits, and takes sessions that fit this machine until the signal aborts. */
  async serve(host: Host, { signal, closing }: { signal: AbortSignal; closing: AbortSignal }): Promise<void> {
    const following = this.#stream.follow(closing);
    await Promise.race([this.#stream.caughtUp, untilAborted(signal)]);
    while (!signal.aborted) {
      const changed = new Promise<void>((resolve) => (this.#wake = resolve));
      const next = await this.#next(host).catch(() => null);
      if (next === null) await Promise.race([changed, wait(againMs, signal)]);
      else void this.#take(next, host);
    }
    await following;
  }

  /** Returns the session whose turn it is among those that fit this machine; null for none. */
  async #next(host: Host): Promise<{ session: WaitingSession; adapter: string[] } | null> {
    const { name, labels, sessions, slots } = this.#deps.facts();
    if (this.#starting.size >= mostStarting || sessions + this.#starting.size >= slots) return null;
    if (await host.stateProblem() !== null) return null;
    const own = await this.#deps.agents();
    // Many sessions ask for the same agent.
    const routes = new Map<string, Promise<string[]>>();
    for (const session of this.#waiting.inTurn(name)) {
      const { session_id, request: { place }, options: { adapter = "auto", require = {} } } = session;
      if (session.until < Date.now()) this.#waiting.forget(session_id);
      if (!this.#waiting.has(session_id) || this.#starting.has(session_id) || !hasLabels(labels, place)) continue;
      try {
        const wish = JSON.stringify([adapter, require]);
        const route = routes.get(wish) ?? host.route({ adapter, require }).then(
          ({ candidates }) => candidates.map(({ adapter_id }) => adapter_id),
          () => [],
        );
        routes.set(wish, route);
        const fitting = fittingOf(await route, { own, asked: session.agents });
        if (fitting.length > 0) return { session, adapter: fitting };
      } catch (error) {
        // The sessions behind it must not wait for it.
        this.#waiting.forget(session_id);
        this.#deps.engine.dropped.tell("A note of a waiting session", toErrorData(error).message);
      }
    }
    return null;
  }

  /** Starts a session, unless another machine does. Never rejects. */
  async #take({ session, adapter }: { session: WaitingSession; adapter: string[] }, host: Host): Promise<void> {
    const { session_id } = session;
    this.#starting.add(session_id);
    try {
      const claimed = await this.#claim(session);
      if (claimed === null) return;
      const failure = await this.#start(session, { host, adapter }).then(() => null, toErrorData);
      if (failure !== null && passing.has(failure.code)) {
        // Another machine may take it, or this one a little later.
        await this.#deps.notes.claim({ ...claimed, text: "" }, claimed.text);
        return await sleep(againMs);
      }
      if (failure !== null) await this.#fail(session_id, failure);
      await this.#stream.set({ ...WaitingSessions.note(session), text: "" });
    } catch {
      // The servers do not answer: it still waits.
      await sleep(againMs);
    } finally {
      this.#starting.delete(session_id);
      this.#wake();
    }
  }

  async #fail(session_id: string, failure: ErrorData): Promise<void> {
    const message = `Cannot start a session that waited: ${failure.message}`;
    this.#deps.writeLog({ level: "warn", message, session_id });
    await this.#deps.notes.set({ kind: "failed", name: session_id, text: JSON.stringify(failure) });
  }

  async #start(
    { session_id, request, options }: WaitingSession,
    { host, adapter }: { host: Host; adapter: readonly string[] },
  ): Promise<void> {
    const { place, ...own } = request;
    await host.carried.bring(own.content ?? [], omitUndefined({ client: options.client }));
    const start = async (wanted: typeof own): Promise<void> => {
      await host.runSession(wanted, { ...options, adapter, sessionId: session_id });
    };
    if (place?.repository === undefined) return await start(own);
    await this.#deps.repositories.remember(session_id, { ...place.repository, workdir: own.workdir });
    await this.#deps.repositories.use(
      place.repository,
      own.workdir,
      (workdir) => start({ ...own, workdir, workspace: "worktree" }),
    );
  }

  /** Returns this machine's claim to start a session; null where another one does. */
  async #claim(session: WaitingSession): Promise<{ name: string; text: string } | null> {
    const { notes, facts, isKnown, isOver } = this.#deps;
    const { session_id } = session;
    const { run, name } = facts();
    const claim = { name: startOf(session_id), text: `${name} ${run} ${clientOf(session)}` };
    for (let known: string | null = null;;) {
      const holder: string = await notes.claim(claim, known);
      if (holder === claim.text) return claim;
      const isHeld = holder !== withdrawn && !(await isKnown(session_id));
      const starter = claimIn(holder);
      // No machine wrote what is no claim.
      const isFree = isHeld && (starter === null || await isOver(starter));
      if (isFree && !(await isKnown(session_id))) known = holder;
      else {
        if (isHeld) await sleep(againMs);
        else this.#waiting.forget(session_id);
        return null;
      }
    }
  }

  /** Returns the run of the machine that is starting a session, or has started it; null while none has taken it. */
  async starter(sessionId: string): Promise<RunOf | null> {
    const holder = await this.#deps.notes.get("claim", startOf(sessionId));
    return holder === null || holder === withdrawn ? null : claimIn(holder);
  }

  /** Takes a session back that no machine has taken yet; false when one has. */
  async withdraw(session: WaitingSession): Promise<boolean> {
    const claim = { name: startOf(session.session_id), text: withdrawn };
    if (await this.#deps.notes.claim(claim, null) !== withdrawn) return false;
    await this.#stream.set({ ...WaitingSessions.note(session), text: "" });
    return true;
  }
}

/** Returns those of the agents that are the same here as on the machine that was asked. */
function fittingOf(
  candidates: readonly string[],
  { own, asked }: { own: readonly OfferedAgent[]; asked: readonly OfferedAgent[] },
): string[] {
  return candidates.filter((wanted) => {
    const [mine, theirs] = [own, asked].map((all) => all.find(({ id }) => id === wanted));
    return mine !== undefined && (theirs === undefined || isSameAgent(mine, theirs));
  });
}

/** Stands for a machine in the claim of a session that was taken back. */
const withdrawn = "-";

function startOf(sessionId: string): string {
  return `start-${sessionId}`;
}

/** Parses a claim to start a session, which another machine may have written; null for anything else. */
function claimIn(text: string): RunOf & { client: string } | null {
  const [, machine, run, client] = /^([a-z0-9][a-z0-9-]{0,31}) ([0-9a-zA-Z_-]{1,256}) ([0-9a-f]{0,16})$/.exec(text) ??
    [];
  return machine === undefined || run === undefined || client === undefined ? null : { machine, run, client };
}

/** Whether a machine has what a placement asks for. */
export function hasLabels(labels: Readonly<Record<string, string>>, place: SessionPlacement | undefined): boolean {
  return Object.entries(place?.labels ?? {}).every(([name, value]) => labels[name] === value);
}

function fullError(size: number): BulkheadError {
  return new BulkheadError("busy", `Cannot place the session: ${size} sessions wait for a machine already.`, {
    hint: "Try again later, or name no place.",
  });
}

function largeError(bytes: number, most: number): BulkheadError {
  return new BulkheadError(
    "too_large",
    `Cannot place the session: its request has ${bytes} bytes, and the servers take ${most}.`,
    { hint: "Put the material into files of the working directory, or raise max_payload of the servers." },
  );
}
