import type { HeldChange } from "../../../plugin-sdk/held.ts";
import { exposeFolders } from "../../ground/recorded/expose-folders.ts";
import { readdir } from "../../ground/platform/files/files.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { shownHeld } from "../../records/gate/held-item.ts";
import { startLook } from "../../records/gate/known-entries.ts";
import { leftChanges } from "../../records/git/left-changes.ts";
import { takeSnapshot } from "../../records/git/snapshot.ts";
import { actedOnPlaces } from "../../sessions/host/state/acted-on.ts";
import { SessionGit } from "../../sessions/session/session-git.ts";
import { pluginPlaces } from "../../packages/manifest/find-plugins.ts";
import { createSessionBroker } from "../../walls/broker/broker.ts";
import type { SessionBroker, SessionBrokerOptions } from "../../walls/broker/session-broker.ts";

/** One contained session as a host has it: walls, git folders of its own, records of what hosts act on, and the gate. */
export interface WalledSession {
  broker: SessionBroker;
  /** Ends it; returns what it left in the project that can run programs, as a session's result names it. */
  end(): Promise<HeldChange[]>;
}

/**
 * Begins one in place. A host without any of that, such as an old one, ignores what its broker does not know.
 * @param options.state of its host
 */
export async function beginWalled(
  given: SessionBrokerOptions,
  { state, createBroker = createSessionBroker }: {
    state: string;
    createBroker?: ((options: SessionBrokerOptions) => SessionBroker) | undefined;
  },
): Promise<WalledSession> {
  const { workdir: top, sessionId } = given;
  const git = new SessionGit({
    sessionId,
    workdir: top,
    workspaceDir: null,
    gitDir: join(state, "git"),
    closed: [state],
    spelledRoots: [],
  });
  const [start, snapshot, plugins] = await Promise.all([
    startLook(top),
    takeSnapshot(top, { scratchDir: join(state, "looks", sessionId) }),
    pluginsOf(top),
  ]);
  const secretsFile = join(state, "secrets");
  const broker = createBroker({
    ...given,
    sealedPaths: [...given.sealedPaths ?? [], ...plugins],
    pluginPlaces: pluginPlaces(top),
    gitMounts: () => git.mounts(),
    expose: (folders) =>
      exposeFolders({
        id: randomId(),
        folders,
        actedOn: [
          ...actedOnPlaces(folders, { root: top, manifest: undefined, secretsFile, plugins: [], problems: [] }),
          ...plugins.map((path) => ({ path, kind: "plugin" as const })),
        ],
      }),
  });
  return {
    broker,
    end: async () => {
      await broker.close();
      await git.end();
      const { held } = await leftChanges({ top, start, snapshot, skip: [state] });
      return held.map(shownHeld);
    },
  };
}

/** Folders of plugins that the project has. */
async function pluginsOf(project: string): Promise<string[]> {
  const found = await Promise.all(
    pluginPlaces(project).map(async (place) => {
      const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(place, name));
    }),
  );
  return found.flat();
}
