import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import {
  jetstream,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamInfo,
} from "@nats-io/jetstream";
import { headers as makeHeaders, type Msg, type MsgHdrs, type NatsConnection } from "@nats-io/transport-node";
import type { ClusterSettings } from "../../ground/config/cluster-settings.ts";
import { within } from "../../ground/platform/engine/within.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { connectServers, type SecretOf } from "./connect.ts";
import { headerTexts, readStream, type ReadStreamOptions, workOn, type WorkOptions } from "./consume.ts";
import { DroppedMessages } from "./dropped-messages.ts";
import type { OutgoingMessage, StreamMessage } from "./messages.ts";
import { type Names, namesWith } from "./names.ts";
import { patiently } from "./patiently.ts";

/** Options of a new stream. */
interface StreamOptions {
  name: string;
  subjects: string;
  /** Whether a message goes when one has done it. */
  once?: boolean;
  /** Age at which messages go. Milliseconds; absent: never. */
  maxAgeMs?: number;
  /** Messages kept of one subject; absent: all. */
  perSubject?: number;
}

/** State of a stream. */
export interface StreamState {
  name: string;
  /** When it was made: servers that have lost their disks make it again. */
  createdAt: string;
  firstSeq: number;
  lastSeq: number;
  messages: number;
  bytes: number;
  /** Name of the server that leads it; null where there is none, as on a single server. */
  leader: string | null;
  replicas: number;
}

/** The expected last number of the stream was not its last. */
export class StaleError extends Error {
  constructor() {
    super("the stream has gone on");
    this.name = "StaleError";
  }
}

const answerMs = 2500;
/** How long a client's request waits for a connection to be made again. Milliseconds. */
const soonMs = 2000;
const mostPartBytes = 64 * 1024;
/** Error code of a stream whose last number is another one. */
const wrongLastSequence = 10071;
const streamNotFound = 10059;
const messageNotFound = 10037;

/** The servers of a cluster: the only file, with `connect.ts`, that knows their client. */
export class Engine {
  readonly names: Names;
  /** Reports messages of other machines that cannot be used. */
  readonly dropped: DroppedMessages;
  readonly #connection: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #replicas: number;
  readonly #watchers = new Set<(connected: boolean) => void>();
  #connected = true;

