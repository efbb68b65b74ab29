import type { Limits } from "../../ground/config/limits.ts";
import type { ChildLedger } from "../../ground/platform/processes/child-ledger.ts";
import type { OsWallUses } from "../../ground/platform/os-walls/os-wall.ts";
import type { Container, LaneTransport } from "./lane-transport.ts";
import { startProcessContainer } from "./process-container.ts";
import { fileURLToPath } from "../../ground/platform/files/paths.ts";

/** Limits of a warden. A difference in any of them requires another warden. */
export interface ContainerOptions {
  limits: Limits;
  osWalls: OsWallUses;
}

/** A warden started before its plugin is known. */
export interface SpareContainer {
  /** The warden for a plugin on the same terms; null for others, and when it has been taken. */
  take(terms: ContainerOptions): Promise<Container> | null;
  /** Ends it unless it was taken. */
  close(): Promise<void>;
}

/** Starts a warden with its first worker thread, while the host opens its journal, for the first plugin in need. */
export function startSpareContainer(terms: ContainerOptions, { children }: { children: ChildLedger }): SpareContainer {
  let spare: Promise<Container> | null = startProcessContainer(wardenFile, { ...terms, children }).then(withLaneAhead);
  // Ignored: the next start fails in the same way and reports the reason to its caller.
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

// From the build this file is dist/core/walls/pool/*.js, from source core/walls/pool/*.ts: the bundles lie in
// dist/walls either way.
const folder = new URL(import.meta.url.endsWith(".ts") ? "../../../dist/walls/" : "../../../walls/", import.meta.url);

/** Path of the bundled warden. */
export const wardenFile: string = fileURLToPath(new URL("warden.js", folder));

/** Path of the bundled guest. */
export const guestFile: string = fileURLToPath(new URL("guest.js", folder));
