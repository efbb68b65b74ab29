import { rmSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  type CheckpointsOptions,
  type CheckpointStore,
  openCheckpoints,
} from "../../../core/records/checkpoints/checkpoint-store.ts";
import { type Fixture, makeFixture } from "../git/git-fixture.ts";

/** A folder of one test, and stores of its files. */
interface FolderWithStores {
  f: Fixture;
  place: { folder: string; conversation: string };
  open(options?: Partial<CheckpointsOptions>): Promise<CheckpointStore>;
}

/** Makes a folder, which goes with the test. */
export function folderWithStores({ repository = true } = {}): FolderWithStores {
  const f = makeFixture({ repository });
  const place = { folder: join(f.root, "checkpoints"), conversation: "c1" };
  const stores: CheckpointStore[] = [];
  onTestFinished(async () => {
    for (const store of stores) await store.close();
    rmSync(f.root, { recursive: true, force: true });
  });
  return {
    f,
    place,
    async open(options = {}) {
      const store = await openCheckpoints({ ...place, workdir: f.work, exclude: [], ...options });
      stores.push(store);
      return store;
    },
  };
}
