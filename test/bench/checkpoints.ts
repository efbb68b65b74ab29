import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadCore } from "./load-core.ts";
import { aimed, type Figure, quantile, timed } from "./measure.ts";

const rounds = 7;

interface Store {
  look(): Promise<unknown>;
  beginTurn(turn: number): Promise<unknown>;
  endTurn(claims: "all"): Promise<unknown>;
  close(): Promise<void>;
}

interface StoreModule {
  openCheckpoints(options: object): Promise<Store>;
}

interface SnapshotModule {
  takeSnapshot(workdir: string, options: object): Promise<object>;
  releaseSnapshot(snapshot: object): Promise<void>;
}

interface ArtifactsModule {
  listArtifacts(before: object): Promise<unknown>;
}

interface RepositoriesModule {
  KnownRepositories: new () => object;
}

/**
 * Looks of a conversation's store beside the snapshot and the list of artifacts of a session without one, in the same folder
 * and in turns: a look that finds nothing, a turn that changes five files and makes one, and the first of all.
 */
export async function checkpoints({ quick }: { quick: boolean }): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const files of quick ? [2000] : [2000, 20_000]) figures.push(...await figuresOf(files));
  return figures;
}

async function figuresOf(files: number): Promise<Figure[]> {
  const { openCheckpoints } = await loadCore<StoreModule>("records/checkpoints/checkpoint-store");
  const { releaseSnapshot, takeSnapshot } = await loadCore<SnapshotModule>("records/git/snapshot");
  const { listArtifacts } = await loadCore<ArtifactsModule>("records/git/artifacts");
  const { KnownRepositories } = await loadCore<RepositoriesModule>("records/git/known-repositories");
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-bench-")));
  try {
    const workdir = join(root, "work");
    await repository(workdir, files);
    // git trusts no entry of an index that is as new as its file.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    const known = new KnownRepositories();
    const scratchDir = join(root, "scratch");
    const times = new Map<string, number[]>();
    const time = async <T>(name: string, act: () => Promise<T>): Promise<T> => {
      let result: T | undefined;
      const ms = await timed(async () => void (result = await act()));
      times.set(name, [...times.get(name) ?? [], ms]);
      return result as T;
    };
    const snapshot = () => takeSnapshot(workdir, { scratchDir, known });
    await releaseSnapshot(await snapshot());
    for (let round = 0; round < rounds; round++) {
      await releaseSnapshot(await time("first_snapshot", snapshot));
      const place = { folder: join(root, "first"), conversation: `c${round}`, workdir, exclude: [], known };
      const first = await time("first_checkpoint", async () => {
        const opened = await openCheckpoints(place);
        await opened.beginTurn(1);
        return opened;
      });
      await change(workdir, round + 100);
      // An agent takes longer, and what the host does meanwhile costs no one time.
      await new Promise((resolve) => setTimeout(resolve, 500));
      await time("first_end", () => first.endTurn("all"));
      await first.close();
    }
    const store = await openCheckpoints({
      folder: join(root, "stores"),
      conversation: "c",
      workdir,
      exclude: [],
      known,
    });
    await store.look();
    for (let round = 0; round < rounds; round++) {
      const taken = await time("snapshot", snapshot);
      await time("look", () => store.beginTurn(round + 1));
      await change(workdir, round);
      await time("artifacts", () => listArtifacts(taken));
      await time("checkpoint", () => store.endTurn("all"));
      await releaseSnapshot(taken);
      // Its tidying is nobody's wait.
      await store.look();
    }
    await store.close();
    return report(files, (name) => quantile(times.get(name) ?? [], 0.5));
  } finally {
    await rm(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

function report(files: number, median: (name: string) => number): Figure[] {
  const names = ["snapshot", "look", "artifacts", "checkpoint", "first_snapshot", "first_checkpoint", "first_end"];
  const own = names.map((name): Figure => ({ name: `checkpoints.${files}.${name}`, value: median(name), unit: "ms" }));
  const ratio = (name: string, value: number): Figure => ({
    name: `checkpoints.${files}.${name}`,
    value,
    unit: "ratio",
  });
  const session = (median("first_checkpoint") + median("first_end")) / (median("first_snapshot") + median("artifacts"));
  return [
    ...own,
    aimed(ratio("look_to_snapshot", median("look") / median("snapshot")), { most: 1 }),
    aimed(ratio("checkpoint_to_artifacts", median("checkpoint") / median("artifacts")), { most: 1 }),
    aimed(ratio("session_of_one_turn", session), { most: 1 }),
  ];
}

async function change(workdir: string, round: number): Promise<void> {
  for (let file = 0; file < 5; file++) {
    await writeFile(join(workdir, `folder-${file}/file-1.txt`), `${round}\n`.repeat(9));
  }
  await writeFile(join(workdir, `folder-1/new-${round}.txt`), `${round}\n`);
}

async function repository(workdir: string, files: number): Promise<void> {
  for (let folder = 0; folder < files / 50; folder++) {
    const path = join(workdir, `folder-${folder}`);
    await mkdir(path, { recursive: true });
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => writeFile(join(path, `file-${n}.txt`), `${folder} ${n}\n`.repeat(20))),
    );
  }
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "gc.auto=0", ...args], { cwd: workdir, stdio: "ignore" });
  git("init", "-q");
  git("add", "-A");
  git("-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "All files");
}
