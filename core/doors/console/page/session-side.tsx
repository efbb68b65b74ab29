import type { ComponentChildren } from "preact";
import { formatCost } from "../../../../plugin-sdk/currency.ts";
import { useEffect, useState } from "preact/hooks";
import type { Permissions } from "../../../../plugin-sdk/permissions.ts";
import type { SessionResult } from "../../../../plugin-sdk/result.ts";
import type { SessionHistory } from "../../../../plugin-sdk/session-history.ts";
import type { SessionSummary } from "../../../../plugin-sdk/session-summary.ts";
import { useConsole } from "./console-context.ts";
import { lineGroups } from "./api.ts";
import { figuresOf, type FiguresSoFar, withFigures } from "./session/figures-so-far.ts";
import { OwnBudget } from "./session/own-budget.tsx";
import { countText } from "./spend/count-text.ts";
import { PlanText } from "./session/plan-text.tsx";
import { HeldList } from "./held-item.tsx";
import { Artifacts } from "./host-event.tsx";
import { durationText, useLoaded } from "./parts.tsx";
import { About } from "./needs/about.tsx";
import { Answer } from "./needs/answer.tsx";
import { askedText } from "./needs/asked-text.ts";
import { readEvent, type ShownEvent } from "./shown-event.ts";
import { addressOf } from "./route.ts";
import { plainText } from "./shown-text.ts";
import { Text } from "./text.tsx";
import { UsageText } from "./usage-of.tsx";
import type { WaitingItem } from "../../http/waiting-item.ts";

/** A session as `GET /v1/sessions/{id}` shows it. */
export type WholeSession = SessionSummary & SessionHistory & { result: SessionResult | null };

type EventOf<T extends ShownEvent["event"]["type"]> = Extract<ShownEvent["event"], { type: T }>;

/** Latest facts of a session that its summary does not have. */
interface Facts {
  plan: EventOf<"plan"> | null;
  /** By the agent's word. */
  usage: FiguresSoFar | null;
  /** By the calls that the host saw. */
  calls: FiguresSoFar | null;
  denied: { seq: number; permission: string; target: string }[];
  allowed: number;
}

const none: Facts = { plan: null, usage: null, calls: null, denied: [], allowed: 0 };
/** How far back the facts of a long session are looked for. */
const farBack = 5000;
const mostDenied = 50;

/** Facts beside a timeline: requests, plan, files, usage, attempts, permissions. */
export function SessionSide({ session }: { session: WholeSession }) {
  const { waiting } = useConsole();
  const facts = useFacts(session.session_id, session.last_seq);
  const { result } = session;
  const open = waiting.items.value.filter(({ session_id, request_id }) =>
    session_id === session.session_id && request_id !== null
  );
  return (
    <aside class="side" aria-label="About this session">
      {open.map((item) => <Request key={item.id} of={item} />)}
      {facts.plan !== null && (
        <section class="side-part">
          <PlanText event={facts.plan} />
        </section>
      )}
      <Part title="Usage">
        <UsageAndBudget of={session} facts={facts} />
      </Part>
      {result !== null && (result.held !== undefined || result.install_scripts !== undefined) && (
        <Part title="Can run programs">
          <HeldList of={result.held ?? []} scripts={result.install_scripts ?? []} />
        </Part>
      )}
      {result !== null && (
        <Part title="Files">
          <Artifacts of={result.artifacts} reason={result.artifacts_reason} omitted={result.artifacts_omitted} />
        </Part>
      )}
      <Part title="Attempts">
        <Attempts of={session} />
      </Part>
      <Part title="Permissions">
        <Decisions of={session} facts={facts} />
      </Part>
      <Part title="Session">
        <Origin of={session} />
      </Part>
    </aside>
  );
}

function Request({ of: item }: { of: WaitingItem }) {
  return (
    <section class="side-part side-waiting">
      <h2>Waits for you</h2>
      <p>
        <Text of={askedText(item)} />
      </p>
      <About item={item} />
      <Answer item={item} />
    </section>
  );
}

