import type { MsgHdrs } from "@nats-io/transport-node";
import {
  type ConsumerNotification,
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
} from "@nats-io/jetstream";
import type { Job, StreamMessage } from "./messages.ts";

/** Heartbeats of the servers to an idle reader; two missed ones end it. The library alone waits for 10 seconds. */
const readerBeatMs = 1000;
const workerBeatMs = 2000;
/** How long the servers keep one request for messages. Milliseconds. */
const askMs = 10_000;
/** Messages on their way to one reader, and to all of a machine: 512 parts are half of the servers' 64 MiB. */
const mostOnTheWay = 128;
const mostOnTheWayTogether = 512;

/** A stream to read. */
export interface ReadStreamOptions {
  stream: string;
  fromSeq: number;
  /** Ends the reading, once all messages up to this number were read; absent: it goes on with those that come. */
  toSeq?: number;
  /** How many streams this machine reads at the same time; default 1. */
  readers?: number | undefined;
  signal: AbortSignal;
}

/**
 * Streams messages of a stream, in order.
 * @throws {Error} when the servers have let go of the reader: the caller reads on with a new one
 */
export async function* readStream(
  client: JetStreamClient,
  { stream, fromSeq, toSeq, readers = 1, signal }: ReadStreamOptions,
): AsyncGenerator<StreamMessage, void, void> {
  const consumer = await client.consumers.get(stream, {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: fromSeq,
  });
  try {
    if (signal.aborted || (toSeq !== undefined && (await consumer.info(true)).num_pending === 0)) return;
    const messages = await consumer.consume({
      max_messages: Math.max(2, Math.min(mostOnTheWay, Math.floor(mostOnTheWayTogether / readers))),
      idle_heartbeat: readerBeatMs,
      expires: askMs,
    });
    let isLost = false;
    const stop = () => messages.stop();
    signal.addEventListener("abort", stop, { once: true });
    void watch(messages.status(), () => {
      isLost = true;
      stop();
    });
    try {
      for await (const message of messages) {
        if (signal.aborted) return;
        yield messageOf(message);
        // A number whose message was removed never comes.
        if (toSeq !== undefined && (message.seq >= toSeq || message.info.pending === 0)) return;
      }
    } finally {
      signal.removeEventListener("abort", stop);
      messages.stop();
    }
    if (isLost) throw new Error(`the servers do not deliver the messages of ${stream}`);
  } finally {
    // They would keep it for five minutes.
    consumer.delete().catch(() => undefined);
  }
}

async function watch(notifications: AsyncIterable<ConsumerNotification>, lost: () => void): Promise<void> {
  for await (const { type } of notifications) {
    if (type === "heartbeats_missed" || type === "no_responders" || type === "consumer_not_found") lost();
  }
}

/** Messages for workers, and the one who takes them. */
export interface WorkOptions {
  stream: string;
  /** Name that the workers share. */
  name: string;
  subject: string;
  /** How long a message is kept for the one who took it. Milliseconds. */
  ackWaitMs: number;
  take(job: Job): Promise<void>;
  signal: AbortSignal;
}

/**
 * Takes the messages of a stream, one after the other, until the signal aborts.
 * @throws {Error} when the servers have let go of the worker
 */
export async function workOn(
  { client, manager }: { client: JetStreamClient; manager: JetStreamManager },
  { stream, name, subject, ackWaitMs, take, signal }: WorkOptions,
): Promise<void> {
  await manager.consumers.add(stream, {
    durable_name: name,
    filter_subject: subject,
    ack_policy: "explicit",
    ack_wait: ackWaitMs * 1e6,
    max_ack_pending: 4096,
  });
  const consumer = await client.consumers.get(stream, name);
  while (!signal.aborted) {
    // Not `consume` with room for one message: it answers each "no responders" of a consumer without a leader with the
    // next request, at once, and keeps this machine and the servers too busy to elect one.
    const messages = await consumer.fetch({ max_messages: 1, idle_heartbeat: workerBeatMs, expires: askMs });
    const stop = () => messages.stop();
    signal.addEventListener("abort", stop, { once: true });
    try {
      for await (const message of messages) {
        if (signal.aborted) return;
        await take(jobOf(message));
      }
    } finally {
      signal.removeEventListener("abort", stop);
      messages.stop();
    }
  }
}

function messageOf({ seq, subject, headers, data, time }: JsMsg): StreamMessage {
  return { seq, subject, headers: headerTexts(headers), data, atMs: time.getTime() };
}

function jobOf(message: JsMsg): Job {
  return {
    subject: message.subject,
    data: message.data,
    times: message.info.deliveryCount,
    done: () => message.ack(),
    giveBack: (delayMs) => message.nak(delayMs),
    keep: () => message.working(),
  };
}

/** Returns the headers of a message as texts. */
export function headerTexts(headers: MsgHdrs | undefined): Record<string, string> {
  if (headers === undefined) return {};
  return Object.fromEntries(headers.keys().map((name) => [name, headers.get(name)]));
}
