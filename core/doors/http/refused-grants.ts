import { grantCommand } from "../../ground/config/grant-command.ts";
import type { PermissionUse } from "../../records/history/history-queries.ts";
import { Standings } from "./denied-uses.ts";
import type { ApiRouteDeps } from "./route.ts";
import type { PluginFacts } from "./plugin-facts.ts";
import { noRequest, type RefusedGrants, type WaitingItem } from "./waiting-item.ts";

/** Newest denials that are looked at, and how long one waits for a person. Milliseconds. */
const mostDenials = 500;
const recentMs = 7 * 24 * 3600 * 1000;

interface RefusedGrantsDeps {
  plugins: Pick<PluginFacts, "standing">;
  history: ApiRouteDeps["facts"]["history"];
}

/**
 * Lists what sessions were refused for want of a grant that would be enough now: an item for each plugin. Nothing where
 * the history cannot be read.
 */
export async function refusedGrants(
  enabled: readonly string[],
  { plugins, history }: RefusedGrantsDeps,
): Promise<WaitingItem[]> {
  const newest = { before: Number.MAX_SAFE_INTEGER, limit: mostDenials };
  const { uses } = await history.ask((queries) => ({ uses: queries.uses({ decision: "denied" }, newest) }))
    .catch(() => ({ uses: [] }));
  const since = new Date(Date.now() - recentMs).toISOString();
  const recent = uses.filter(({ at, event }) => at > since && event.needed !== false);
  const standings = new Standings(plugins);
  return enabled.flatMap((id) => {
    const grants = grantsOf(recent.filter(({ adapter_id }) => adapter_id === id), standings);
    return grants.length === 0 ? [] : [itemOf(id, grants)];
  });
}

type RefusedGrant = RefusedGrants["grants"][number];

function grantsOf(denied: readonly PermissionUse[], standings: Standings): RefusedGrant[] {
  const found = new Map<string, RefusedGrant & { in: Set<string> }>();
  for (const use of denied) {
    const { session_id, seq, at } = use;
    for (const { permission, target } of standings.of(use).grants) {
      const key = `${permission} ${target}`;
      // The newest comes first.
      const known = found.get(key) ??
        { permission, target, times: 0, sessions: 0, session_id, seq, at, in: new Set<string>() };
      known.times++;
      known.in.add(session_id);
      found.set(key, known);
    }
  }
  return [...found.values()].map(({ in: sessions, ...grant }) => ({ ...grant, sessions: sessions.size }))
    .sort((a, b) => b.times - a.times);
}

function itemOf(id: string, grants: RefusedGrant[]): WaitingItem {
  const [first] = grants;
  const newest = grants.reduce((last, { at }) => (at > last ? at : last), "");
  const input: RefusedGrants = { grants };
  const what = grants.length === 1 ? `${first!.permission}: ${first!.target}` : `${grants.length} permissions`;
  return {
    ...noRequest,
    kind: "grant",
    id: `grant ${id}`,
    at: newest,
    session_id: null,
    workdir: null,
    adapter_id: null,
    plugin_id: id,
    title: `${id} was refused ${what}`,
    text: "",
    // One line that grants all of it would be given without a look at each.
    command: grants.length === 1 ? grantCommand(id, first!.permission, first!) : null,
    input,
    hint: null,
  };
}
