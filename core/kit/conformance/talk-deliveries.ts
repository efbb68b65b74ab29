import type { TalkAbility } from "../../../plugin-sdk/manifest.ts";
import type { Delivery } from "../../../plugin-sdk/messages.ts";
import type { ScriptedSession } from "./script.ts";

/** The delivery of a message that shows each way to talk. */
export const deliveryOf: Readonly<Record<TalkAbility, Delivery>> = {
  turns: "queue",
  steer: "steer",
  stop_turn: "interrupt",
};

/** Returns whether one of the sessions has a message of that delivery. */
export function tries(sessions: readonly Pick<ScriptedSession, "messages">[], wanted: Delivery): boolean {
  return sessions.some(({ messages = [] }) => messages.some(({ delivery = "queue" }) => delivery === wanted));
}
