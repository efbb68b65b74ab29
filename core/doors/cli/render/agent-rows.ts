import type { QuotaWindow } from "../../../../plugin-sdk/access-modes.ts";
import type { AgentReport } from "../../../../plugin-sdk/agent-report.ts";
import { safeLine } from "./agent-text.ts";
import type { Tone } from "./paint.ts";
import { withLocalTimes } from "./quantities.ts";
import type { Row } from "./table.ts";

const tones: { readonly [A in AgentReport["availability"]]: Tone } = {
  available: "green",
  unavailable: "red",
  missing: "yellow",
  unrunnable: "red",
  incompatible: "red",
  unauthenticated: "yellow",
  rate_limited: "yellow",
  quota_exhausted: "yellow",
  disabled: "dim",
};

/** Leaves out agents that are off. One in quarantine stands first: the one that broke is the one that matters. */
export function enabledAgents(reports: readonly AgentReport[]): AgentReport[] {
  return brokenFirst(reports.filter(({ availability, quarantined }) => availability !== "disabled" || quarantined));
}

/** Puts the agents in quarantine first. */
export function brokenFirst(reports: readonly AgentReport[]): AgentReport[] {
  return reports.toSorted((a, b) => Number(b.quarantined ?? false) - Number(a.quarantined ?? false));
}

/** Titles of {@link agentRow}'s columns. */
export const agentHead: readonly string[] = ["agent", "state", "version", "access", "why"];

/** Formats agents as rows. A remedy of several, such as a wall that is missing, stands below the last of them alone. */
export function agentRows(reports: readonly AgentReport[]): Row[] {
  return reports.map((report, index) => {
    const { next_step } = report;
    const isShown = !reports.slice(index + 1).some((later) => later.next_step === next_step);
    return { ...agentRow(report), ...(isShown ? {} : { remedy: undefined }) };
  });
}

/** Formats one agent as a row of a table; the primary has a star. */
function agentRow(report: AgentReport): Row {
  const { id, primary, availability, quarantined = false, agent_version, access_mode, next_step } = report;
  const state = quarantined ? "quarantined" : availability.replaceAll("_", " ");
  const cells = [
    { text: primary ? `${id} *` : id, tone: primary ? "bold" : "plain" },
    {
      text: `${availability === "available" ? "✔" : "✘"} ${state}`,
      tone: quarantined ? "red" : tones[availability],
    },
    safeLine(agent_version ?? ""),
    access_mode?.type ?? "",
    { text: safeLine(withLocalTimes(whyOf(report))), tone: "dim" },
  ] as const;
  return { cells, remedy: next_step === undefined ? undefined : withLocalTimes(next_step) };
}

function whyOf({ reason, settings_of, tested, newer_than_tested, access_mode }: AgentReport): string {
  return [
    reason,
    ...(access_mode?.quota ?? []).map(quotaText),
    ...(settings_of === undefined ? [] : [`It has the settings of ${settings_of}.`]),
    ...(newer_than_tested === true ? [`It is newer than this plugin was tested with (${tested}).`] : []),
  ].join(" ");
}

/** Tells what the provider leaves: `Input tokens: 10 of 1000 left until 2026-01-31T12:00:00Z.` */
function quotaText({ name, limit, remaining, reset_at }: QuotaWindow): string {
  const words = name.replaceAll("_", " ");
  const left = remaining === null
    ? `at most ${limit}`
    : limit === null
    ? `${remaining} left`
    : `${remaining} of ${limit} left`;
  const until = reset_at === null ? "" : ` until ${reset_at.replace(/\.\d+/, "")}`;
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}: ${left}${until}.`;
}
