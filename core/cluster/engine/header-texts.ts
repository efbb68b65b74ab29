import type { MsgHdrs } from "@nats-io/transport-node";

/** Returns the headers of a message as texts. */
export function headerTexts(headers: MsgHdrs | undefined): Record<string, string> {
  if (headers === undefined) return {};
  return Object.fromEntries(headers.keys().map((name) => [name, headers.get(name)]));
}
