import { useEffect, useRef, useState } from "preact/hooks";
import type { ExplainedPlugin } from "../../../../../plugin-sdk/plugin-report.ts";
import { useConsole } from "../console-context.ts";
import { Command, Empty, Failed, Failure, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { Matrix } from "./matrix.tsx";
import { PluginPermissions } from "./plugin-permissions.tsx";
import { PluginTags } from "./plugin-tags.tsx";
import { type Clause, wallWords } from "./plugin-words.ts";
import { WallIcon } from "./wall-icon.tsx";

/** A plugin that was found but cannot be used. */
interface UnusablePlugin {
  id: string;
  error: { message: string };
}

/** Every plugin with what it may and may not do, in sentences; those that run first. */
export function Plugins({ open }: { open: string | null }) {
  const { api } = useConsole();
  const [changed, setChanged] = useState<ReadonlyMap<string, ExplainedPlugin>>(new Map());
  const explain = (id: string, signal?: AbortSignal) =>
    api.get<ExplainedPlugin>(`/v1/plugins/${encodeURIComponent(id)}`, {}, signal);
  const [loaded] = useLoaded(async (signal) => {
    const answer = await api.get<{ plugins: { id: string }[]; problems: UnusablePlugin[] }>("/v1/plugins", {}, signal);
    return { ...answer, plugins: await Promise.all(answer.plugins.map(({ id }) => explain(id, signal))) };
  }, []);
  if (loaded === undefined) return <p class="quiet-line">Reading the plugins …</p>;
  if ("failed" in loaded) return <Failed of={loaded.failed} />;
  // After a change one plugin is asked again: all of them would take seconds, in which the old state stood there.
  const again = async (id: string) => {
    const now = await explain(id);
    setChanged((before) => new Map([...before, [id, now]]));
  };
  const { problems } = loaded.value;
  const plugins = loaded.value.plugins.map((one) => changed.get(one.id) ?? one).toSorted(enabledFirst);
  return (
    <>
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
      <PluginList plugins={plugins} open={open} changed={again} />
    </>
  );
}

/** Plugins that can run stand above those that are off, those with a fault first, and those that ask for something. */
function enabledFirst(a: ExplainedPlugin, b: ExplainedPlugin): number {
  const weight = ({ enabled, quarantine, permissions }: ExplainedPlugin) =>
    4 * Number(enabled) + 2 * Number(quarantine?.quarantined_at != null) + Number(permissions.length > 0);
  return weight(b) - weight(a);
}

interface PluginListProps {
  plugins: readonly ExplainedPlugin[];
  /** Id of the plugin whose permissions are shown. */
  open: string | null;
  changed(id: string): Promise<void>;
}

function PluginList({ plugins, open, changed }: PluginListProps) {
  const [asTable, setAsTable] = useState(false);
  const [showsAll, setShowsAll] = useState(false);
  const off = plugins.filter(({ enabled, id }) => !enabled && id !== open);
  const isShort = off.length === 0 || off.length === plugins.length;
  const shown = showsAll || isShort ? plugins : plugins.filter((one) => !off.includes(one));
  return (
    <>
      <div class="wall-choices">
        <button type="button" class="chip" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          As a table
        </button>
        {!isShort && (
          <button type="button" class="chip" aria-pressed={showsAll} onClick={() => setShowsAll(!showsAll)}>
            {off.length} that are off
          </button>
        )}
      </div>
      {asTable ? <Matrix plugins={shown} open={open} /> : <PluginCards plugins={shown} open={open} changed={changed} />}
    </>
  );
}

function PluginCards({ plugins, open, changed }: PluginListProps) {
  const isBrief = (one: ExplainedPlugin) => isPlain(one) && one.id !== open;
  return (
    <>
      <ul class="wall-cards">
        {plugins.filter((one) => !isBrief(one)).map((one) => (
          <PluginCard
            key={one.id}
            of={one}
            isOpen={one.id === open}
            changed={() => changed(one.id)}
          />
        ))}
      </ul>
      <PlainPlugins of={plugins.filter(isBrief)} />
    </>
  );
}

/** Whether there is nothing to say of a plugin: it runs, and asks for nothing. */
function isPlain({ enabled, quarantine, blocked, permissions }: ExplainedPlugin): boolean {
  return enabled && quarantine?.quarantined_at == null && blocked === null &&
    permissions.every(({ permission }) => permission === "limits");
}

function PlainPlugins({ of: plugins }: { of: readonly ExplainedPlugin[] }) {
  if (plugins.length === 0) return null;
  return (
    <p class="plain-plugins">
      {plugins.map(({ id, name }, at) => (
        <>
          {at > 0 && ", "}
          <a key={id} href={addressOf("walls", "plugins", id)}>{plainText(name, 60)}</a>
        </>
      ))} {plugins.length === 1 ? "asks" : "ask"} for nothing, and may reach nothing outside{" "}
      {plugins.length === 1 ? "its" : "their"} walls.
    </p>
  );
}

function PluginCard(
  { of: plugin, isOpen, changed }: { of: ExplainedPlugin; isOpen: boolean; changed(): Promise<void> },
) {
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => void (isOpen && element.current?.scrollIntoView({ block: "start" })), [isOpen]);
  return (
    <li class={`wall-card${isOpen ? " current" : ""}`} ref={element}>
      <h2>
        <a
          href={isOpen ? addressOf("walls", "plugins") : addressOf("walls", "plugins", plugin.id)}
          aria-expanded={isOpen}
        >
          {plainText(plugin.name, 60)}
        </a>
        <PluginTags of={plugin} />
      </h2>
      <Sentences of={plugin} />
      {isOpen && <PluginPermissions plugin={plugin} changed={changed} />}
    </li>
  );
}

