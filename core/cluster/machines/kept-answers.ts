import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { fieldsOrNone, parseJson, stringOf } from "../../../plugin-sdk/json-fields.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import type { Engine } from "../engine/engine.ts";
import { throughElection } from "../engine/through-election.ts";
import type { Job } from "../engine/messages.ts";
import type { Mirror } from "../log/mirror.ts";

interface Answer {
  session_id: string;
  request_id: string;
  choice: string | null;
}

/** Wait before the servers are asked again after they have let go of this machine. Milliseconds. */
const pauseMs = 500;
/** How long an answer waits for its machine. Milliseconds. */
const keptMs = 24 * 3_600_000;

/** Answers for machines that cannot be reached: the servers keep them until the machine is back. */
export class KeptAnswers {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Makes the stream of answers that wait. */
  async open(): Promise<void> {
    const { mail: name, mailSubjects: subjects } = this.#engine.names;
    await this.#engine.makeStream({ name, subjects, once: true, maxAgeMs: keptMs });
  }

  /**
   * Keeps an answer; false for a request that is not open as far as the copy of its machine's log tells.
   * @throws {BulkheadError} `unavailable` when the servers cannot be reached either
   */
  async keep(answer: Answer, mirror: Mirror): Promise<boolean> {
    if (!(await isOpen(answer, mirror))) return false;
    const subject = this.#engine.names.mailTo(mirror.machine);
    const message = { subject, headers: {}, data: JSON.stringify(answer) };
    // Kept twice, the second one finds the request answered.
    await throughElection(this.#engine, () => this.#engine.append(message)).catch((cause: unknown) => {
      throw new BulkheadError("unavailable", "Cannot keep the answer: the cluster's servers cannot be reached.", {
        hint: "Answer again when they are back.",
        cause,
      });
    });
    return true;
  }

  /** Gives this machine's sessions the answers that were kept for it, until the signal aborts. */
  async deliver(
    { machine, sessions, writeLog, signal }: {
      machine: string;
      sessions: Pick<SessionHost, "open">;
      writeLog(record: LogRecord): void;
      signal: AbortSignal;
    },
  ): Promise<void> {
    const { mail: stream, mailTo } = this.#engine.names;
    const take = async (job: Job): Promise<void> => {
      const { session_id, request_id, choice } = fieldsOrNone(parseJson(new TextDecoder().decode(job.data)));
      const [id, request, said] = [stringOf(session_id), stringOf(request_id), stringOf(choice)];
      if (id !== null && request !== null && (said !== null || choice === null)) {
        await sessions.open(id).then((session) => session.answer(request, said)).catch((error: unknown) => {
          const { message } = toErrorData(error);
          writeLog({ level: "warn", message: `An answer that was kept came too late: ${message}`, session_id: id });
        });
      } else this.#engine.dropped.tell("An answer that was kept", "it is none");
      job.done();
    };
    while (!signal.aborted) {
      await this.#engine.whenConnected(signal);
      const terms = { stream, name: `mail-${machine}`, subject: mailTo(machine), ackWaitMs: 30_000 };
      await this.#engine.work({ ...terms, take, signal }).catch(() => undefined);
      await wait(pauseMs, signal);
    }
  }
}

async function isOpen({ session_id, request_id }: Answer, { journal }: Mirror): Promise<boolean> {
  const record = await journal.session(session_id);
  if (record === null || record.state === "ended") return false;
  let open = false;
  for (let after = record.first_gseq - 1;;) {
    const page = await journal.read({ after, sessionId: session_id });
    if (page.length === 0) return open;
    for (const { event } of page) {
      const asks = event.type === "permission_request" || event.type === "question";
      if (asks && event.request_id === request_id) open = true;
      if (event.type === "permission_resolved" && event.request_id === request_id) open = false;
    }
    after = page.at(-1)!.gseq;
  }
}
