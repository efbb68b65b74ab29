import { useEffect, useState } from "preact/hooks";
import { BrokerCalls } from "../broker-calls.tsx";
import { noticeOf, useConsole } from "../console-context.ts";
import { Ago, Command, Empty, Failure, Screen, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { PluginPermissions } from "../plugin-permissions.tsx";
import type { ExplainedPlugin } from "../../../../../plugin-sdk/plugin-report.ts";
import { type ActiveWalls, type Denial, permissionNames } from "../wall-facts.ts";

/** Plugins against permissions, what is refused, and the walls of this machine. */
export function Walls({ plugin }: { plugin: string | null }) {
  const { api } = useConsole();
  const [plugins, again] = useLoaded(async (signal) => {
    const { plugins, problems } = await api.get<Pick<WallsOfProps, "plugins" | "problems">>("/v1/plugins", {}, signal);
    const explained = await Promise.all(
      plugins.map(({ id }) => api.get<ExplainedPlugin>(`/v1/plugins/${encodeURIComponent(id)}`, {}, signal)),
    );
    return { plugins: explained, problems };
  }, []);
  if (plugins === undefined) {
    return (
      <Screen title="Walls">
        <p class="quiet-line">Reading the plugins …</p>
      </Screen>
    );
  }
  if ("failed" in plugins) {
    return (
      <Screen title="Walls">
        <Failure {...noticeOf(plugins.failed)} />
      </Screen>
    );
  }
  return <WallsOf {...plugins.value} open={plugin} changed={again} />;
}

/** A plugin that was found but cannot be used. */
interface UnusablePlugin {
  id: string;
  error: { message: string };
}

interface WallsOfProps {
  plugins: ExplainedPlugin[];
  problems: UnusablePlugin[];
  /** Id of the plugin whose permissions are shown. */
  open: string | null;
  changed(): void;
}

function WallsOf({ plugins, problems, open, changed }: WallsOfProps) {
  const plugin = plugins.find(({ id }) => id === open);
  return (
    <Screen title="Walls" lead="What each plugin may do, what it was refused, and what holds it">
      {plugins.length === 0 && (
        <Empty title="No plugin">
          <p>
            Install one: <Command text="bulkhead plugin add <package>" />
          </p>
        </Empty>
      )}
      {problems.map(({ id, error }) => (
        <Failure text={`${plainText(id, 80)} cannot be used: ${plainText(error.message, 300)}`} />
      ))}
      {plugin !== undefined && <PluginPermissions key={plugin.id} plugin={plugin} changed={changed} />}
      <Matrix plugins={plugins.toSorted(enabledFirst)} open={open} />
      <Denials />
      <BrokerCalls />
      <Machine />
    </Screen>
  );
}

function Matrix({ plugins, open }: { plugins: readonly ExplainedPlugin[]; open: string | null }) {
  const [showsAll, setShowsAll] = useState(false);
  const off = plugins.filter(({ enabled, id }) => !enabled && id !== open);
  const shown = showsAll || off.length === plugins.length ? plugins : plugins.filter((one) => !off.includes(one));
  return (
    <>
      <div class="matrix-head">
        <p class="legend">
          <span class="cell cell-given">1</span> allowed
          <span class="cell cell-missing">1</span> asked for, not granted
          <span class="cell cell-denied">1</span> denied
        </p>
        {off.length > 0 && off.length < plugins.length && (
          <button
            type="button"
            class="more"
            aria-expanded={showsAll}
            onClick={() => setShowsAll(!showsAll)}
          >
            {showsAll ? "Hide those that are off" : `Show ${off.length} that are off`}
          </button>
        )}
      </div>
      <MatrixTable plugins={shown} open={open} />
    </>
  );
}

function MatrixTable({ plugins, open }: { plugins: readonly ExplainedPlugin[]; open: string | null }) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Plugins and permissions">
      <table class="matrix">
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            {permissionNames.map((name) => <th scope="col">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {plugins.map((plugin) => (
            <tr class={plugin.id === open ? "current" : ""}>
              <th scope="row">
                <a href={addressOf("walls", plugin.id)}>{plainText(plugin.name, 60)}</a>
                {plugin.quarantine?.quarantined_at != null && <span class="tag tag-failed">in quarantine</span>}
                {plugin.blocked !== null && <span class="tag tag-failed">blocked</span>}
                {!plugin.enabled && <span class="tag">off</span>}
              </th>
              {permissionNames.map((name) => <Cell plugin={plugin} name={name} />)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Plugins that can run stand above those that are off, and those that ask for something first. */
function enabledFirst(a: ExplainedPlugin, b: ExplainedPlugin): number {
  const weight = ({ enabled, permissions }: ExplainedPlugin) => 2 * Number(enabled) + Number(permissions.length > 0);
  return weight(b) - weight(a);
}

function Cell({ plugin, name }: { plugin: ExplainedPlugin; name: string }) {
  const rows = plugin.permissions.filter(({ permission }) => permission === name);
  const given = rows.filter(({ effective }) => effective.length > 0);
  const missing = rows.filter(({ requested, granted, denied }) => requested && !granted && !denied);
  const denied = rows.filter((row) => row.denied);
  const title = rows.map(({ target, effective, why }) =>
    `${effective.length > 0 ? "allowed" : "not allowed"}: ${target}. ${why}`
  ).join("\n");
  if (rows.length === 0) {
    return (
      <td class="cell-none">
        <span class="hidden">not asked for</span>
      </td>
    );
  }
  return (
    <td title={plainText(title, 600)}>
      {given.length > 0 && (
        <span class="cell cell-given">
          {given.length}
          <span class="hidden">allowed</span>
        </span>
      )}
      {missing.length > 0 && (
        <span class="cell cell-missing">
          {missing.length}
          <span class="hidden">not granted</span>
        </span>
      )}
      {denied.length > 0 && (
        <span class="cell cell-denied">
          {denied.length}
          <span class="hidden">denied</span>
        </span>
      )}
    </td>
  );
}

function Denials() {
  const { api, live } = useConsole();
  const [loaded, again] = useLoaded(
    (signal) => api.get<{ denials: Denial[]; indexed_to: number; last: number }>("/v1/denials", { limit: 100 }, signal),
    [],
  );
  // The index follows the events a moment later.
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
  return (
    <section class="panel">
      <h2>Denials</h2>
      {loaded !== undefined && "failed" in loaded && <Failure {...noticeOf(loaded.failed)} />}
      {loaded !== undefined && "value" in loaded && (loaded.value.denials.length === 0
        ? <p class="quiet-line">Nothing was denied.</p>
        : (
          <ul class="plain-list denials">
            {loaded.value.denials.map((denial) => <DenialItem of={denial} />)}
          </ul>
        ))}
    </section>
  );
}

function DenialItem({ of: denial }: { of: Denial }) {
  return (
    <li>
      <p class="call">
        <span class="tag tag-failed">denied</span>
        <b>{denial.permission}</b>
        <code title={plainText(denial.target, 600)}>
          <Text of={plainText(denial.target, 300)} />
        </code>
        <span class="quiet-line">{plainText(denial.adapter_id, 40)}</span>
        <a href={addressOf("sessions", denial.session_id, denial.seq)}>
          <Ago at={denial.at} />
        </a>
      </p>
      {denial.reason != null && (
        <p class="quiet-line">
          <Text of={denial.reason} />
        </p>
      )}
      {denial.grant_command != null && (
        <p class="quiet-line">
          {denial.grantable === false ? "Then grant it:" : "This would allow it:"}{" "}
          <Command text={plainText(denial.grant_command, 400)} />
        </p>
      )}
    </li>
  );
}

function Machine() {
  const { api } = useConsole();
  const [round, setRound] = useState(0);
  const [loaded] = useLoaded((signal) => api.get<ActiveWalls>("/v1/walls", {}, signal), [round]);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setRound((count) => count + 1), 3000);
    return () => clearInterval(timer);
  }, []);
  return (
    <section class="panel">
      <h2>This machine</h2>
      {loaded !== undefined && "failed" in loaded && <Failure {...noticeOf(loaded.failed)} />}
      {loaded !== undefined && "value" in loaded && <MachineFacts of={loaded.value} />}
    </section>
  );
}

function MachineFacts({ of: { walls, programs } }: { of: ActiveWalls }) {
  return (
    <>
      <ul class="plain-list wall-list">
        {walls.map(({ name, state, text }) => (
          <li>
            <span class={`tag ${state === "active" ? "tag-done" : "tag-failed"}`}>{state}</span> <b>{name}</b>{" "}
            <span class="quiet-line">{text}</span>
          </li>
        ))}
      </ul>
      <h3>Programs that run behind them now</h3>
      {programs.length === 0 ? <p class="quiet-line">None.</p> : (
        <ul class="plain-list">
          {programs.map(({ session_id, plugin_id, program, pid, started_at }) => (
            <li>
              <b>{plugin_id}</b>{" "}
              <code>
                <Text of={plainText(program, 200)} />
              </code>{" "}
              process {pid}, <a href={addressOf("sessions", session_id)}>session {session_id.slice(0, 8)}</a>,{" "}
              <Ago at={started_at} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