function Sentences({ of: { permissions, programs } }: { of: ExplainedPlugin }) {
  const { may, mayNot } = wallWords(permissions);
  const free = programs.filter(({ contained, program }) =>
    contained === "none" && permissions.some(({ binary, effective }) => binary === program && effective.length > 0)
  );
  const everything = permissions.find(({ breadth, effective }) => breadth === "everything" && effective.length > 0);
  return (
    <>
      {may.length === 0
        ? (
          <p class="wall-line">
            <b>May</b> <span>reach nothing outside its walls.</span>
          </p>
        )
        : <Line words="May" of={may} isRefused={false} />}
      {mayNot.length > 0 && <Line words="May not" of={mayNot} isRefused />}
      {free.length > 0 && (
        <p class="wall-line broad">
          <Text of={free.map(({ program }) => plainText(program, 60)).join(", ")} />{" "}
          {free.length === 1 ? "runs" : "run"} with all your rights.
        </p>
      )}
      {everything?.broad_because !== undefined && (
        <p class="wall-line broad">
          That amounts to everything: <Text of={everything.broad_because} />
        </p>
      )}
    </>
  );
}

/** Objects of a verb that a sentence names. */
const mostNamed = 4;

function Line({ words, of: clauses, isRefused }: { words: string; of: readonly Clause[]; isRefused: boolean }) {
  return (
    <p class={`wall-line${isRefused ? " wall-refused" : ""}`}>
      <b>{words}</b>{" "}
      <span>
        {clauses.map((clause, at) => (
          <ClauseText key={clause.verb} of={clause} end={at < clauses.length - 1 ? "; " : "."} />
        ))}
      </span>
    </p>
  );
}

function ClauseText({ of: { kind, verb, targets }, end }: { of: Clause; end: string }) {
  return (
    <>
      <WallIcon of={kind} /> {verb} {targets.slice(0, mostNamed).map((target, place) => (
        <>
          {place > 0 && ", "}
          <Target of={target} />
        </>
      ))}
      {targets.length > mostNamed && ` and ${targets.length - mostNamed} more`}
      {end}
    </>
  );
}

/** Words of our own stand as text, names from a manifest as code. */
function Target({ of: target }: { of: string }) {
  const text = plainText(target, 120);
  if (/^(the working folder|its own (data|package)|notes of its own)$/.test(text)) return <>{text}</>;
  return (
    <code>
      <Text of={text} />
    </code>
  );
}
