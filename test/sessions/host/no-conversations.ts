import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Conversations } from "../../../core/sessions/host/session-host.ts";

/** Conversations of a host that has none. */
export const noConversations: Conversations = {
  say: () => Promise.reject(refused()),
  messages: () => Promise.reject(refused()),
  edit: () => Promise.reject(refused()),
  withdraw: () => Promise.reject(refused()),
  stop: () => Promise.reject(refused()),
  rewind: () => Promise.reject(refused()),
  fork: () => Promise.reject(refused()),
  turnDiff: () => Promise.reject(refused()),
  get: () => Promise.reject(refused()),
  events: () => {
    throw refused();
  },
};

function refused(): BulkheadError {
  return new BulkheadError("unsupported", "Cannot talk with a session through this door.");
}
