import type { ConversationReport, ConversationTurn } from "../../../../../plugin-sdk/conversation.ts";
import { Ago } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { isReview } from "./comment-prompt.ts";

/** The rounds of a review: all changes, and those of each turn of its conversation. */
export function Rounds(
  { id, talk: { turns }, round }: { id: string; talk: ConversationReport; round: number | null },
) {
  if (turns.length < 2) return null;
  return (
    <nav class="rounds" aria-label="Rounds">
      <a class="round" href={addressOf("review", id)} aria-current={round === null ? "page" : undefined}>
        <b>All changes</b>
        <span class="quiet-line">of {turns.length} rounds</span>
      </a>
      {turns.map((turn) => (
        <a
          key={turn.turn}
          class="round"
          href={addressOf("review", id, turn.turn)}
          aria-current={round === turn.turn ? "page" : undefined}
        >
          <b>Round {turn.turn}</b> <span>{isReview(turn.title) ? "your review" : plainText(turn.title, 60)}</span>
          <span class="quiet-line">
            <RoundState of={turn} />
          </span>
        </a>
      ))}
    </nav>
  );
}

function RoundState({ of: { outcome, started_at, ended_at } }: { of: ConversationTurn }) {
  if (ended_at === null) {
    return (
      <>
        works since <Ago at={started_at} />
      </>
    );
  }
  const words = outcome === "completed" ? "done" : outcome === "blocked" ? "blocked" : "failed";
  return (
    <>
      {words} <Ago at={ended_at} />
    </>
  );
}

/** Links between a round and those beside it, above its changes. */
export function RoundHead(
  { id, talk: { turns }, round }: { id: string; talk: ConversationReport; round: number },
) {
  const turn = turns.find((one) => one.turn === round);
  if (turn === undefined) return null;
  return (
    <p class="quiet-line">
      The changes {round === 1 ? "of round 1" : `between round ${round - 1} and round ${round}`}, by{" "}
      <a href={addressOf("sessions", turn.session_id)}>
        {isReview(turn.title) ? "your review" : plainText(turn.title, 120)}
      </a>. <a href={addressOf("review", id)}>All changes</a>
    </p>
  );
}
