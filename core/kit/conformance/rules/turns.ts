import { canTalk } from "../../../sessions/session/enforceable.ts";
import type { Finding } from "../report.ts";
import { type Rule, skipped } from "../rule.ts";
import { saidOf } from "../report.ts";
import type { Seen, Take } from "../seen.ts";
import { type DeliveredAbility, deliveryOf, tries } from "../talk-deliveries.ts";
import { trialLimits } from "../trial-limits.ts";

/** Rules of adapters that take several turns in one entry, words into a turn, or the stop of one. */
export const turnRules: readonly Rule[] = [
  // What no session shows may not work.
  {
    id: "talk",
    title: "Each way to talk that the manifest accepts is shown by a session.",
    check: ofTalks("turns", (seen) => {
      const { manifest } = seen;
      const abilities = (Object.keys(deliveryOf) as DeliveredAbility[]).filter((ability) => canTalk(manifest, ability));
      const untried = abilities.filter((ability) => !tries(seen.talks, deliveryOf[ability]));
      const tried = abilities.filter((ability) => !untried.includes(ability));
      return [
        ...untried.map((ability) => ({ message: drift(ability, untriedText(ability)) })),
        ...tried.filter((ability) => !shows[ability](seen)).map((ability) => {
          return { message: drift(ability, unshownText[ability]) };
        }),
      ];
    }),
  },
  // The program lives on for this: a second turn costs no start-up.
  {
    id: "second-turn",
    title: "A further turn in the same entry ends as its first does.",
    check: ofTalks("turns", ({ talks }) => {
      const further = talks.flatMap(({ take }) => turnsOf(take).filter(({ turn, entry }) => turn > 1 && entry === 1));
      if (further.length === 0) return skipped("No session had a further turn in one entry.");
      return further.flatMap(({ take, turn, ended }) => {
        if (ended?.outcome === "completed") return [];
        const why = ended?.error === undefined ? "" : `\n${saidOf(ended.error)}`;
        return [{ message: `Turn ${turn} ended as ${ended?.stop_reason ?? "nothing"}.${why}`, session: take.session }];
      });
    }),
  },
  // Without a word on it the host cannot know whether the agent has seen it, and must drop it.
  {
    id: "messages",
    title: "Each message that the adapter asks for is taken or returned before the last word of its turn.",
    check: ofTalks("steer", ({ talks }) => {
      const sent = talks.flatMap(({ take }) => sentIn(take).map((id) => ({ take, id })));
      if (sent.length === 0) return skipped("No word into a turn was asked for.");
      return sent.filter(({ take, id }) => !isSettled(take, id)).map(({ take }) => ({
        message:
          "The adapter asked for a word into its turn, and said its last word before it was taken or returned. " +
          'Yield { type: "message", message_id, state } first: "taken" when the agent has it, else "returned".',
        session: take.session,
      }));
    }),
  },
  // The host ends a turn that goes on after its stop with the agent's program.
  {
    id: "stop-turn",
    title: "A stopped turn ends in time, and the same entry takes the next one.",
    check: ofTalks("stop_turn", ({ talks }) => {
      const stopped = talks.filter(({ messages, take }) =>
        tries([{ messages }], "interrupt") && take.stopped_ms !== null
      );
      if (stopped.length === 0) return skipped("No turn was stopped while it worked.");
      return stopped.flatMap(({ take }): Finding[] => {
        const next = turnsOf(take).find(({ turn }) => turn === 2);
        const { session } = take;
        if (next?.entry === 1 && next.ended?.outcome === "completed") return [];
        if (next?.entry === 1) return [{ message: "After a stopped turn the next one failed.", session }];
        const message = `A stopped turn still ran after ${trialLimits.agent_grace_ms} ms, or ended the entry. When ` +
          "turn.signal aborts, end the turn with a last word and ask ctx.turns for the next one.";
        return [{ message, session }];
      });
    }),
  },
  // Such an event belongs to no turn, or to the wrong one.
  {
    id: "turn-order",
    title: "No event of a turn comes after the adapter asked for the next one.",
    check: ofTalks("turns", ({ late }) => {
      if (late === null) return skipped("An adapter that reads its own package is not looked at from inside.");
      return [...new Set(late)].map((type) => ({
        message:
          `After it asked ctx.turns for the next turn, the adapter yields ${type}. Ask once the turn's last event ` +
          "is yielded; where the agent goes on by itself, yield turn_began first.",
      }));
    }),
  },
];

/** A check of sessions with messages, for adapters whose manifest accepts that way to talk. */
function ofTalks(ability: DeliveredAbility, check: Rule["check"]): Rule["check"] {
  return (seen) => {
    if (!canTalk(seen.manifest, ability)) return skipped(`The manifest does not accept ${ability}.`);
    if (seen.unscripted.length > 0) return skipped("Not every program is scripted.");
    return check(seen);
  };
}

const shows: Readonly<Record<DeliveredAbility, (seen: Seen) => boolean>> = {
  turns: ({ talks }) => talks.some(({ take }) => turnsOf(take).some(({ turn, entry }) => turn > 1 && entry === 1)),
  steer: ({ talks }) => talks.some(({ take }) => sentIn(take).length > 0),
  // An adapter without tools may be done before anyone can stop it.
  stop_turn: ({ talks, scripted }) => !scripted || talks.some(({ take }) => take.stopped_ms !== null),
};

const unshownText: Readonly<Record<DeliveredAbility, string>> = {
  turns: "its entry ended with the first turn. Ask ctx.turns for the next one after the last word.",
  steer: "no word into a turn was asked for. Read turn.messages while the turn works.",
  stop_turn: "every turn was over before it could be stopped. Let a scripted program or server wait in that session.",
};

function untriedText(ability: DeliveredAbility): string {
  return `no session of conformance.yaml shows it. Add one with messages: [{ text: ..., delivery: ${
    deliveryOf[ability]
  } }].`;
}

function drift(ability: DeliveredAbility, why: string): string {
  return `DRIFT: the manifest accepts ${ability}, and ${why}`;
}

interface SeenTurn {
  take: Take;
  turn: number;
  /** Number of the entry that it was given to. */
  entry: number;
  ended: Extract<Take["envelopes"][number]["event"], { type: "turn_ended" }> | null;
}

function turnsOf(take: Take): SeenTurn[] {
  const turns: SeenTurn[] = [];
  let entries = 0;
  for (const { event } of take.envelopes) {
    if (event.type === "turn_started") turns.push({ take, turn: event.turn, entry: Math.max(1, entries), ended: null });
    const last = turns.at(-1);
    if (event.type === "attempt_started") {
      entries++;
      // The entry begins for the turn that waits for it.
      if (last !== undefined && last.ended === null) last.entry = entries;
    }
    if (event.type === "turn_ended" && last?.turn === event.turn) last.ended = event;
  }
  return turns;
}

/** Ids of the messages that the adapter asked for. */
function sentIn({ envelopes }: Take): string[] {
  return envelopes.flatMap(({ event }) => (event.type === "message_sent" ? [event.message_id] : []));
}

function isSettled({ events }: Take, id: string): boolean {
  const settled = events.findIndex((event) =>
    event.type === "message" ? event.message_id === id : event.type === "turn_began" && event.message_ids.includes(id)
  );
  const end = events.findIndex(({ type }) => type === "completed" || type === "error");
  const [event] = events.slice(settled, settled + 1);
  // With turn_began the agent says, after its last word, that it goes on with the message.
  return settled !== -1 && (event?.type === "turn_began" || end === -1 || settled < end);
}
