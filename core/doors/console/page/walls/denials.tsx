import { useEffect } from "preact/hooks";
import { useConsole } from "../console-context.ts";
import { Ago, Failed, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { type DenialGroup, type DeniedAgent, groupDenials } from "./denial-groups.ts";
import { GrantActs } from "./grant-acts.tsx";
import type { Denial } from "./wall-facts.ts";
import { WantedText } from "./wall-icon.tsx";

/** Denials that are read. */
const mostDenials = 500;

interface DenialPage {
  denials: Denial[];
  next: number | null;
  indexed_to: number;
  last: number;
}

/** Denials, like ones together, with the grants that would allow them. */
export function Denials() {
  const [loaded, again] = useDenials();
  if (loaded === undefined) return <p class="quiet-line">Reading the denials …</p>;
  if ("failed" in loaded) return <Failed of={loaded.failed} />;
  const { denials, next } = loaded.value;
  const groups = groupDenials(denials);
  const isSettled = ({ agents }: DenialGroup) => agents.every(({ newest }) => newest.now === "allowed");
  const open = groups.filter((group) => !isSettled(group));
  const settled = groups.filter(isSettled);
  return (
    <>
      {groups.length === 0 && <p class="quiet-line">Nothing was denied.</p>}
      {groups.length > 0 && open.length === 0 && <p class="quiet-line">All that was denied is allowed now.</p>}
      <DenialList of={open} changed={again} />
      {settled.length > 0 && (
        <details class="quiet">
          <summary>{settled.length} allowed since</summary>
          <DenialList of={settled} changed={again} />
        </details>
      )}
      {next !== null && <p class="quiet-line">Counted over the newest {mostDenials} denials.</p>}
    </>
  );
}

/** The denials, read again after each new one and until the index has them. */
function useDenials() {
  const { api, live } = useConsole();
  const [loaded, again] = useLoaded((signal) => api.get<DenialPage>("/v1/denials", { limit: mostDenials }, signal), []);
  const isBehind = loaded !== undefined && "value" in loaded && loaded.value.indexed_to < loaded.value.last;
  useEffect(() => {
    if (!isBehind) return;
    const timer = setTimeout(again, 1000);
    return () => clearTimeout(timer);
  }, [loaded]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const leave = live.subscribe((envelopes) => {
      if (
        envelopes.some(({ event }) =>
          event.type === "capability" && event.decision === "denied" && event.needed !== false
        )
      ) {
        timer ??= setTimeout(() => (timer = undefined, again()), 500);
      }
    });
    return () => (clearTimeout(timer), leave());
  }, []);
  return [loaded, again] as const;
}

function DenialList({ of: groups, changed }: { of: readonly DenialGroup[]; changed(): void }) {
  return (
    <ul class="denials">
      {groups.map((group) => <Group key={`${group.permission} ${group.target}`} of={group} changed={changed} />)}
    </ul>
  );
}

function Group(
  { of: { permission, target, times, sessions, agents, newest }, changed }: { of: DenialGroup; changed(): void },
) {
  return (
    <li class="denial">
      <p class="denial-head">
        <WantedText of={{ permission, target }} />
        <span class="quiet-line">
          {countOf(times, "time")}, {countOf(agents.length, "agent")}, {countOf(sessions, "session")} ·{" "}
          <Ago at={newest.at} />
        </span>
      </p>
      <ul class="plain-list">
        {agents.map((agent) => <Agent key={agent.id} of={agent} changed={changed} />)}
      </ul>
    </li>
  );
}

function countOf(count: number, word: string): string {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

function Agent({ of: { id, times, newest }, changed }: { of: DeniedAgent; changed(): void }) {
  const { session_id, seq, now, grants, reason } = newest;
  const head = (
    <>
      <b>{plainText(id, 60)}</b>
      <a href={addressOf("sessions", session_id, seq)}>{countOf(times, "time")}</a>
    </>
  );
  const [only] = grants;
  if (now === "grantable" && grants.length === 1 && only !== undefined) {
    return (
      <li>
        <GrantActs pluginId={id} grant={only} head={head} changed={changed} />
      </li>
    );
  }
  return (
    <li>
      <div class="permission">
        {head}
        {now === "allowed" && <span class="tag tag-done">allowed now</span>}
        {now === "refused" && (
          <span class="quiet-line">
            <Text of={plainText(reason, 300)} />
          </span>
        )}
      </div>
      {grants.map((grant) => <GrantActs key={grant.target} pluginId={id} grant={grant} changed={changed} />)}
    </li>
  );
}
