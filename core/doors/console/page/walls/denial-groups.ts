import { readGrantCommand } from "../../../../ground/config/grant-command.ts";
import type { Denial, WantedGrant } from "./wall-facts.ts";

/** Like denials of one agent. */
export interface DeniedAgent {
  id: string;
  times: number;
  /** The newest of them. */
  newest: Denial;
}

/** Like denials of all agents. */
export interface DenialGroup extends WantedGrant {
  times: number;
  sessions: number;
  /** Those that were denied most first. */
  agents: DeniedAgent[];
  /** The newest of them. */
  newest: Denial;
}

/** Groups denials, the newest first, by what was denied. A file counts as the same in each worktree. */
export function groupDenials(denials: readonly Denial[]): DenialGroup[] {
  const groups = new Map<string, Denial[]>();
  for (const denial of denials) {
    const key = `${denial.permission} ${wordOf(denial)}`;
    groups.set(key, [...groups.get(key) ?? [], denial]);
  }
  return [...groups.values()].map((own) => {
    const newest = own[0]!;
    const agents = new Map<string, DeniedAgent>();
    for (const denial of own) {
      const known = agents.get(denial.adapter_id) ?? { id: denial.adapter_id, times: 0, newest: denial };
      agents.set(denial.adapter_id, { ...known, times: known.times + 1 });
    }
    return {
      permission: newest.permission,
      target: wordOf(newest),
      times: own.length,
      sessions: new Set(own.map(({ session_id }) => session_id)).size,
      agents: [...agents.values()].sort((a, b) => b.times - a.times),
      newest,
    };
  });
}

/** Target in the words of a grant: `workdir:package.json` rather than a path in some worktree. */
function wordOf({ permission, target, grant_command }: Denial): string {
  const word = readGrantCommand(grant_command ?? "")?.word ?? "";
  return word.startsWith(`${permission}:`) ? word.slice(permission.length + 1) : target;
}