function UsageAndBudget({ of: session, facts }: { of: WholeSession; facts: Facts }) {
  const { result, state } = session;
  return (
    <>
      {result !== null ? <UsageText of={result.usage} /> : <UsageSoFar of={facts} />}
      {result !== null && <OwnBudget effective={result.effective} spent={figuresOf(result.usage)} />}
      {state === "running" && <BudgetSoFar of={session} facts={facts} />}
    </>
  );
}

function UsageSoFar({ of: { usage, calls } }: { of: Facts }) {
  const shown = usage ?? calls;
  if (shown === null) return <p class="quiet-line">The agent has not said yet.</p>;
  const { tokens, cost, currency } = shown;
  return (
    <p>
      {tokens === null ? "tokens unknown" : `${countText(tokens)} tokens`}
      {cost !== null && ` · ${formatCost(cost, currency ?? "USD")}`}{" "}
      <span class="quiet-line">{usage === null ? "counted" : "reported"} so far</span>
    </p>
  );
}

/** The budget of a session that runs: its first event tells it. */
function BudgetSoFar({ of: { session_id: id, last_seq }, facts }: { of: WholeSession; facts: Facts }) {
  const { api } = useConsole();
  const [loaded] = useLoaded(async (signal) => {
    const path = `/v1/sessions/${encodeURIComponent(id)}/events`;
    for await (const [line] of lineGroups(await api.open(path, { limit: 1, follow: false }, signal))) {
      const { event } = line === undefined ? { event: null } : readEvent(line);
      if (event?.type === "session_started") return event.effective;
    }
    return null;
  }, [id]);
  const effective = loaded !== undefined && "value" in loaded ? loaded.value : null;
  if (effective === null) return null;
  const spent = effective.budget_basis === "wire" ? facts.calls : facts.usage;
  // Figures of a long session's begin were not read.
  const isLeast = spent?.isLeast === true || last_seq > farBack;
  return <OwnBudget effective={effective} spent={spent === null ? null : { ...spent, isLeast }} />;
}

/** Decisions of the broker, and the permissions in force. */
function Decisions({ of: { session_id, result, grants }, facts }: { of: WholeSession; facts: Facts }) {
  const uses = result?.metadata.permissions;
  const denied = uses === undefined ? facts.denied.length : uses.denied;
  const grant = grants.at(-1);
  return (
    <>
      <p>
        {uses === undefined ? facts.allowed : uses.allowed} allowed,{" "}
        {denied > 0 ? <b class="failed-text">{denied} denied</b> : "none denied"}
      </p>
      {facts.denied.length > 0 && (
        <ul class="plain-list">
          {facts.denied.map(({ seq, permission, target }) => (
            <li>
              <a href={addressOf("sessions", session_id, seq)}>{permission}</a>{" "}
              <code>
                <Text of={plainText(target, 200)} />
              </code>
            </li>
          ))}
        </ul>
      )}
      {grant !== undefined && (
        <details class="quiet">
          <summary>In force</summary>
          <PermissionList of={grant.permissions} />
        </details>
      )}
    </>
  );
}

