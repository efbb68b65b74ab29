import { type Api, reported, send } from "./call-api.ts";
import { ClientError } from "./client-error.ts";

/**
 * Checks that the server at an address knows the token before the client sends it: after a host has ended, any program
 * of this machine may listen on its port.
 * @throws {ClientError} `forbidden` for a server that does not know it, `network_error`
 */
export async function proveServer(
  api: Pick<Api, "url" | "fetch">,
  token: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const id = /^bh_([0-9a-f]{32})_/.exec(token)?.[1];
  if (id === undefined) {
    throw new ClientError({
      code: "unauthorized",
      message: token.trim() === "" ? "The token is empty." : "The token is not one of Bulkhead's: it has another form.",
      hint:
        "Make one with \"bulkhead token create\", or read the operator's from http/token in the host's state folder.",
    });
  }
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  const init: RequestInit = { redirect: "error", signal: signal ?? null };
  const response = await send(api, `/v1/proof?token_id=${id}&nonce=${nonce}`, init);
  if (response.status === 429) throw await reported(response);
  const answer: unknown = await response.json().catch(() => null);
  if (response.status === 503) {
    throw new ClientError({ code: "unavailable", message: "The host takes no requests now." }, { retryAfterMs: 1000 });
  }
  const proof: unknown = typeof answer === "object" && answer !== null ? Reflect.get(answer, "proof") : null;
  if (response.ok && proof === await expected(token, `${new URL(api.url).host}\n${nonce}`)) return;
  throw new ClientError({
    code: response.status === 404 ? "unauthorized" : "forbidden",
    message: `The server at ${api.url} does not know this token, so it was not sent.`,
    hint: "The token was revoked, is another host's, or another program listens there.",
  });
}

/** Computes the proof, which only a server that stores the token's hash can give. */
async function expected(token: string, text: string): Promise<string> {
  const encoder = new TextEncoder();
  const hash = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(token))));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(hash), algorithm, false, ["sign"]);
  return hex(new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text))));
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
