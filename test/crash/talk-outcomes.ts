import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { deliveries, type Delivery } from "../../plugin-sdk/messages.ts";

/** What a client knows of a call that it has made. */
export interface Asked {
  /** `accepted`: the host has acknowledged it. `unknown`: the connection broke first. */
  answer: "accepted" | "unknown" | "refused";
  /** When it began, and when its answer came; infinite where none did. Milliseconds. */
  began: number;
  ended: number;
}

/** What a client knows of a message that it has sent. */
export interface SentMessage extends Asked {
  id: string;
  delivery: Delivery;
  /** The changes of its text: the first one has version 2. Both clients may change it at once. */
  edits: Asked[];
  isWithdrawn: boolean;
}

/** Reasons that say that no agent has seen the message. */
const unseen = new Set(["withdrawn", "turn_failed", "session_ended", "host_restarted"]);

/**
 * What is wrong with a conversation that is over: a message without exactly one outcome, one that the agent's program saw
 * twice or against its outcome, and an order that is not, for each delivery, that of acceptance.
 * @param events of all its sessions, each session's in order
 * @param seen what the agent's programs have written, in order: `id:version`
 */
export function faultsOfTalk(
  events: readonly Envelope[],
  { sent, seen }: { sent: readonly SentMessage[]; seen: readonly string[] },
): string[] {
  const faults: string[] = [];
  const outcomes = new Map<string, string[]>();
  const order = new Map<string, number>();
  const mustBeSeen = new Set<string>();
  const add = (id: string, outcome: string) => outcomes.set(id, [...outcomes.get(id) ?? [], outcome]);
  const byNumber = [...events].sort((one, other) => one.gseq - other.gseq);
  for (const { event, gseq } of byNumber) {
    if (event.type === "session_started" && event.follows?.message !== undefined) {
      const { message_id } = event.follows.message;
      add(message_id, "delivered");
      if (!order.has(message_id)) order.set(message_id, gseq);
    }
    if (event.type === "message_accepted" && !order.has(event.message_id)) order.set(event.message_id, gseq);
    if (event.type === "message_delivered") {
      add(event.message_id, "delivered");
      if (event.how === "injected") mustBeSeen.add(event.message_id);
    }
    if (event.type === "message_dropped" && event.reason !== "moved") add(event.message_id, event.reason);
  }
  for (const { event } of byNumber) {
    if (event.type !== "turn_started") continue;
    const end = byNumber.find((one) => one.event.type === "turn_ended" && one.event.turn === event.turn);
    if (end?.event.type === "turn_ended" && end.event.outcome === "completed") {
      for (const id of event.message_ids) mustBeSeen.add(id);
    }
  }
  const versions = new Map<string, number>();
  for (const one of seen) {
    const [id, version] = one.split(":") as [string, string];
    if (versions.has(id)) faults.push(`${id} was seen twice`);
    versions.set(id, Number(version));
  }
  for (const message of sent) {
    const { id, answer, isWithdrawn } = message;
    const had = outcomes.get(id) ?? [];
    if (answer === "refused" && had.length > 0) faults.push(`${id} was refused and is ${had.join(", ")}`);
    const isKnown = answer === "accepted" || order.has(id);
    if (isKnown && had.length !== 1) faults.push(`${id} (${answer}) has ${had.length} outcomes: ${had.join(", ")}`);
    const at = versions.get(id);
    if (at === undefined && mustBeSeen.has(id)) faults.push(`${id} was delivered and never seen`);
    if (isWithdrawn && had[0] !== "withdrawn") faults.push(`${id} was withdrawn and is ${had.join(", ")}`);
    if (at === undefined) continue;
    if (had.some((outcome) => unseen.has(outcome))) faults.push(`${id} was seen and is ${had.join(", ")}`);
    const wrong = faultOfVersion(message, at);
    if (wrong !== null) faults.push(`${id} was seen as ${at}, ${wrong}`);
  }
  for (const delivery of deliveries) {
    const of = new Set(sent.filter((one) => one.delivery === delivery).map(({ id }) => id));
    const inOrder = [...versions.keys()].filter((id) => of.has(id));
    for (const [at, id] of inOrder.entries()) {
      const before = inOrder[at - 1];
      if (before !== undefined && order.get(before)! > order.get(id)!) faults.push(`${id} was seen after ${before}`);
    }
  }
  // The log of the sessions, for whoever looks for the cause.
  return faults.length === 0 ? [] : [...faults, ...byNumber.map(shortOf)];
}

/** What is wrong with the version of a text that the agent saw; null for one that it may have seen. */
function faultOfVersion(message: SentMessage, at: number): string | null {
  const versions: Asked[] = [message, ...message.edits];
  const shown = versions[at - 1];
  if (shown === undefined) return "which was never sent";
  if (at > 1 && shown.answer === "refused") return "which was refused";
  const later = versions.findIndex(({ answer, began }) => answer === "accepted" && began > shown.ended);
  return later < 0 ? null : `after version ${later + 1} was acknowledged`;
}

/** An event in one line. */
export function shortOf({ session_id, gseq, event }: Envelope): string {
  const { output: _, result: __, effective: ___, requested: ____, content: _____, ...rest } =
    event as unknown as Record<
      string,
      unknown
    >;
  return `${gseq} ${session_id.slice(0, 6)} ${JSON.stringify(rest).slice(0, 400)}`;
}
