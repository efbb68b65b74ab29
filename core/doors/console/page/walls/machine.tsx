import { useEffect, useState } from "preact/hooks";
import { useConsole } from "../console-context.ts";
import { Ago, Command, Failed, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import type { ActiveWalls } from "./wall-facts.ts";

/** The walls of this machine, by the names of `bulkhead doctor`, and the programs behind them now. */
export function Machine() {
  const { api } = useConsole();
  const [round, setRound] = useState(0);
  const [loaded] = useLoaded((signal) => api.get<ActiveWalls>("/v1/walls", {}, signal), [round]);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setRound((count) => count + 1), 3000);
    return () => clearInterval(timer);
  }, []);
  return (
    <section class="panel">
      <p class="quiet-line">
        The same as <Command text="bulkhead doctor" /> tells.
      </p>
      {loaded === undefined && <p class="quiet-line">Looking at the machine …</p>}
      {loaded !== undefined && "failed" in loaded && <Failed of={loaded.failed} />}
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
      <h2>Programs that run behind them now</h2>
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