  /** @throws {BulkheadError} as `connectServers` */
  static async open(
    settings: ClusterSettings,
    secretOf: SecretOf,
    writeLog: (record: LogRecord) => void = () => {},
  ): Promise<Engine> {
    const connection = await connectServers(settings, secretOf);
    try {
      const manager = await patiently(
        "join the cluster",
        () => jetstreamManager(connection, { timeout: answerMs, checkAPI: true }),
      );
      return new Engine({ connection, manager, settings, dropped: new DroppedMessages(writeLog) });
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  private constructor(
    { connection, manager, settings, dropped }: {
      dropped: DroppedMessages;
      connection: NatsConnection;
      manager: JetStreamManager;
      settings: ClusterSettings;
    },
  ) {
    this.names = namesWith(settings.prefix);
    this.dropped = dropped;
    this.#connection = connection;
    this.#manager = manager;
    this.#client = jetstream(connection, { timeout: answerMs });
    this.#replicas = settings.replicas;
    void this.#watch();
  }

  get isConnected(): boolean {
    return this.#connected;
  }

  /** Address and version of the server that this machine uses. */
  get server(): { address: string; version: string } {
    return { address: this.#connection.getServer(), version: this.#connection.info?.version ?? "" };
  }

  /** Bytes that fit into one message beside its headers. */
  get messageBytes(): number {
    return (this.#connection.info?.max_payload ?? 65_536) - 4096;
  }

  /** Bytes of a message of a log at most: small enough that many may be on their way to a reader at once. */
  get partBytes(): number {
    return Math.min(this.messageBytes, mostPartBytes);
  }

  /** Calls back when the connection is lost or there again. */
  onConnection(callback: (connected: boolean) => void): () => void {
    this.#watchers.add(callback);
    return () => this.#watchers.delete(callback);
  }

  /** Whether a server is connected now or within a short while, as after a connection that broke is made again. */
  async isSoonConnected(): Promise<boolean> {
    if (this.#connected) return true;
    const waiting = new AbortController();
    const isThere = await within(this.whenConnected(waiting.signal), soonMs);
    waiting.abort();
    return isThere && this.#connected;
  }

  /** Resolves once a server is connected, or the signal aborts. */
  whenConnected(signal: AbortSignal): Promise<void> {
    if (this.#connected || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        stop();
        signal.removeEventListener("abort", done);
        resolve();
      };
      const stop = this.onConnection((connected) => connected ? done() : undefined);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  /**
   * Makes a stream, unless it is there.
   * @throws {BulkheadError} `unavailable`
   */
  makeStream(terms: StreamOptions): Promise<StreamState> {
    return patiently(
      `make the stream ${terms.name}`,
      async () => await this.stream(terms.name) ?? await this.#add(terms),
    );
  }

  async #add({ name, subjects, once = false, maxAgeMs, perSubject }: StreamOptions): Promise<StreamState> {
    return stateOf(
      await this.#manager.streams.add({
        name,
        subjects: [subjects],
        storage: StorageType.File,
        num_replicas: this.#replicas,
        retention: once ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
        allow_direct: false,
        ...omitUndefined({ max_age: maxAgeMs && maxAgeMs * 1e6, max_msgs_per_subject: perSubject }),
      }),
    );
  }

  /** Returns the state of a stream; null when it is not there. */
  async stream(name: string): Promise<StreamState | null> {
    try {
      return stateOf(await this.#manager.streams.info(name));
    } catch (error) {
      if (codeOf(error) === streamNotFound) return null;
      throw error;
    }
  }

  /** Returns the states of all streams that the machines have. */
  async logs(): Promise<StreamState[]> {
    const found: StreamState[] = [];
    for await (const info of this.#manager.streams.list()) {
      if (this.names.machineOf(info.config.name) !== null) found.push(stateOf(info));
    }
    return found;
  }

  /**
   * Adds a message to its stream, and resolves with its number once the servers have it.
   * @param lastSeq the message is only taken if this is the stream's last number
   * @throws {StaleError} when it is another one; any other error leaves open whether the message was taken
   */
  async append({ subject, headers, data }: OutgoingMessage, lastSeq?: number): Promise<number> {
    const expect = lastSeq === undefined ? {} : { expect: { lastSequence: lastSeq } };
    try {
      const ack = await this.#client.publish(subject, data, {
        headers: headersOf(headers),
        timeout: answerMs,
        ...expect,
      });
      return ack.seq;
    } catch (error) {
      throw codeOf(error) === wrongLastSequence ? new StaleError() : error;
    }
  }

  /** Returns one message of a stream; null when it is not there. */
  async message(stream: string, seq: number): Promise<StreamMessage | null> {
    try {
      const found = await this.#manager.streams.getMessage(stream, { seq });
      if (found === null) return null;
      const { subject, header, data, time } = found;
      return { seq: found.seq, subject, headers: headerTexts(header), data, atMs: time.getTime() };
    } catch (error) {
      if (codeOf(error) === messageNotFound) return null;
      throw error;
    }
  }

  /** Returns the last message with a subject; null when there is none. */
  async lastOf(stream: string, subject: string): Promise<StreamMessage | null> {
    try {
      const found = await this.#manager.streams.getMessage(stream, { last_by_subj: subject });
      if (found === null) return null;
      return {
        seq: found.seq,
        subject,
        headers: headerTexts(found.header),
        data: found.data,
        atMs: found.time.getTime(),
      };
    } catch (error) {
      if (codeOf(error) === messageNotFound) return null;
      throw error;
    }
  }

  /**
   * Streams messages of a stream, in order, until the connection ends: the caller reads on when it is back.
   * @throws {Error} when the servers have let go of the reader
   */
  async *read({ signal, ...options }: ReadStreamOptions): AsyncGenerator<StreamMessage, void, void> {
    const { over, end } = this.#whileConnected(signal);
    try {
      yield* readStream(this.#client, { ...options, signal: over });
      if (over.aborted && !signal.aborted) throw new Error("the connection to the servers was lost");
    } finally {
      end();
    }
  }

  /** Takes the messages of a stream, one after the other, until the signal aborts or the connection ends. */
  async work({ signal, ...options }: WorkOptions): Promise<void> {
    const { over, end } = this.#whileConnected(signal);
    try {
      await workOn({ client: this.#client, manager: this.#manager }, { ...options, signal: over });
    } finally {
      end();
    }
  }

  /** Makes a signal that also aborts when the connection changes: the servers may have forgotten who reads. */
  #whileConnected(signal: AbortSignal): { over: AbortSignal; end(): void } {
    const ending = new AbortController();
    const unwatch = this.onConnection(() => ending.abort());
    return { over: AbortSignal.any([signal, ending.signal]), end: unwatch };
  }

  /** Removes a session's messages from its machine's stream. */
  async purge(stream: string, subject: string): Promise<void> {
    await this.#manager.streams.purge(stream, { filter: subject });
  }

  /** Says something to everyone who listens now. */
  say(subject: string, text: string): void {
    if (!this.#connection.isClosed()) this.#connection.publish(subject, text);
  }

  /** Listens, until the returned function is called. */
  listen(subject: string, heard: (message: { subject: string; text: string }) => void): () => void {
    const subscription = this.#connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) heard({ subject: message.subject, text: message.string() });
      },
    });
    return () => subscription.unsubscribe();
  }

  /** Answers questions with a text. */
  answer(subject: string, reply: (text: string) => Promise<string>): () => void {
    // A message that cannot be sent back any more leaves its asker without an answer in time.
    const respond = (message: Msg) =>
      void reply(message.string()).then((text) => message.respond(text)).catch(() => undefined);
    const subscription = this.#connection.subscribe(subject, {
      callback: (error, message) => error === null ? respond(message) : undefined,
    });
    return () => subscription.unsubscribe();
  }

