import { type Machine, until } from "./machine.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";

/** Events that clients were shown, by session: their text by number. */
export type Shown = Map<string, Map<number, string>>;

/** Starts a session that writes until it is stopped on each machine. */
export async function startTickers(machines: readonly Machine[]): Promise<Map<Machine, string>> {
  const started = await Promise.all(machines.map(async (machine) => {
    const { id } = await machine.host.start({ workdir: machine.workdir, prompt: "go" }, { adapter: "ticker" });
    return [machine, id] as const;
  }));
  return new Map(started);
}

/** Follows all events on every machine, as a client would; what it is shown was acknowledged. */
export function watch(machines: readonly Machine[], shown: Shown): { stop(): Promise<void> } {
  const over = new AbortController();
  const following = machines.map(async ({ host }) => {
    try {
      for await (const envelope of host.events({ signal: over.signal })) note(envelope, shown);
    } catch {
      // The machine was killed.
    }
  });
  return {
    stop: async () => {
      over.abort();
      await Promise.all(following);
    },
  };
}

function note({ session_id, seq, event }: Envelope, shown: Shown): void {
  const events = shown.get(session_id) ?? new Map<number, string>();
  shown.set(session_id, events);
  const text = JSON.stringify(event);
  const before = events.get(seq);
  if (before !== undefined && before !== text) {
    throw new Error(`Event ${seq} of ${session_id} was shown twice, differently.`);
  }
  events.set(seq, text);
}

/** Interrupts what still runs, each on another machine than its own. */
export async function endAll(machines: readonly Machine[], ids: ReadonlyMap<Machine, string>): Promise<void> {
  await Promise.all([...ids].map(async ([machine, id], at) => {
    const other = machines[(machines.indexOf(machine) + 1 + at % 2) % machines.length]!;
    await until("it can be ended", async () => {
      try {
        return (await (await other.host.open(id)).interrupt()) !== undefined;
      } catch {
        return false;
      }
    }, 60_000);
  }));
  await until("all have all ends", async () => {
    const states = await Promise.all(
      machines.flatMap(({ host }) =>
        [...ids.values()].map((id) => host.get(id).then(({ state }) => state, () => null))
      ),
    );
    return states.every((state) => state === "ended");
  }, 60_000);
}

/** Returns all events of a session that has ended, as a machine shows them. */
export async function eventsOn({ host }: Machine, sessionId: string): Promise<Envelope[]> {
  const events: Envelope[] = [];
  for await (const envelope of (await host.open(sessionId)).events()) events.push(envelope);
  return events;
}

/** Returns what is wrong with sessions: lost, doubled, in another order, or not the same on all machines. */
export async function faultsOf(
  ids: readonly string[],
  { machines, shown, round }: { machines: readonly Machine[]; shown: Shown; round: number },
): Promise<string[]> {
  const faults: string[] = [];
  for (const id of ids) {
    const told = await Promise.all(machines.map((machine) => eventsOn(machine, id)));
    const [first = []] = told;
    if (told.some((events) => JSON.stringify(events) !== JSON.stringify(first))) {
      faults.push(`round ${round}: ${id} differs`);
    }
    if (first.some(({ seq }, at) => seq !== at + 1)) faults.push(`round ${round}: ${id} has a gap or a double`);
    const ends = first.filter(({ event }) => event.type === "session_ended").length;
    if (ends !== 1 || first.at(-1)?.event.type !== "session_ended") {
      faults.push(`round ${round}: ${id} ended ${ends} times`);
    }
    for (const [seq, text] of shown.get(id) ?? []) {
      const kept = first[seq - 1];
      if (kept === undefined || JSON.stringify(kept.event) !== text) {
        faults.push(`round ${round}: ${id} lost event ${seq}`);
      }
    }
  }
  return faults;
}
