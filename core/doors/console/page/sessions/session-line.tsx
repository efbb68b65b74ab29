import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import type { ListedFacts, SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { StandingMark } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { type Standing, standingOf } from "../session-list.ts";
import { plainText } from "../shown-text.ts";
import { ageText, runText } from "./age-text.ts";
import { Heartbeat } from "./heartbeat.tsx";
import { silenceOf, silentMs } from "./list-groups.ts";
import { queueText } from "./queue-text.ts";
import { folderName, shortPath } from "./short-path.ts";

/** Silence that is worth a word. Milliseconds. */
const quietMs = 60_000;

interface SessionLineProps {
  session: SessionSummary;
  now: number;
  queued: ReadonlySet<string>;
  isSelected: boolean;
  /** Absent: it cannot be selected. */
  select?: (() => void) | undefined;
}

/** One session in one line: how it stands, whose it is, what it does, and what that took. */
export function SessionLine({ session, now, queued, isSelected, select }: SessionLineProps) {
  const standing = standingOf(session, queued);
  const silence = silenceOf(session, { now, queued });
  const title = plainText(session.title, 200) || "(no prompt)";
  return (
    <li class={`session-row session-line is-${standing}${silence >= silentMs ? " is-silent" : ""}`}>
      <span class="line-pick">
        {select !== undefined && (
          <label>
            <input type="checkbox" checked={isSelected} onChange={select} />
            <span class="hidden">Select {title}</span>
          </label>
        )}
      </span>
      <StandingMark of={standing} short />
      <Agent of={session} />
      <a class="session-title" title={title} href={addressOf("sessions", session.session_id)}>{title}</a>
      {session.state === "running" && (
        <span class="line-beats">
          {session.facts !== undefined && session.facts.beats.length > 0 && <Heartbeat of={session.facts.beats} />}
        </span>
      )}
      <Step session={session} standing={standing} silence={silence} now={now} />
      <span class="line-folder" title={plainText(session.workdir, 1000)}>
        {session.workdir.includes("/workspaces/")
          ? folderName(shortPath(session.workdir))
          : folderName(session.workdir)}
      </span>
      <Plan of={session.facts?.plan ?? null} />
      <Lines of={session.facts?.lines ?? null} isRunning={session.state === "running"} />
      <Cost of={session.facts} />
      <Age session={session} now={now} />
    </li>
  );
}

/** The agent, and its model where that is known. */
function Agent({ of: { adapter_id, facts } }: { of: SessionSummary }) {
  const model = facts?.model === undefined ? null : plainText(facts.model, 60);
  return (
    <span class="line-agent" title={[adapter_id, model].filter((one) => one !== null).join(" · ") || undefined}>
      <b>{adapter_id ?? facts?.queued?.adapter_id ?? "no agent yet"}</b>{" "}
      {model !== null && <span class="line-model">{model}</span>}
    </span>
  );
}

interface StepProps {
  session: SessionSummary;
  standing: Standing;
  silence: number;
  now: number;
}

/** Tells what it does now, what it waits for, or why it ended. */
function Step({ session, standing, silence, now }: StepProps) {
  const asked = session.waiting[0];
  if (asked !== undefined) return <span class="line-step waits-for">{plainText(asked.text, 200)}</span>;
  if (session.state === "ended") {
    const isTold = standing === "failed" || standing === "blocked";
    return <span class="line-step why">{isTold && session.stop_reason?.replaceAll("_", " ")}</span>;
  }
  const queued = session.facts?.queued;
  if (queued !== undefined) return <span class="line-step">{plainText(queueText(queued), 200)}</span>;
  const step = session.facts?.step ?? null;
  return (
    <span class="line-step" title={step === null ? undefined : plainText(step.text, 200)}>
      {silence >= quietMs && <b class="silent">silent {ageText(silence)}</b>}
      {step !== null && <span class="one-line">{plainText(step.text, 200)}</span>}
      {step?.is_open === true && silence < quietMs && (
        <span class="line-clock">{runText(now - Date.parse(step.since))}</span>
      )}
    </span>
  );
}

function Plan({ of: plan }: { of: ListedFacts["plan"] }) {
  if (plan === null) return <span class="line-plan" />;
  return (
    <span class="line-plan" title={`Plan: ${plan.done} of ${plan.total} steps done`}>
      {plan.done}/{plan.total}
      <span class="plan-bar" aria-hidden="true">
        <span style={{ width: `${plan.done / plan.total * 100}%` }} />
      </span>
    </span>
  );
}

function Lines({ of: lines, isRunning }: { of: ListedFacts["lines"]; isRunning: boolean }) {
  if (lines === null) return <span class="line-lines" />;
  return (
    <span
      class="line-lines"
      title={isRunning ? "Lines that its edits add and remove" : "Lines that it added and removed"}
    >
      <span class="added">+{lines.added}</span> <span class="removed">−{lines.removed}</span>
    </span>
  );
}

function Cost({ of: facts }: { of: ListedFacts | undefined }) {
  const isKnown = facts !== undefined && facts.cost !== null;
  return <span class="line-cost">{isKnown && formatCost(facts.cost, facts.currency)}</span>;
}

function Age({ session: { started_at, ended_at, waiting }, now }: { session: SessionSummary; now: number }) {
  const until = waiting[0]?.answer_by;
  const left = until === undefined ? Infinity : Date.parse(until) - now;
  // A time limit of days is no news.
  const isNear = left < 24 * 3_600_000;
  return (
    <span class="line-age">
      <time class="line-began" dateTime={started_at} title={new Date(started_at).toLocaleString()}>
        {ageText(now - Date.parse(started_at))}
        {ended_at !== null && <span class="hidden">ago</span>}
        {isNear && " · "}
      </time>
      {isNear && <b class={left < 3_600_000 ? "soon" : undefined}>{left <= 0 ? "no time" : `${ageText(left)} left`}</b>}
    </span>
  );
}
