import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Figure } from "./measure.ts";
import { partsOf } from "./parts.ts";
import { acpx } from "./peers/acpx.ts";
import { bareClient } from "./peers/bare-client.ts";
import { bulkheadDaemons, bulkheadPrograms } from "./peers/bulkhead.ts";
import { installPeers } from "./peers/install-peers.ts";
import type { Peer } from "./peers/peer.ts";
import { type Amount, PeerBench, told } from "./peers/peer-bench.ts";
import { sandboxAgent } from "./peers/sandbox-agent.ts";
import { makeStub } from "./peers/stub.ts";

const amounts = {
  quick: { shortRounds: 2, longRounds: 1, longPieces: 1000, atOnceRounds: 1, programsAtOnce: false, live: [1] },
  middle: { shortRounds: 10, longRounds: 3, longPieces: 10_000, atOnceRounds: 2, programsAtOnce: false, live: [1, 20] },
  long: {
    shortRounds: 30,
    longRounds: 7,
    longPieces: 100_000,
    atOnceRounds: 5,
    programsAtOnce: true,
    live: [1, 20, 100],
  },
} satisfies Record<string, Amount>;

/** Parts that can be run alone, each on the peers that have it. */
const parts: Record<string, (bench: PeerBench, all: AllPeers) => Promise<Figure[]>> = {
  short: (bench, { servers, programs, bare }) => bench.shortSessions([bare, ...servers, ...programs]),
  pieces: (bench, { servers, acpx, bare }) => bench.longSessions([bare, ...servers, ...acpx]),
  many: (bench, { servers, patient, bare }) => bench.manyAtOnce([bare, ...servers, ...patient]),
  memory: (bench, { servers }) => bench.memory(servers),
  readers: (bench, { servers }) => bench.readTogether(servers),
};

/** The peers by what they can do. */
interface AllPeers {
  bare: Peer;
  servers: Peer[];
  programs: Peer[];
  acpx: Peer[];
  /** Those that need a minute for a hundred sessions at once. */
  patient: Peer[];
}

/**
 * One stub agent through our doors, through peers and through a bare client. The peers' repetitions are interleaved, so
 * that what else the machine does hits all of them alike. What each peer leaves out stands in the page on performance.
 * @param options `part` runs one part alone
 */
export async function peers(
  { quick, long = false, part }: { quick: boolean; long?: boolean; part?: string | undefined },
): Promise<Figure[]> {
  const amount = quick ? amounts.quick : long ? amounts.long : amounts.middle;
  const chosen = partsOf(parts, part);
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-bench-")));
  try {
    const programs = await installPeers().catch((error: unknown) => {
      told(`the peers could not be installed, so ours runs alone: ${String(error).split("\n")[0]}`);
      return null;
    });
    const { program: agent, language } = await makeStub(folder);
    const workdir = await makeRepository(join(folder, "work"));
    const bench = new PeerBench({ agent, workdir, state: folder, programs: programs ?? "" }, amount);
    const figures: Figure[] = [{ name: "peers.stub_in_c", value: language === "C" ? 1 : 0, unit: "count" }];
    for (const [name, run] of chosen) {
      told(name);
      figures.push(...await run(bench, allPeers({ installed: programs !== null, amount })));
    }
    return figures;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function allPeers({ installed, amount }: { installed: boolean; amount: Amount }): AllPeers {
  const theirs = installed ? [acpx] : [];
  return {
    bare: bareClient,
    servers: [...bulkheadDaemons, ...(installed ? [sandboxAgent] : [])],
    programs: [...bulkheadPrograms, ...theirs],
    acpx: theirs,
    patient: amount.programsAtOnce ? theirs : [],
  };
}

/** A small repository with one commit. */
async function makeRepository(path: string): Promise<string> {
  await mkdir(path);
  await Promise.all(Array.from({ length: 20 }, (_, n) => writeFile(join(path, `file-${n}.txt`), `File ${n}.\n`)));
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=bench", "-c", "user.email=bench@localhost", ...args], {
      cwd: path,
      stdio: "ignore",
    });
  git("init");
  git("add", "-A");
  git("commit", "-q", "-m", "All files");
  return path;
}