function Origin({ of: { session_id, workdir, task_id, labels } }: { of: WholeSession }) {
  return (
    <dl class="facts">
      <dt>Id</dt>
      <dd>
        <code>{session_id}</code>
      </dd>
      <dt>Folder</dt>
      <dd>
        <code>
          <Text of={workdir} />
        </code>
      </dd>
      {task_id !== null && (
        <>
          <dt>Task</dt>
          <dd>
            <Text of={task_id} />
          </dd>
        </>
      )}
      {Object.entries(labels).map(([name, value]) => (
        <>
          <dt>
            <Text of={name} />
          </dt>
          <dd>
            <Text of={value} />
          </dd>
        </>
      ))}
    </dl>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="side-part">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Attempts({ of: { attempts, result } }: { of: WholeSession }) {
  if (attempts.length === 0) return <p class="quiet-line">None has begun.</p>;
  return (
    <ol class="plain-list">
      {attempts.map(({ attempt, adapter_id, started_at, ended_at, error_code }) => {
        const waited = result?.attempts.find((one) => one.attempt === attempt)?.waited_ms;
        return (
          <li>
            {attempt}. <b>{adapter_id}</b>{" "}
            {ended_at === null ? "" : durationText(Date.parse(ended_at) - Date.parse(started_at))}
            {waited !== undefined && waited > 0 && `, waited ${durationText(waited)}`}
            {error_code !== null && <span class="failed-text">&nbsp;{error_code}</span>}
          </li>
        );
      })}
      {result?.substitutions.map(({ from, to, reason }) => (
        <li class="quiet-line">
          {from} → {to}: <Text of={reason} />
        </li>
      ))}
    </ol>
  );
}

function PermissionList({ of: permissions }: { of: Permissions }) {
  const entries = Object.entries(permissions).filter(([, value]) => value !== undefined);
  if (entries.length === 0) return <p class="quiet-line">None.</p>;
  return (
    <dl class="facts">
      {entries.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>
            {(Array.isArray(value) ? value : [value]).map((one) => (
              <code class="target">
                <Text of={targetText(one)} />
              </code>
            ))}
          </dd>
        </>
      ))}
    </dl>
  );
}

function targetText(value: unknown): string {
  if (typeof value === "object" && value !== null) {
    if ("binary" in value) return String(value.binary);
    if ("name" in value) return String(value.name);
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

function useFacts(id: string, last: number): Facts {
  const { api, live } = useConsole();
  const [facts, setFacts] = useState(none);
  useEffect(() => {
    const over = new AbortController();
    setFacts(none);
    let newest = 0;
    /** New events that came before the earlier ones were read. */
    let early: ShownEvent[] | null = [];
    const take = (envelopes: readonly ShownEvent[]) => {
      const own = envelopes.filter(({ session_id, seq, event }) =>
        session_id === id && seq > newest && telling.has(event.type)
      );
      newest = own.at(-1)?.seq ?? newest;
      if (own.length > 0) setFacts((before) => own.reduce(withEvent, before));
    };
    const read = async () => {
      const query = new URLSearchParams([...telling].map((type) => ["type", type]));
      query.set("after", String(Math.max(0, last - farBack)));
      query.set("follow", "false");
      const response = await api.open(`/v1/sessions/${encodeURIComponent(id)}/events?${query}`, {}, over.signal);
      for await (const lines of lineGroups(response)) take(lines.map(readEvent));
    };
    const leave = live.subscribe((envelopes) => early === null ? take(envelopes) : void early.push(...envelopes));
    const takeEarly = () => {
      take(early ?? []);
      early = null;
    };
    read().then(takeEarly, takeEarly);
    return () => (leave(), over.abort());
  }, [id]);
  return facts;
}

const telling: ReadonlySet<string> = new Set(["plan", "usage", "model_call", "capability"]);

function withEvent(facts: Facts, { event, seq }: ShownEvent): Facts {
  if (event.type === "plan") return { ...facts, plan: event };
  if (event.type === "usage") {
    if (event.agent_id !== undefined) return facts;
    return { ...facts, usage: withFigures(event.scope === "session" ? null : facts.usage, event, event.partial) };
  }
  if (event.type === "model_call") {
    const isLeast = event.partial === true || event.cost === null && event.refused === undefined;
    return { ...facts, calls: withFigures(facts.calls, event, isLeast) };
  }
  if (event.type !== "capability") return facts;
  if (event.decision === "allowed") return { ...facts, allowed: facts.allowed + 1 };
  if (event.needed === false || facts.denied.length >= mostDenied) return facts;
  const { permission, target } = event;
  return { ...facts, denied: [...facts.denied, { seq, permission, target }] };
}
