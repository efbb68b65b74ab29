import type { ErrorData } from "../../../../plugin-sdk/errors.ts";

/** A refusal of the host, in its own words. */
export class RefusedCall extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  readonly status: number;
  readonly details: Record<string, unknown>;

  constructor(status: number, { code, message, hint, details }: Omit<ErrorData, "code"> & { code: string }) {
    super(message);
    this.code = code;
    this.hint = hint;
    this.status = status;
    this.details = details ?? {};
  }
}

/** The host as this page calls it. */
export interface HostApi {
  get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T>;
  send<T>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<T>;
  /** Sends bytes, and says how many of them the host has so far. */
  upload<T>(path: string, bytes: Blob, options: { signal: AbortSignal; sent: (bytes: number) => void }): Promise<T>;
  /** Opens an answer to read piece by piece. */
  open(path: string, query?: Query, signal?: AbortSignal): Promise<Response>;
}

/** The answer to a code: a token, with its name, scopes and end. */
export interface PageKey {
  token: string;
  id: string;
  scopes: readonly string[];
  /** RFC 3339, UTC. */
  expires_at: string;
}

/** Fields of a query; undefined ones are left out. */
type Query = Record<string, string | number | boolean | undefined>;

/**
 * Trades the one-time code of `bulkhead console` for a token.
 * @throws {RefusedCall} the code is unknown, used or too old
 */
export async function signIn(code: string): Promise<PageKey> {
  const response = await request("/v1/console/tokens", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  return await response.json() as PageKey;
}

/** Makes the calls of a page with a token. */
export function hostApi(token: string): HostApi {
  const authorization = `Bearer ${token}`;
  return {
    async get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
      const response = await request(path + queryText(query), { headers: { authorization }, signal: signal ?? null });
      return await response.json() as T;
    },
    async send<T>(method: string, path: string, body?: unknown): Promise<T> {
      const response = await request(path, {
        method,
        headers: { authorization, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await response.text();
      return (text === "" ? null : JSON.parse(text)) as T;
    },
    upload: (path, bytes, { signal, sent }) =>
      new Promise((resolve, reject) => {
        // `fetch` does not say how far an upload is.
        const call = new XMLHttpRequest();
        call.open("POST", path);
        call.setRequestHeader("authorization", authorization);
        call.setRequestHeader("content-type", "application/octet-stream");
        call.upload.addEventListener("progress", ({ loaded }) => sent(loaded));
        call.addEventListener("error", () => reject(unreachable()));
        call.addEventListener("abort", () => reject(unreachable()));
        call.addEventListener("load", () => {
          const body = readJson(call.responseText);
          if (call.status >= 200 && call.status < 300) resolve(body as never);
          else reject(refusal(call.status, Object(body) as Record<string, unknown>));
        });
        signal.addEventListener("abort", () => call.abort(), { once: true });
        call.send(bytes);
      }),
    open(path, query, signal) {
      const headers = { authorization, accept: "application/x-ndjson" };
      return request(path + queryText(query), { headers, signal: signal ?? null });
    },
  };
}

function queryText(query: Query = {}): string {
  const fields = Object.entries(query).filter(([, value]) => value !== undefined);
  return fields.length === 0 ? "" : `?${new URLSearchParams(fields.map(([name, value]) => [name, String(value)]))}`;
}

async function request(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw unreachable();
  }
  if (response.ok) return response;
  throw refusal(response.status, await response.json().catch(() => ({})) as Record<string, unknown>);
}

/** The sentence of a call that did not reach the host. */
export const unreachableText = "Cannot reach the host.";

function unreachable(): RefusedCall {
  return new RefusedCall(0, {
    code: "network_error",
    message: unreachableText,
    hint: "Is the daemon running?",
  });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function refusal(status: number, { code, detail, hint, details }: Record<string, unknown>): RefusedCall {
  return new RefusedCall(status, {
    code: typeof code === "string" ? code : "protocol_violation",
    message: typeof detail === "string" ? detail : `The host answered with the status ${status}.`,
    ...(typeof hint === "string" ? { hint } : {}),
    ...(typeof details === "object" && details !== null ? { details: details as Record<string, unknown> } : {}),
  });
}

/** Longest line that is read. A host sends events of a few megabytes at most; what is longer is not this host. */
const longestLine = 64 * 1024 * 1024;

/** Yields the lines of a body, with all lines of one piece together; leaving the loop ends the request. */
export async function* lineGroups(response: Response): AsyncGenerator<string[], void, void> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held: string[] = [];
  let length = 0;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const lines = next.value.split("\n");
      const last = lines.pop() ?? "";
      if (lines.length > 0) {
        lines[0] = held.join("") + lines[0];
        held = [];
        length = 0;
        // An empty group is a sign of life.
        yield lines.filter((line) => line !== "");
      }
      held.push(last);
      length += last.length;
      if (length > longestLine) throw new Error("A line is too long.");
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
