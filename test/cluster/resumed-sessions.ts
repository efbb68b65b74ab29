import { type Machine, until } from "./machine.ts";
import { eventsOn } from "./shown-events.ts";

/** Starts a session on a machine that asks to go on elsewhere: in a folder that all share, or in a repository. */
export async function startResumable(
  machine: Machine,
  { by, repository }: { by: Machine; repository: string | null },
): Promise<string> {
  const asks = { prompt: "go", resume: "after_restart" as const };
  const place = { machine: machine.name, repository: { url: `file://${repository}`, ref: "main" } };
  const { id } = repository === null
    ? await machine.host.start({ ...asks, workdir: machine.workdir }, { adapter: "ticker" })
    : await by.host.start({ ...asks, workdir: "part", place }, { adapter: "ticker" });
  return id;
}

/** Returns the session that goes on with a lost one, as its result names it; null where it names none. */
export async function nextOf(lost: string, on: Machine): Promise<string | null> {
  return (await (await on.host.open(lost)).result()).resumed_as ?? null;
}

/** Whether machines know a session. */
export async function isKnown(sessionId: string, machines: readonly Machine[]): Promise<boolean> {
  const known = await Promise.all(machines.map(({ host }) => host.get(sessionId).then(() => true, () => false)));
  return known.every(Boolean);
}

/** Interrupts the session that goes on with a lost one. */
export async function endNext(next: string, machines: readonly Machine[]): Promise<void> {
  await until("all know it", () => isKnown(next, machines), 60_000);
  await (await machines[0]!.host.open(next)).interrupt();
  await until("all have its end", async () => {
    const states = await Promise.all(machines.map(async ({ host }) => (await host.get(next)).state));
    return states.every((state) => state === "ended");
  }, 60_000);
}

/** Returns what is wrong with a lost session that asked to go on: it does once, under the id that its result names. */
export async function resumeFaults(
  lost: string,
  { machines, next, round }: { machines: readonly Machine[]; next: string | null; round: number },
): Promise<string[]> {
  const told = await Promise.all(machines.map(async (machine) => {
    const newest = await machine.host.list({ limit: 20 });
    const begins = await Promise.all(newest.map(async ({ session_id, state }) => {
      if (state === "running") return `${session_id} still runs`;
      const [first] = await eventsOn(machine, session_id);
      return first?.event.type === "session_started" && first.event.resumed_from === lost ? session_id : null;
    }));
    return begins.filter((id) => id !== null);
  }));
  return told.flatMap((ids, at) =>
    next !== null && ids.length === 1 && ids[0] === next
      ? []
      : [`round ${round}: ${machines[at]!.name} has "${ids.join(", ")}" go on with ${lost}, which names ${next}`]
  );
}
