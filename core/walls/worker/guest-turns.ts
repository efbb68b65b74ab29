import type { Turn, TurnMessage } from "../../../plugin-sdk/turns.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { Operations, ScopeCall } from "../channel/operations.ts";
import { SafeAbortController } from "./endowments/abort.ts";
import { freezeClosures, harden } from "./lockdown.ts";

/** The turns of one entry: the host gives the next one when it is asked for, which ends the one before. */
export function guestTurns(call: ScopeCall): AsyncIterable<Turn> {
  let current: Received = { seen: [], isOver: true };
  return pulled(async () => {
    // A message that is still on its way then has not reached the adapter.
    current.isOver = true;
    const next = await call("turn_next", { seen: current.seen });
    current = { seen: [], isOver: false };
    return next === null ? null : makeTurn(next, { call, received: current });
  });
}

/** The messages into a turn that reached the adapter. */
interface Received {
  seen: string[];
  isOver: boolean;
}

function makeTurn(
  { number, prompt, content, output_schema, effort, plan, kept }: NonNullable<Operations["turn_next"]["value"]>,
  { call, received }: { call: ScopeCall; received: Received },
): Turn {
  const stop = new SafeAbortController();
  // It stays open until the turn is over; an entry that ends rejects it.
  call("turn_wait", { turn: number, for: "stop" }).then((given) => given === null || stop.abort(), () => {});
  const messages = pulled(async () => {
    const given = await call("turn_wait", { turn: number, for: "message" });
    if (given === null || !("message_id" in given) || received.isOver) return null;
    received.seen.push(given.message_id);
    return harden(given) satisfies TurnMessage;
  });
  const plain = freezeClosures({ number, prompt, ...omitUndefined({ output_schema, effort, plan }), kept, messages });
  // Plain data of the host's.
  const parts = content === undefined ? {} : { content: harden(content) };
  // The signal is a live object with listeners: it must stay mutable.
  return Object.freeze({ ...plain, ...parts, signal: stop.signal as unknown as AbortSignal });
}

/** Gives one value for each question until there is no more. Leaving a loop ends nothing: a later loop goes on. */
function pulled<T>(next: () => Promise<T | null>): AsyncIterableIterator<T> {
  const iterator: AsyncIterableIterator<T> = {
    next: async () => {
      const value = await next();
      return value === null ? { done: true, value: undefined } : { done: false, value };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return freezeClosures(iterator);
}
