import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createHost, type Host, type Limits, loadHostManifest, type SessionHandle } from "bulkhead";

/** How the benched plugin is contained. */
export type Isolation = "thread" | "process";

/** The benched plugin's folder; benches are run from the package's root. */
export const adapterFolder = join(process.cwd(), "test/bench/adapter");

/** A host with the benched plugin, and a folder to work in. */
export interface BenchHost extends AsyncDisposable {
  host: Host;
  workdir: string;
  start(prompt: string): Promise<SessionHandle>;
}

/** Makes a host of its own with empty state. */
export async function benchHost(
  isolation: Isolation,
  { limits = {}, sync = "normal", lines = "" }: {
    limits?: Partial<Limits>;
    sync?: "full" | "normal";
    /** More of the host manifest. */
    lines?: string;
  } = {},
): Promise<BenchHost> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  const workdir = join(folder, "work");
  await mkdir(workdir);
  const manifest = await manifestFor(folder, `journal: { sync: ${sync} }\n${lines}`);
  const host = await createHost({ manifest, bundledDir: null, stateDir: join(folder, "state"), root: folder });
  await host.registry.register(adapterFolder, { trusted: isolation === "thread", isolation, limits });
  return {
    host,
    workdir,
    start: (prompt) => host.runSession({ workdir, prompt, retry: "never" }, { adapter: "bench", artifacts: "none" }),
    async [Symbol.asyncDispose]() {
      await host.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

async function manifestFor(folder: string, lines: string) {
  const file = join(folder, "bulkhead.yaml");
  await writeFile(file, `bulkhead: 1\n${lines}`);
  return await loadHostManifest({ config: file, from: folder }) ?? undefined;
}
