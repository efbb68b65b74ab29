import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { openOwnNetwork, type OwnNetwork } from "./own-network.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";

/** Port of the proxy on the loopback of a program's own network. */
export const proxyPort = 3128;

/** Time from a network's use to the opening of the next: the program that got it starts first. Milliseconds. */
const refillMs = 50;

/** Sets of ports for which networks are kept ahead: each plugin's programs may reach other ports of this machine. */
const maxKinds = 4;

interface AgentNetworksOptions {
  /** For sockets, where the runtime needs them. */
  folder: string;
  /** Networks of each kind to keep open ahead of their use, once one was used: opening takes a runtime's start. */
  spares: number;
}

/** Networks for the programs of sessions. */
export class AgentNetworks {
  readonly #options: AgentNetworksOptions;
  /** By their ports, the kind that was used last at the end. */
  readonly #spares = new Map<string, Promise<OwnNetwork>[]>();
  #stopRefill = () => {};
  #closed = false;

  constructor(options: AgentNetworksOptions) {
    this.#options = options;
  }

  /** Opens a network for a session that begins, unless one is open; its ports are those of {@link take}. */
  prepare(others: readonly number[]): void {
    this.#fill(portsWith(others), 1);
  }

  /**
   * Returns a network with the port of the proxy; the caller closes it.
   * @param others further ports of its loopback
   * @throws {BulkheadError} `unavailable`
   */
  take(others: readonly number[]): Promise<OwnNetwork> {
    const ports = portsWith(others);
    const taken = this.#spares.get(String(ports))?.shift() ?? this.#open(ports);
    this.#stopRefill();
    this.#stopRefill = startBackgroundTimer(() => this.#fill(ports, this.#options.spares), refillMs);
    return taken;
  }

  /** Closes the networks that no session took. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopRefill();
    await Promise.allSettled([...this.#spares.values()].flat().map(closeSpare));
  }

  #fill(ports: readonly number[], count: number): void {
    if (this.#closed || count === 0) return;
    const kind = String(ports);
    const spares = this.#spares.get(kind) ?? [];
    this.#spares.delete(kind);
    this.#spares.set(kind, spares);
    for (const [old, unused] of [...this.#spares].slice(0, -maxKinds)) {
      this.#spares.delete(old);
      for (const spare of unused) void closeSpare(spare).catch(() => {});
    }
    while (spares.length < count) {
      const spare = this.#open(ports);
      spares.push(spare);
      // The next session tries again, and is told why.
      spare.catch(() => spares.includes(spare) && spares.splice(spares.indexOf(spare), 1));
    }
  }

  #open(ports: readonly number[]): Promise<OwnNetwork> {
    return openOwnNetwork({ ports, folder: join(this.#options.folder, randomId()) });
  }
}

async function closeSpare(spare: Promise<OwnNetwork>): Promise<void> {
  await (await spare).close();
}

function portsWith(others: readonly number[]): number[] {
  return [...new Set([proxyPort, ...others])];
}

/** Ports of this machine that the operator granted to a plugin's programs. */
export function localPorts(net: readonly string[]): number[] {
  return net.flatMap((grant) => {
    const [, port] = /^(?:127\.0\.0\.1|localhost):(\d+)$/.exec(grant) ?? [];
    return port === undefined ? [] : [Number(port)];
  });
}
