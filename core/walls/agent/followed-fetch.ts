import { Buffer } from "node:buffer";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { ModelEndpoint } from "../../../plugin-sdk/manifest.ts";
import { fieldsOrNone, stringOf } from "../../../plugin-sdk/json-fields.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import type { ByteReader } from "../../ground/platform/files/byte-reader.ts";
import type { NetworkResponse } from "../../ground/platform/net/network.ts";
import { readUrl } from "../../ground/config/net-target.ts";
import { beginWires, type WireFollowers } from "./wire-followers.ts";
import type { GivenAnswer, Wire } from "./wire.ts";

/**
 * Places at which an adapter's own requests may reach a model: all, or, beside programs whose calls the host sees, anywhere but on
 * this machine, where servers of those programs are.
 */
export type ModelPlaces = "all" | "elsewhere";

/** The models of a session. */
interface Models {
  /** Of its programs. */
  endpoints?: readonly ModelEndpoint[] | undefined;
  /** Places of the models that the adapter itself calls. */
  modelPlaces?: ModelPlaces | undefined;
  wires?: readonly Wire[] | undefined;
  /** Each call must be seen. */
  isCounted?: boolean | undefined;
}

/** A request of the adapter itself. */
interface FollowedRequest {
  url: URL;
  method: string;
  /** Without the values of secrets. */
  headers: Readonly<Record<string, string>>;
  body: string | null;
}

/** Failures before anything was sent. */
const neverSent: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH"]);

/** Sends a request of the adapter itself. Where it may be a call of a model, the session's wires follow it, or answer it. */
export async function sendFollowed(
  options: Models,
  { url, method, headers, body }: FollowedRequest,
  send: () => Promise<NetworkResponse>,
): Promise<NetworkResponse> {
  if (!isModelPlace(options, url)) return await send();
  const { wires = [] } = options;
  const request = { method, path: `${url.pathname}${url.search}`, headers: Object.entries(headers) };
  const { followers, answer } = beginWires({ url: new URL(url.origin), wires }, request);
  try {
    const sent = Buffer.from(body ?? "");
    if (answer !== null) return await answerOf(await answer.answer(sent.length > answer.mostSent ? null : sent));
    const response = await send().catch((error: unknown) => {
      const code = stringOf(fieldsOrNone(fieldsOrNone(error)["cause"])["code"]);
      if (!neverSent.has(code ?? "")) followers.sent(sent);
      throw error;
    });
    followers.sent(sent);
    followers.answered({ status: response.status, headers: Object.entries(response.headers) });
    return { ...response, body: followedBody(response.body, followers) };
  } catch (error) {
    followers.ended(false);
    throw error;
  }
}

/** Refuses a connection whose words no wire can read, where each call of the model must be seen. */
export function refuseUnreadable(options: Models, url: URL): void {
  if (options.isCounted !== true || !isModelPlace(options, url)) return;
  throw new BulkheadError(
    "unenforceable",
    `Cannot connect to "${url.host}": the session has a budget, and the host cannot read what a socket uses.`,
  );
}

/** Places on this machine, as addresses spell them: servers of the adapter's own programs. */
const thisMachine = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Whether a model may be at an address. */
function isModelPlace({ endpoints = [], modelPlaces }: Models, { host, hostname }: URL): boolean {
  return modelPlaces === "all" || (modelPlaces === "elsewhere" && !thisMachine.test(hostname)) ||
    endpoints.some((endpoint) => readUrl(endpoint.url)?.host === host);
}

async function answerOf({ status, headers, body }: GivenAnswer): Promise<NetworkResponse> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return {
    status,
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    body: {
      get ended() {
        return pieces.length === 0;
      },
      cancel: () => void pieces.splice(0),
      read: () => Promise.resolve(pieces.shift() ?? null),
    },
  };
}

/** Bounds of reading on in an answer that has told its last figures: an adapter may look at nothing behind them. */
const ahead = { bytes: 64 * 1024, ms: 100 };

/** A body whose pieces the wires see before the adapter does. */
function followedBody(body: ByteReader, followers: WireFollowers): ByteReader {
  const waiting: (Uint8Array | null)[] = [];
  let next: Promise<Uint8Array | null> | null = null;
  const pull = () =>
    next ??= body.read().then((piece) => {
      next = null;
      if (piece === null) followers.ended(true);
      else followers.received(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
      return piece;
    }, (error: unknown) => {
      followers.ended(false);
      throw error;
    });
  const lookAhead = async () => {
    let stop = () => {};
    const late = new Promise<"late">((resolve) => stop = startBackgroundTimer(() => resolve("late"), ahead.ms));
    for (let bytes = 0; bytes < ahead.bytes && waiting.at(-1) !== null;) {
      // A failure is the next reader's.
      const piece = await Promise.race([pull().catch(() => "late" as const), late]);
      if (piece === "late") break;
      bytes += piece?.length ?? 0;
      waiting.push(piece);
    }
    stop();
  };
  return {
    get ended() {
      return waiting.length === 0 && body.ended;
    },
    cancel() {
      waiting.splice(0);
      body.cancel();
      followers.ended(false);
    },
    async read() {
      if (waiting.length > 0) return waiting.shift() ?? null;
      const piece = await pull();
      if (piece !== null && followers.isComplete()) await lookAhead();
      return piece;
    },
  };
}
