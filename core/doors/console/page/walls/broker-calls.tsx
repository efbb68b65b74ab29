import { useEffect, useState } from "preact/hooks";
import { useConsole } from "../console-context.ts";
import { Ago, Failed, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import type { ShownEvent } from "../shown-event.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import type { BrokerCall } from "./wall-facts.ts";

/** Calls that are shown; and the time between two looks of the eye, in milliseconds. */
const mostCalls = 30;
const lookMs = 250;
/** Characters of a path for which a row has room. */
const longestPath = 72;

/** Calls of plugins and agents as the broker decides them, the newest first. */
export function BrokerCalls() {
  const [calls, loaded] = useCalls();
  return (
    <section class="panel">
      {loaded === undefined && <p class="quiet-line">Reading the calls …</p>}
      {loaded !== undefined && "failed" in loaded && <Failed of={loaded.failed} />}
      {loaded !== undefined && "value" in loaded && calls.length === 0 && (
        <p class="quiet-line">
          No plugin has asked for a file, a program, a host or a variable yet. Calls appear here as they are decided.
        </p>
      )}
      {calls.length > 0 && <ul class="calls">{calls.map((call) => <Call key={call.gseq} of={call} />)}</ul>}
    </section>
  );
}

function Call({ of: { session_id, seq, at, adapter_id, permission, target, decision } }: { of: BrokerCall }) {
  return (
    <li class="call">
      <span class={`tag ${decision === "allowed" ? "tag-done" : "tag-failed"}`}>{decision}</span>
      <b>{permission}</b>
      <code class="one-line" title={plainText(target, 600)}>
        <Text of={plainText(endOf(target), 300)} />
      </code>
      <span class="quiet-line">{plainText(adapter_id, 40)}</span>
      <a href={addressOf("sessions", session_id, seq)}>
        <Ago at={at} />
      </a>
    </li>
  );
}

/** Returns the calls to show, and how reading the earlier ones went. */
function useCalls() {
  const { api, live } = useConsole();
  const [calls, setCalls] = useState<readonly BrokerCall[]>([]);
  const [loaded] = useLoaded(
    (signal) => api.get<{ calls: BrokerCall[] }>("/v1/calls", { limit: mostCalls }, signal),
    [live.opened.value],
  );
  useEffect(() => {
    if (loaded !== undefined && "value" in loaded) setCalls((before) => merged(before, loaded.value.calls));
  }, [loaded]);
  useEffect(() => {
    let held: BrokerCall[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = () => {
      timer = undefined;
      const fresh = held;
      held = [];
      setCalls((before) => merged(before, fresh));
    };
    const leave = live.subscribe((envelopes) => {
      const fresh = envelopes.flatMap(callOf);
      if (fresh.length === 0) return;
      held = [...held, ...fresh].slice(-mostCalls);
      timer ??= setTimeout(show, lookMs);
    });
    return () => (clearTimeout(timer), leave());
  }, []);
  return [calls, loaded] as const;
}

/** The end of a long path: that is by which files are told apart. */
function endOf(target: string): string {
  return target.startsWith("/") && target.length > longestPath ? `…${target.slice(-longestPath)}` : target;
}

function callOf({ event, session_id, seq, gseq, ts, adapter }: ShownEvent): BrokerCall[] {
  if (event.type !== "capability") return [];
  const { permission, target, decision } = event;
  return [{ session_id, seq, gseq, at: ts, adapter_id: adapter.id, permission, target, decision }];
}

function merged(before: readonly BrokerCall[], fresh: readonly BrokerCall[]): readonly BrokerCall[] {
  const byNumber = new Map([...before, ...fresh].map((call) => [call.gseq, call]));
  return [...byNumber.values()].sort((a, b) => b.gseq - a.gseq).slice(0, mostCalls);
}
