import { useState } from "preact/hooks";
import type { AgentReport } from "../../../../../plugin-sdk/agent-report.ts";
import type { ExplainedPermission, ExplainedPlugin } from "../../../../../plugin-sdk/plugin-report.ts";
import { grantTarget } from "../../../../ground/config/grant-command.ts";
import { attempt, noticeOf, useConsole } from "../console-context.ts";
import { Choice, Command, Failure, toggled, useLoaded } from "../parts.tsx";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { isWhole } from "../walls/plugin-words.ts";
import { grantOf } from "../walls/plugin-permissions.tsx";
import { WantedText } from "../walls/wall-icon.tsx";

/** Grants above this number are seldom all wanted: none of them is chosen at first. */
const mostChosen = 8;

interface OffAgentProps {
  agent: AgentReport;
  /** Called once it is on. */
  enabled(): unknown;
}

/** An agent that is off, and the way to enable it with what it asks for. */
export function OffAgent({ agent: { id, name, reason }, enabled }: OffAgentProps) {
  const { canAdmin } = useConsole();
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li>
      <p class="off-head">
        <b>{plainText(name, 80)}</b> {id !== name && <code>{plainText(id, 80)}</code>}
        {reason !== "It is not enabled." && (
          <span class="quiet-line">
            <Text of={plainText(reason, 300)} />
          </span>
        )}
        <button type="button" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>Enable …</button>
      </p>
      {isOpen && (canAdmin ? <Asked id={id} enabled={enabled} /> : <EnableCommand id={id} />)}
    </li>
  );
}

/** Lists all that the agent asks for. A grant enables it: that is the host's one way to enable an agent from here. */
function Asked({ id, enabled }: { id: string; enabled: () => unknown }) {
  const { api } = useConsole();
  const [loaded] = useLoaded(
    (signal) => api.get<ExplainedPlugin>(`/v1/plugins/${encodeURIComponent(id)}`, {}, signal),
    [id],
  );
  if (loaded === undefined) return <p class="quiet-line" role="status">Reading what it asks for …</p>;
  if ("failed" in loaded) return <Failure {...noticeOf(loaded.failed)} />;
  const rows = loaded.value.permissions.filter((row) =>
    row.requested && !row.denied && row.permission !== "limits" && !isWhole(row)
  );
  if (rows.length === 0) return <EnableCommand id={id} />;
  return <Grants id={id} grants={grantsOf(rows)} enabled={enabled} />;
}

/** One grant that the agent asks for, with the rows of its permissions that need it. */
interface AskedGrant {
  permission: string;
  target: string;
  rows: ExplainedPermission[];
}

/** Puts the rows of one program together, as `bulkhead plugin enable` does: a grant of it allows them and no more. */
function grantsOf(rows: readonly ExplainedPermission[]): AskedGrant[] {
  const grants = new Map<string, AskedGrant>();
  for (const row of rows) {
    const permission = grantOf(row);
    const target = permission === "run" ? row.binary ?? row.target : grantTarget(row);
    const key = `${permission} ${target}`;
    grants.set(key, { permission, target, rows: [...grants.get(key)?.rows ?? [], row] });
  }
  return [...grants.values()];
}

interface GrantsProps {
  id: string;
  grants: readonly AskedGrant[];
  enabled(): unknown;
}

function Grants({ id, grants, enabled }: GrantsProps) {
  const [chosen, setChosen] = useState<ReadonlySet<AskedGrant>>(() =>
    new Set(grants.length > mostChosen ? [] : grants)
  );
  const { give, isBusy, isStillOff } = useEnabling(id, enabled);
  return (
    <div class="enable">
      <p>It asks for:</p>
      {grants.map((grant) => (
        <Choice is={chosen.has(grant)} choose={() => setChosen(toggled(chosen, grant))}>
          <GrantWords of={grant} />
        </Choice>
      ))}
      {chosen.size > 0 && !isStillOff
        ? (
          <button
            type="button"
            class="primary"
            disabled={isBusy}
            onClick={() => void give(grants.filter((grant) => chosen.has(grant)))}
          >
            Enable and grant {chosen.size}
          </button>
        )
        : <EnableCommand id={id} />}
    </div>
  );
}

function GrantWords({ of: { permission, target, rows } }: { of: AskedGrant }) {
  const parts = rows.flatMap((row) => row.target.startsWith(`${target} `) ? [row.target.slice(target.length + 1)] : []);
  const why = rows.find(({ broad_because }) => broad_because !== undefined)?.broad_because;
  return (
    <span>
      <WantedText of={{ permission, target }} />
      {parts.length > 0 && (
        <small>
          with <Text of={plainText(parts.join(", "), 600)} />
        </small>
      )}
      {why !== undefined && (
        <small class="broad">
          <Text of={why} />
        </small>
      )}
    </span>
  );
}

/** Gives the grants one after another, as a person at Walls does, and looks whether the agent is on then. */
function useEnabling(id: string, enabled: () => unknown) {
  const found = useConsole();
  const [isBusy, setIsBusy] = useState(false);
  const [isStillOff, setIsStillOff] = useState(false);
  const path = `/v1/plugins/${encodeURIComponent(id)}`;
  const give = async (grants: readonly AskedGrant[]) => {
    setIsBusy(true);
    await attempt(found, null, async () => {
      for (const { permission, target } of grants) {
        await found.api.send("POST", `${path}/grants`, { permission, target });
      }
      const { name, enabled: isOn } = await found.api.get<ExplainedPlugin>(path);
      // An entry that says "enabled: false" stays off, whatever it is granted.
      if (!isOn) return setIsStillOff(true);
      found.notice.value = { text: `${name} is enabled.`, isFailure: false };
      enabled();
    });
    setIsBusy(false);
  };
  return { give, isBusy, isStillOff };
}

/** The command that enables an agent without a grant. */
function EnableCommand({ id }: { id: string }) {
  return (
    <p class="quiet-line">
      Run it in a terminal, then look again: <Command text={`bulkhead plugin enable ${id}`} />
    </p>
  );
}
