import { openPins, type PinStore } from "../../sessions/host/state/pin-store.ts";
import { createHost } from "../../sessions/host/create-host.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { pinsFolder } from "../../sessions/host/state/state-folder.ts";
import { mkdir, rm } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { makeTemporaryFolder } from "../../ground/platform/files/temporary-folder.ts";

/** A host for trying plugins, in folders of its own; one can serve many plugins, one after another or at once. */
export interface KitHost extends AsyncDisposable {
  readonly host: Host;
  readonly pins: PinStore;
  /** Holds the folders of each plugin under trial. Real absolute path. */
  readonly root: string;
  /** Takes what adapters log; gives how to stop that. */
  onLog(pluginId: string, take: (record: LogRecord) => void): () => void;
}

/** Opens a host with nothing on it. */
export async function openKitHost(): Promise<KitHost> {
  const root = await makeTemporaryFolder("conformance");
  const stateDir = join(root, "state");
  await mkdir(stateDir);
  const takers = new Map<string, (record: LogRecord) => void>();
  const host = await createHost({
    stateDir,
    root,
    bundledDir: null,
    writeLog: (record) => takers.get(record.plugin_id ?? "")?.(record),
  }, { keyless: true }).catch(async (error: unknown) => {
    await rm(root, { recursive: true, force: true });
    throw error;
  });
  return {
    host,
    pins: openPins(join(stateDir, pinsFolder)),
    root,
    onLog(pluginId, take) {
      takers.set(pluginId, take);
      return () => void takers.delete(pluginId);
    },
    async [Symbol.asyncDispose]() {
      await host.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}
