import type { Limits } from "../../ground/config/limits.ts";
import type { ChildLedger } from "../../ground/runtime/child-ledger.ts";
import type { OsWallUses } from "../../ground/runtime/os-walls/os-wall.ts";
import type { Container, LaneTransport } from "./lane-transport.ts";
import { startProcessContainer } from "./process-container.ts";
import { wardenFile } from "./wall-files.ts";

/** What a warden is held to. Whatever differs in it makes another warden. */
export interface ContainerTerms {
  limits: Limits;
  osWalls: OsWallUses;
}

/** A warden that was started before it was known whose it will be. */
export interface SpareContainer {
  /** The warden for a plugin on the same terms; null for others, and when it has been taken. */
  take(terms: ContainerTerms): Promise<Container> | null;
  /** Ends it if nobody took it. */
  close(): Promise<void>;
}

/**
 * Starts a warden with its first worker thread, for whichever plugin comes first: both boot while the host opens its
 * journal and the plugin's script is looked for. Nothing of any plugin is in it until then.
 */
export function startSpareContainer(terms: ContainerTerms, { children }: { children: ChildLedger }): SpareContainer {
  let spare: Promise<Container> | null = startProcessContainer(wardenFile, { ...terms, children }).then(withLaneAhead);
  // Why it cannot be started is said by the next one, to whoever asks for it.
  spare.catch(() => {});
  const key = JSON.stringify(terms);
  const takeIt = () => {
    const taken = spare;
    spare = null;
    return taken;
  };
  return {
    take: (wanted) => JSON.stringify(wanted) === key ? takeIt() : null,
    close: async () => await (await takeIt()?.catch(() => null))?.close(),
  };
}

function withLaneAhead(container: Container): Container {
  let ahead: LaneTransport | null = container.openLane();
  return {
    pid: container.pid,
    ended: container.ended,
    get condemned() {
      return container.condemned;
    },
    openLane: () => {
      const lane = ahead ?? container.openLane();
      ahead = null;
      return lane;
    },
    close: () => container.close(),
  };
}
