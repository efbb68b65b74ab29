import type { TalkAbility } from "../../../plugin-sdk/manifest.ts";
import type { Delivery } from "../../../plugin-sdk/messages.ts";
import type { ScriptedSession } from "./script.ts";

/** A way to talk that a message shows by its delivery. */
export type DeliveredAbility = Exclude<TalkAbility, "images" | "files">;

/** The delivery of a message that shows each way to talk. */
export const deliveryOf: Readonly<Record<DeliveredAbility, Delivery>> = {
  turns: "queue",
  steer: "steer",
  stop_turn: "interrupt",
};

/** Returns whether one of the sessions has a message of that delivery. */
export function tries(sessions: readonly Pick<ScriptedSession, "messages">[], wanted: Delivery): boolean {
  return sessions.some(({ messages = [] }) => messages.some(({ delivery = "queue" }) => delivery === wanted));
}
