import { connect, type NatsConnection } from "@nats-io/transport-node";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { patiently } from "../../core/cluster/engine/patiently.ts";
import { envelopesAfter } from "../../core/records/journal/journal-row.ts";
import { LogReader } from "../../core/cluster/log/log-entry.ts";
import type { LogMachine } from "./log-fixture.ts";

/** A message that a machine sent to a log, whether the servers took it or not. */
interface Sent {
  writer: string;
  number: string;
  isMark: boolean;
}

type ShownOf = (sessionId: string) => Promise<readonly string[]>;

/** What is known of one machine's log. */
interface WatchedLog {
  sent: Sent[];
  /** As all machines read it. */
  reader: LogReader;
  /** Writers whose mark the log has. */
  marked: Set<string>;
  /** Writer of the present term: as the log has it, and as its messages were sent. */
  stored: string;
  wire: string;
}

/**
 * Counts the writes of machines that had lost their log. It sees each message that is sent to a log, and reads what the
 * servers took, by a rule of its own: after a mark, all but the marked writer's messages are stale.
 */
export class StaleWrites {
  /** Stale messages that were sent. */
  tried = 0;
  /** Stale messages that the servers took: readers must drop them. */
  stored = 0;
  /** Stale messages that a reader of the log takes for true, and stale events that a client was shown. */
  readonly accepted: string[] = [];
  readonly #reader: Pick<LogMachine, "engine">;
  readonly #connection: NatsConnection;
  readonly #logs = new Map<string, WatchedLog>();

  static async open(servers: readonly string[], reader: Pick<LogMachine, "engine">): Promise<StaleWrites> {
    return new StaleWrites(await connect({ servers: [...servers], maxReconnectAttempts: -1 }), reader);
  }

  private constructor(connection: NatsConnection, reader: Pick<LogMachine, "engine">) {
    this.#connection = connection;
    this.#reader = reader;
    connection.subscribe("bulkhead.log.>", {
      callback: (error, { subject, headers }) => {
        if (error !== null || headers === undefined) return;
        const [writer, number] = [headers.get("Bulkhead-Writer"), headers.get("Bulkhead-Number")];
        this.#log(subject.split(".")[2]!).sent.push({
          writer,
          number,
          isMark: headers.get("Bulkhead-Kind") === "mark",
        });
      },
    });
  }

  /**
   * Looks at what came since the last look.
   * @param shown returns what clients were shown of a session, as texts of {@link textOf}
   */
  async look(shown: ShownOf): Promise<void> {
    await patiently("reach the servers", () => this.#connection.flush());
    for (const [machine, log] of this.#logs) {
      // Taken before the log is read: of each mark among them it is known then whether the servers took it.
      const sent = log.sent.splice(0);
      await patiently(`read the log of "${machine}"`, () => this.#readStored(machine, shown));
      for (const { writer, isMark } of sent) {
        if (isMark) log.wire = log.marked.has(writer) ? writer : log.wire;
        else if (log.wire !== "" && writer !== log.wire) this.tried++;
      }
    }
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #readStored(
    machine: string,
    shown: ShownOf,
  ): Promise<void> {
    const { engine } = this.#reader;
    const log = this.#log(machine);
    const stream = engine.names.log(machine);
    const { lastSeq = 0 } = await engine.stream(stream) ?? {};
    const { seq } = log.reader.position;
    if (lastSeq <= seq) return;
    const { signal } = new AbortController();
    for await (const message of engine.read({ stream, fromSeq: seq + 1, toSeq: lastSeq, signal })) {
      const { headers, data } = message;
      const entry = log.reader.take(message);
      const writer = headers["Bulkhead-Writer"] ?? "";
      if (headers["Bulkhead-Kind"] === "mark") {
        log.marked.add(writer);
        log.stored = writer;
      } else if (writer !== log.stored) {
        this.stored++;
        if (entry !== null) this.accepted.push(`${machine}: message ${message.seq}`);
        await this.#compare({ machine, stale: envelopesAfter(new TextDecoder().decode(data), 0) }, shown);
      }
    }
  }

  async #compare(
    { machine, stale }: { machine: string; stale: readonly Envelope[] },
    shown: ShownOf,
  ): Promise<void> {
    const id = stale[0]?.session_id;
    if (id === undefined) return;
    const seen = new Set(await shown(id));
    for (const envelope of stale) {
      if (seen.has(textOf(envelope))) this.accepted.push(`${machine}: event ${envelope.seq} of ${id}`);
    }
  }

  #log(machine: string): WatchedLog {
    const log = this.#logs.get(machine) ??
      { sent: [], reader: new LogReader(), marked: new Set(), stored: "", wire: "" };
    this.#logs.set(machine, log);
    return log;
  }
}

/** An event and its place, for comparing. */
export function textOf({ seq, event }: Pick<Envelope, "seq" | "event">): string {
  return `${seq} ${JSON.stringify(event)}`;
}
