import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { SessionPlacement, SessionRequest } from "../../../plugin-sdk/request.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { wait } from "../../ground/runtime/wait.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { RunSessionOptions } from "../../sessions/host/run-session.ts";
import type { Engine } from "../engine/engine.ts";
import type { Job } from "../engine/messages.ts";
import { isSameAgent, type MachineFacts, type OfferedAgent } from "./machine-facts.ts";
import type { Repositories } from "./repositories.ts";
import type { SharedNotes } from "./shared-notes.ts";

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

/** Collaborators of {@link WorkQueue}. */
export interface WorkQueueDeps {
  engine: Engine;
  notes: SharedNotes;
  repositories: Repositories;
  facts(): MachineFacts;
  /** Whether a session is known here, from any machine. */
  isKnown(sessionId: string): Promise<boolean>;
  /** Whether a machine is there. */
  isPresent(machine: string): boolean;
  writeLog(record: LogRecord): void;
}

/** How long a machine that took a session has to start it before another one may. Milliseconds. */
const startMs = 30_000;
/** Wait before a machine that does not fit is asked again. Milliseconds. */
const againMs = 300;
/** Wait before the queue is asked again after it has let go of this machine. Milliseconds. */
const pauseMs = 500;
/** How long a waiting session is kept at most. Milliseconds. */
const keptMs = 7 * 24 * 3_600_000;

/** Sessions that wait for a machine: each is taken by one that fits. */
export class WorkQueue {
  readonly #deps: WorkQueueDeps;

  constructor(deps: WorkQueueDeps) {
    this.#deps = deps;
  }

  /** Makes the stream of what waits. */
  async open(): Promise<void> {
    const { work: name, workSubjects: subjects } = this.#deps.engine.names;
    await this.#deps.engine.makeStream({ name, subjects, once: true, maxAgeMs: keptMs });
  }

  /** Adds a session. */
  async add(session: WaitingSession): Promise<void> {
    const { engine } = this.#deps;
    const subject = engine.names.workFor(session.request.place?.machine ?? null);
    await engine.append({ subject, headers: {}, data: JSON.stringify(session) });
  }

  /** Takes sessions that fit this machine, until the signal aborts. */
  async serve(host: Host, signal: AbortSignal): Promise<void> {
    const { engine, facts } = this.#deps;
    const { name } = facts();
    const serveOne = async (consumer: string, subject: string): Promise<void> => {
      while (!signal.aborted) {
        await engine.whenConnected(signal);
        const terms = { stream: engine.names.work, name: consumer, subject, ackWaitMs: startMs };
        await engine.work(terms, { take: (job) => this.#take(job, host), signal }).catch(() => undefined);
        await wait(pauseMs, signal);
      }
    };
    await Promise.all([
      serveOne(`work-${name}`, engine.names.workFor(name)),
      serveOne("work-any", engine.names.workFor(null)),
    ]);
  }

  async #take(job: Job, host: Host): Promise<void> {
    const session = parse(job.data);
    if (session === null || session.until < Date.now()) return job.done();
    const adapter = await this.#fitting(session, host);
    if (adapter.length === 0) return job.giveBack(againMs);
    if (!(await this.#claim(session.session_id))) return job.done();
    const keeping = setInterval(() => job.keep(), startMs / 3);
    try {
      await this.#start(session, { host, adapter });
    } catch (error) {
      const data = toErrorData(error);
      const { session_id } = session;
      this.#deps.writeLog({
        level: "warn",
        message: `Cannot start a session that waited: ${data.message}`,
        session_id,
      });
      await this.#deps.notes.set({ kind: "failed", name: session_id, text: JSON.stringify(data satisfies ErrorData) });
    } finally {
      clearInterval(keeping);
    }
    job.done();
  }

  async #start(
    { session_id, request, options }: WaitingSession,
    { host, adapter }: { host: Host; adapter: readonly string[] },
  ): Promise<void> {
    const { place, ...own } = request;
    const start = async (wanted: SessionRequest): Promise<void> => {
      await host.runSession(wanted, { ...options, adapter, sessionId: session_id });
    };
    if (place?.repository === undefined) return await start(own);
    await this.#deps.repositories.use(
      place.repository,
      own.workdir,
      (workdir) => start({ ...own, workdir, workspace: "worktree" }),
    );
  }

  /** Returns the agents here that could run a session, the best first; none where it does not fit this machine. */
  async #fitting({ request: { place }, options, agents }: WaitingSession, host: Host): Promise<string[]> {
    const { labels, agents: own, sessions, host_sessions } = this.#deps.facts();
    if (!hasLabels(labels, place) || sessions >= host_sessions) return [];
    const { adapter = "auto", require = {} } = options;
    const route = await host.route({ adapter, require }).catch(() => null);
    const candidates = route?.candidates.map(({ adapter_id }) => adapter_id) ?? [];
    return candidates.filter((wanted) => {
      const [mine, theirs] = [own, agents].map((all) => all.find(({ id }) => id === wanted));
      return mine !== undefined && (theirs === undefined || isSameAgent(mine, theirs));
    });
  }

  /** Whether this machine is the one that starts a session: one alone does, and another only if that one is gone. */
  async #claim(sessionId: string): Promise<boolean> {
    const { notes, facts, isKnown, isPresent } = this.#deps;
    const { run, name } = facts();
    const own = `${name} ${run}`;
    for (let known: string | null = null;;) {
      const holder: string = await notes.claim({ name: `start-${sessionId}`, text: own }, known);
      if (holder === own) return true;
      const [machine = ""] = holder.split(" ");
      if (machine === withdrawn || isPresent(machine) || await isKnown(sessionId)) return false;
      known = holder;
    }
  }

  /** Takes a session back that no machine has taken yet; false when one has. */
  async withdraw(sessionId: string): Promise<boolean> {
    return (await this.#deps.notes.claim({ name: `start-${sessionId}`, text: withdrawn }, null)) === withdrawn;
  }
}

/** Stands for a machine's name in the claim of a session that was taken back. */
const withdrawn = "-";

/** Whether a machine has what a placement asks for. */
export function hasLabels(labels: Readonly<Record<string, string>>, place: SessionPlacement | undefined): boolean {
  return Object.entries(place?.labels ?? {}).every(([name, value]) => labels[name] === value);
}

function parse(data: Uint8Array): WaitingSession | null {
  try {
    const value = JSON.parse(new TextDecoder().decode(data)) as WaitingSession;
    return typeof value.session_id === "string" && typeof value.request === "object" ? value : null;
  } catch {
    return null;
  }
}
