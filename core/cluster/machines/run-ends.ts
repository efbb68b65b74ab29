import { sleep } from "../../ground/platform/engine/wait.ts";
import type { Engine } from "../engine/engine.ts";
import type { Mirror } from "../log/mirror.ts";
import type { LostMachines } from "./lost-machines.ts";
import type { Presence } from "./presence.ts";

/** One run of a machine's daemon. */
export interface RunOf {
  machine: string;
  run: string;
}

interface RunEndsDeps {
  engine: Engine;
  own: RunOf;
  silentMs: number;
  presence: Pick<Presence, "present" | "silentMs">;
  mirror(machine: string): Mirror | undefined;
  lost: Pick<LostMachines, "write">;
}

/** How long the copy of a log may take to come to its end. Milliseconds. */
const readMs = 5000;

/** Whether a run begins no more sessions, and the copy here has all that it began. Takes the log that none has. */
export async function isRunOver({ machine, run }: RunOf, deps: RunEndsDeps): Promise<boolean> {
  const { engine, own, silentMs, presence, mirror, lost } = deps;
  if (machine === own.machine) return run !== own.run;
  const facts = presence.present(machine);
  if (facts?.run === run || (facts === null && presence.silentMs(machine) < silentMs)) return false;
  const copy = mirror(machine);
  // A machine writes its log before it takes sessions: without one it never did.
  if (copy === undefined) {
    return await engine.stream(engine.names.log(machine)).then((log) => log === null, () => false);
  }
  if (facts === null) return await lost.write(machine, () => Promise.resolve(true)).catch(() => false);
  const log = await engine.stream(engine.names.log(machine)).catch(() => null);
  for (const end = performance.now() + readMs; performance.now() < end; await sleep(10)) {
    if (log !== null && copy.position.seq >= log.lastSeq) return true;
  }
  return false;
}
