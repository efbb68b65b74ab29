import type { TestRun } from "../../../../ground/checks/test-commands.ts";
import type { ComparedSession } from "../../../../sessions/host/compare-results.ts";
import type { Artifact } from "../../../../../plugin-sdk/result.ts";
import type { Workspace } from "../../../../../plugin-sdk/workspace.ts";

/** One agent of a comparison that has ended, with everything that is known about it. */
export interface ComparedAgent extends ComparedSession {
  /** The name in a heading; the same adapter may be there twice. */
  name: string;
  /** State of its worktree; undefined where there is none. */
  worktree: Workspace["state"] | undefined;
  answer: string;
  tests: readonly TestRun[];
  /** Files that differ from where all began; null where its worktree is gone. */
  files: readonly Artifact[] | null;
}

/** Whether an agent's changes wait for a decision. */
export function isOpen({ worktree, files }: ComparedAgent): boolean {
  return (worktree === "open" || worktree === "applying") && files !== null && files.length > 0;
}

/** A fact of each agent that can be the best. */
export type ComparedFact = "outcome" | "tests" | "duration_ms" | "cost" | "tokens" | "confidence";

/** Finds the agents that are best in a fact. Empty where it says nothing: one agent alone, all alike, or amounts that do not compare. */
export function bestIn(agents: readonly ComparedAgent[], fact: ComparedFact): ReadonlySet<string> {
  // An agent that failed early is cheap and fast, and no better for it.
  const judged = fact === "outcome" ? agents : agents.filter(({ outcome }) => outcome === "completed");
  const values = judged.flatMap((agent) => {
    const value = valueOf(agent, fact);
    return value === null ? [] : [{ id: agent.session_id, value }];
  });
  if (fact === "cost" && new Set(judged.map(({ currency }) => currency)).size > 1) return new Set();
  const most = Math.max(...values.map(({ value }) => value));
  const best = values.filter(({ value }) => value === most);
  // Tests that passed are better than none; one known amount is no better than unknown ones.
  const compares = fact === "tests" ? most === 1 && best.length < agents.length : best.length < values.length;
  return new Set(compares ? best.map(({ id }) => id) : []);
}

/** A fact as a number, the more the better. */
function valueOf(agent: ComparedAgent, fact: ComparedFact): number | null {
  if (fact === "outcome") return agent.outcome === "completed" ? 1 : 0;
  if (fact === "confidence") return agent.confidence;
  if (fact === "tests") {
    const last = agent.tests.findLast(({ passed }) => passed !== null);
    return last === undefined ? null : last.passed === true ? 1 : 0;
  }
  // Times that are shown alike are alike.
  if (fact === "duration_ms") {
    return agent.duration_ms < 1000 ? -agent.duration_ms : -Math.floor(agent.duration_ms / 1000) * 1000;
  }
  const amount = agent[fact];
  return amount === null ? null : -amount;
}

/** A file that an agent changed, and which agents left it alike. */
export interface ComparedFile {
  path: string;
  /** Agents with the same content, those that did not change it last. */
  groups: { isChanged: boolean; agents: ComparedAgent[] }[];
}

/** Puts the files of all agents together, those that differ first. */
export function comparedFiles(agents: readonly ComparedAgent[]): ComparedFile[] {
  const there = agents.filter(({ files }) => files !== null);
  const byAgent = new Map(there.map((agent) => [agent, new Map(agent.files?.map((file) => [file.path, file]))]));
  const paths = [...new Set(there.flatMap(({ files }) => files?.map(({ path }) => path) ?? []))];
  return paths.map((path) => {
    const groups = new Map<string, ComparedFile["groups"][number]>();
    for (const agent of there) {
      const file = byAgent.get(agent)?.get(path);
      const key = file === undefined ? "" : file.sha256 ?? `${file.change}`;
      const group = groups.get(key) ?? { isChanged: file !== undefined, agents: [] };
      group.agents.push(agent);
      groups.set(key, group);
    }
    return { path, groups: [...groups.values()].sort((a, b) => Number(b.isChanged) - Number(a.isChanged)) };
  }).sort((a, b) => Number(isSame(a)) - Number(isSame(b)) || (a.path < b.path ? -1 : 1));
}

/** Whether all agents left a file alike. */
export function isSame({ groups }: ComparedFile): boolean {
  return groups.length === 1;
}

/** Tells in words who left a file alike and who did not. */
export function relationText({ groups }: ComparedFile): string {
  const [first] = groups;
  if (groups.length === 1) return first?.agents.length === 1 ? `${first.agents[0]?.name} alone` : "all alike";
  return groups.map(({ agents, isChanged }, at) => {
    const names = agents.map(({ name }) => name);
    if (!isChanged) return `${names.join(", ")} left it`;
    if (names.length > 1) return names.join(" = ");
    return at === 0 || groups.filter((one) => one.isChanged).length === 1
      ? `${names[0]} changed it`
      : `${names[0]} differs`;
  }).join(", ");
}
