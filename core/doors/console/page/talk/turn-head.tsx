import type { Follows } from "../../../../../plugin-sdk/envelope.ts";
import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import type { UsageReport } from "../../../../../plugin-sdk/result.ts";
import { AttachedParts, partName } from "./attached-parts.tsx";
import { ClientName, durationText, OutcomeMark, Since } from "../parts.tsx";
import { useMay } from "../may.tsx";
import { addressOf } from "../route.ts";
import { clockOf } from "../rows/clock-text.ts";
import { plainText } from "../shown-text.ts";
import type { Talk } from "./talk.ts";
import type { SessionPart, ShownTurn } from "./talk-turns.ts";
import { fileCount } from "./turn-files.tsx";
import { LongText, Text } from "../text.tsx";

interface TurnHeadProps {
  talk: Talk;
  of: ShownTurn;
  isOpen: boolean;
  toggle: () => void;
  /** Whether its files are shown below it. */
  hasFiles: boolean;
  toggleFiles: () => void;
}

/**
 * The head of a turn: its number, prompt, who said it, how it ended, and what can be done with it. It opens and closes what the
 * agent did, and what differs in the files.
 */
export function TurnHead({ talk, of: turn, isOpen, toggle, hasFiles, toggleFiles }: TurnHeadProps) {
  return (
    <section class={`turn-head${isOpen ? " open" : ""}`} aria-label={`Turn ${turn.turn}`} data-turn={turn.turn}>
      <h2>
        <button type="button" class="plain turn-fold" aria-expanded={isOpen} onClick={toggle}>
          <span class="turn-mark" aria-hidden="true">›</span>
          <span class="turn-number">Turn {turn.turn}</span>
          {!isOpen && <span class="one-line">{titleOf(turn)}</span>}
        </button>
      </h2>
      <p class="turn-facts">
        <TurnEnd of={turn} />
        <time dateTime={turn.started_at} title={new Date(turn.started_at).toLocaleString()}>
          {clockOf(turn.started_at, null).minute}
        </time>
        {turn.client !== null && (
          <span>
            said by <ClientName of={turn.client} />
          </span>
        )}
        {talk.takenBack.value.get(turn.turn) === true && <span class="tag">Taken back</span>}
        <FilesButton of={turn} isShown={hasFiles} toggle={toggleFiles} />
        <TurnActs talk={talk} of={turn} />
      </p>
      {isOpen && (turn.prompt !== "" || turn.attached.length > 0) && (
        <div class="prompt">
          {turn.prompt !== "" && <LongText of={turn.prompt} class="prose" />}
          <AttachedParts of={turn.attached} />
        </div>
      )}
      {isOpen && turn.by === "agent" && <p class="quiet-line">The agent went on by itself.</p>}
    </section>
  );
}

/** Says how many files differ, and shows which. */
function FilesButton(
  { of: { turn, files }, isShown, toggle }: { of: ShownTurn; isShown: boolean; toggle: () => void },
) {
  const count = files === null ? null : fileCount(files);
  if (files === null || count === 0 || count === null && !files.isKept) return null;
  const text = count === null ? "files" : `${count.toLocaleString("en")} ${count === 1 ? "file" : "files"}`;
  return (
    <button type="button" class="more" aria-expanded={isShown} onClick={toggle}>
      {text}
      <span class="hidden">of turn {turn}</span>
    </button>
  );
}

/** Ways to go back to before a turn, or on from it in another conversation. */
function TurnActs({ talk, of: turn }: { talk: Talk; of: ShownTurn }) {
  const canRun = useMay("run");
  if (!canRun || turn.ended_at === null) return null;
  const wish = (kind: "rewind" | "fork") => () => void (talk.wish.value = { turn, kind });
  return (
    <span class="turn-acts">
      <button type="button" class="more" onClick={wish("fork")}>
        Fork …<span class="hidden">from turn {turn.turn}</span>
      </button>
      <button type="button" class="more" onClick={wish("rewind")}>
        Take back …<span class="hidden">turn {turn.turn}</span>
      </button>
    </span>
  );
}

function titleOf({ prompt, attached, by }: ShownTurn): string {
  if (prompt !== "") return plainText(prompt, 200);
  if (attached.length > 0) return attached.map(partName).join(", ");
  return by === "agent" ? "The agent went on by itself" : "";
}

function TurnEnd({ of: { outcome, stop_reason, started_at, ended_at, usage } }: { of: ShownTurn }) {
  if (outcome === null || stop_reason === null || ended_at === null) {
    return (
      <>
        <span class="tag tag-running">Working</span>
        <span>
          for <Since at={started_at} />
        </span>
      </>
    );
  }
  return (
    <>
      <OutcomeMark of={outcome} why={stop_reason} />
      <span>{durationText(Math.max(0, Date.parse(ended_at) - Date.parse(started_at)))}</span>
      {usage !== null && usage.cost !== null && <span>{costText(usage)}</span>}
    </>
  );
}

function costText({ cost, currency, basis }: UsageReport): string {
  return `${basis === "estimated" && cost !== 0 ? "≈ " : ""}${formatCost(cost ?? 0, currency)}`;
}

const reasons: Readonly<Record<Follows["why"], string>> = {
  message: "a message went on",
  restart: "the host was restarted",
  machine_lost: "its machine was lost",
  rewind: "it was taken back",
  fork: "it was forked",
  agent: "another agent goes on",
  terms: "its terms are others",
};

const memories: Readonly<Record<Follows["memory"], string>> = {
  agent: "The agent has its own memory of it.",
  briefing: "The agent got a summary of the turns before.",
  none: "The agent knows nothing of the turns before.",
};

/** The border between two sessions of a conversation. */
export function SessionHead(
  { of: { session_id, follows, adapter }, number }: { of: SessionPart; number: number },
) {
  return (
    <p class="divider session-head">
      <span>
        <a href={addressOf("sessions", session_id)}>Session {number}</a> · <Text of={plainText(adapter, 60)} />
        {follows !== null && `: ${reasons[follows.why] ?? follows.why}`}
        {follows !== null && <span class="quiet-line">{memories[follows.memory]}</span>}
      </span>
    </p>
  );
}
