import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { benchHost } from "./bench-host.ts";
import { type Figure, quantile, timed } from "./measure.ts";

const folders = 500;
const filesEach = 100;

/** What a session pays for its artifacts in a working directory of 50,000 files; too long for a quick run. */
export async function artifacts({ quick }: { quick: boolean }): Promise<Figure[]> {
  if (quick) return [];
  await using bench = await benchHost("thread");
  const { host, workdir } = bench;
  for (let folder = 0; folder < folders; folder++) {
    const path = join(workdir, `folder-${folder}`);
    await mkdir(path);
    const files = Array.from(
      { length: filesEach },
      (_, n) => writeFile(join(path, `file-${n}.txt`), `${folder} ${n}\n`),
    );
    await Promise.all(files);
  }
  const session = async (wanted: "git" | "none") => {
    const started = await host.runSession({ workdir, prompt: "single 1", retry: "never" }, {
      adapter: "bench",
      artifacts: wanted,
    });
    const { outcome } = await started.result();
    if (outcome !== "completed") throw new Error(`A session ended as ${outcome}.`);
  };
  const cost = async () => {
    const costs: number[] = [];
    for (let round = 0; round < 3; round++) {
      costs.push(await timed(() => session("git")) - await timed(() => session("none")));
    }
    return quantile(costs, 0.5);
  };
  await session("none");
  const plain = await cost();
  const git = (...args: string[]) =>
    execFileSync("git", [
      "-c",
      "gc.auto=0",
      "-c",
      "maintenance.auto=false",
      "-c",
      "user.name=bench",
      "-c",
      "user.email=bench@localhost",
      ...args,
    ], {
      cwd: workdir,
      stdio: "ignore",
    });
  git("init");
  git("add", "-A");
  git("commit", "-q", "-m", "All files");
  return [
    { name: "artifacts.folder_of_50000", value: plain, unit: "ms" },
    { name: "artifacts.repository_of_50000", value: await cost(), unit: "ms" },
  ];
}