  /** Asks a question. Rejects when no one listens, or not in time. */
  async ask(subject: string, text: string, timeoutMs: number): Promise<string> {
    return (await this.#connection.request(subject, text, { timeout: timeoutMs })).string();
  }

  /** The connection, for the library's own store of objects. */
  get client(): JetStreamClient {
    return this.#client;
  }

  get replicas(): number {
    return this.#replicas;
  }

  /** Milliseconds of one round trip to the server. */
  async roundTripMs(): Promise<number> {
    return await this.#connection.rtt();
  }

  async close(): Promise<void> {
    this.#watchers.clear();
    this.#connected = false;
    await this.#connection.close();
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === "disconnect" || type === "staleConnection") this.#tell(false);
      if (type === "reconnect") this.#tell(true);
    }
  }

  #tell(connected: boolean): void {
    if (this.#connected === connected) return;
    this.#connected = connected;
    for (const watcher of this.#watchers) watcher(connected);
  }
}

function stateOf({ config, created, state, cluster }: StreamInfo): StreamState {
  const { first_seq: firstSeq, last_seq: lastSeq, messages, bytes } = state;
  return {
    name: config.name,
    createdAt: created,
    firstSeq,
    lastSeq,
    messages,
    bytes,
    leader: cluster?.leader ?? null,
    replicas: config.num_replicas,
  };
}

function codeOf(error: unknown): number | null {
  return error instanceof JetStreamApiError ? error.code : null;
}

function headersOf(texts: Readonly<Record<string, string>>): MsgHdrs {
  const made = makeHeaders();
  for (const [name, text] of Object.entries(texts)) made.set(name, text);
  return made;
}
