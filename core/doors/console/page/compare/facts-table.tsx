import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import { durationText, OutcomeMark } from "../parts.tsx";
import { countText } from "../spend/count-text.ts";
import { TestMark } from "../review/said-and-tested.tsx";
import { addressOf } from "../route.ts";
import { MarkdownText } from "../rows/markdown-text.tsx";
import { Text } from "../text.tsx";
import { bestIn, type ComparedAgent, type ComparedFact, isOpen } from "./compared-agent.ts";

interface FactRow {
  title: string;
  /** Marks the agents that are best in it. */
  fact?: ComparedFact;
  show(agent: ComparedAgent): ComponentChildren;
  /** Its length in a bar beside it. */
  amount?(agent: ComparedAgent): number | null;
}

const rows: readonly FactRow[] = [
  {
    title: "Outcome",
    fact: "outcome",
    show: ({ outcome, stop_reason }) => <OutcomeMark of={outcome} why={stop_reason} />,
  },
  { title: "Tests", fact: "tests", show: (agent) => <LastTest of={agent} /> },
  {
    title: "Time",
    fact: "duration_ms",
    show: ({ duration_ms }) => durationText(duration_ms),
    amount: ({ duration_ms }) => duration_ms,
  },
  {
    title: "Cost",
    fact: "cost",
    show: ({ cost, currency }) => formatCost(cost, currency),
    amount: ({ cost }) => cost,
  },
  {
    title: "Tokens",
    fact: "tokens",
    show: ({ tokens }) => tokens === null ? "unknown" : countText(tokens),
    amount: ({ tokens }) => tokens,
  },
  {
    title: "Changed files",
    show: ({ files_changed }) => files_changed === null ? "unknown" : files_changed === 0 ? "none" : files_changed,
  },
  { title: "Lines", show: (agent) => <LineCount of={agent} /> },
  {
    title: "Confidence",
    fact: "confidence",
    show: ({ confidence, outcome }) =>
      confidence === null || outcome === "error" ? "not told" : `${Math.round(confidence * 100)} %`,
  },
  { title: "Answer", show: ({ answer }) => <Answer of={answer} /> },
];

/** Facts of each agent side by side, the best of each marked. */
export function FactsTable(
  { agents, children }: {
    agents: readonly ComparedAgent[];
    /** The ways to go on with an agent, below its facts. */
    children: (agent: ComparedAgent) => ComponentChildren;
  },
) {
  return (
    <div class="table-scroll compare-facts" tabIndex={0} role="region" aria-label="Facts of each agent">
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">Fact</span>
            </th>
            {agents.map((agent) => (
              <th scope="col" key={agent.session_id}>
                <AgentHead of={agent} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => <Row key={row.title} of={row} agents={agents} />)}
          <tr>
            <th scope="row">Go on</th>
            {agents.map((agent) => <td key={agent.session_id}>{children(agent)}</td>)}
          </tr>
        </tbody>
      </table>
    </div>
  );
}

function AgentHead({ of: agent }: { of: ComparedAgent }) {
  const { name, session_id, worktree, files_changed } = agent;
  return (
    <>
      <a href={addressOf("sessions", session_id)}>{name}</a>{" "}
      {worktree === "applied" && <span class="tag tag-grant">adopted</span>}
      {worktree === "discarded" && !!files_changed && <span class="tag">discarded</span>}
      {isOpen(agent) && <a class="quiet-link" href={addressOf("review", session_id)}>review</a>}
    </>
  );
}

function Row({ of: { title, fact, show, amount }, agents }: { of: FactRow; agents: readonly ComparedAgent[] }) {
  const best = fact === undefined ? new Set() : bestIn(agents, fact);
  const most = Math.max(0, ...agents.map((agent) => amount?.(agent) ?? 0));
  return (
    <tr>
      <th scope="row">{title}</th>
      {agents.map((agent) => {
        const own = amount?.(agent) ?? null;
        return (
          <td key={agent.session_id} class={best.has(agent.session_id) ? "best" : undefined}>
            {show(agent)} {best.has(agent.session_id) && <span class="best-mark">★ best</span>}
            {own !== null && most > 0 && <meter min={0} max={most} value={own} aria-hidden="true" />}
          </td>
        );
      })}
    </tr>
  );
}

function LastTest({ of: { session_id, tests } }: { of: ComparedAgent }) {
  const last = tests.findLast(({ passed }) => passed !== null) ?? tests.at(-1);
  if (last === undefined) return <span class="quiet-line">none ran</span>;
  return (
    <>
      <TestMark passed={last.passed} />{" "}
      <a href={addressOf("sessions", session_id, last.seq)}>
        <code>
          <Text of={last.command} />
        </code>
      </a>
      {last.counts !== null && (
        <span class="quiet-line">
          <Text of={last.counts} />
        </span>
      )}
    </>
  );
}

function LineCount({ of: { lines_added, lines_removed } }: { of: ComparedAgent }) {
  if (lines_added === null || lines_removed === null) return <>unknown</>;
  return (
    <>
      <span class="plus">+{lines_added.toLocaleString("en")}</span>{" "}
      <span class="minus">−{lines_removed.toLocaleString("en")}</span>
    </>
  );
}

/** Characters of an answer that are shown before more is asked for. */
const mostShown = 400;

function Answer({ of: answer }: { of: string }) {
  const [isWhole, setIsWhole] = useState(false);
  if (answer === "") return <span class="quiet-line">none</span>;
  const isLong = answer.length > mostShown || answer.split("\n").length > 8;
  return (
    <div class={isLong && !isWhole ? "answer said-cut" : "answer"}>
      <MarkdownText of={answer} />
      {isLong && (
        <button type="button" class="more" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? "Show less" : "Show all"}
        </button>
      )}
    </div>
  );
}
