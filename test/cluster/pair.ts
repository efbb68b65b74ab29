import { allPresent, type Machine, startMachine } from "./machine.ts";
import { startServers } from "./nats-servers.ts";
import { makeRepository } from "./repository.ts";

/** Two machines of a cluster that know each other. */
export interface Pair {
  /** Its working directory is a repository. */
  one: Machine;
  two: Machine;
  /** Ends both and their servers. */
  end(): Promise<void>;
}

/** Starts two machines on servers of their own. */
export async function startPair(): Promise<Pair> {
  const on = await startServers();
  const started = await Promise.allSettled(["one", "two"].map((name) => startMachine({ name, servers: on.urls })));
  const end = async () => {
    for (const machine of started) if (machine.status === "fulfilled") await machine.value.remove();
    await on.stop();
  };
  try {
    const [one, two] = started.map((machine) => {
      if (machine.status === "rejected") throw machine.reason;
      return machine.value;
    }) as [Machine, Machine];
    await makeRepository(one.workdir);
    await allPresent([one, two]);
    return { one, two, end };
  } catch (error) {
    await end();
    throw error;
  }
}
