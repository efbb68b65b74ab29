import type { GitMounts } from "../../records/git/private/git-mounts.ts";
import { readdir } from "../../ground/platform/files/files.ts";
import { createEgress, type Egress, type EgressOptions } from "../agent/egress-server.ts";
import type { EgressEndpoint } from "../agent/model-endpoint.ts";
import { randomId, sha256Hex } from "../../ground/platform/files/hash.ts";
import { writeSshWay } from "../agent/ssh-way.ts";
import type { LeftOut } from "../agent/approve-source.ts";
import type { AgentView } from "../agent/program-view.ts";
import { keepAtHome, keepEmpty, removeRecorded } from "../agent/kept-empty.ts";
import { isInside, join } from "../../ground/platform/files/paths.ts";
import { platform } from "../../ground/platform/engine/platform.ts";
import type { OwnNetwork } from "../agent/own-network.ts";
import { AgentNetworks, proxyPort } from "../agent/agent-networks.ts";
import type { AgentNeeds } from "../agent/agent-view.ts";
import { LateSockets } from "../agent/late-sockets.ts";
import { gathered } from "../agent/mounts.ts";
import { SessionGuards } from "../agent/session-guards.ts";
import { agentView, type ViewPlaces, viewPlaces } from "../agent/agent-view.ts";
import { entriesOf } from "../agent/real-paths.ts";
import { type WriteBack, writeBack } from "../agent/write-back.ts";
import { searchPath } from "./child-env.ts";
import { grantedPlaces } from "./granted-roots.ts";
import { discard, type SessionBrokerOptions } from "./session-broker.ts";
import { StandInAddresses } from "./stand-in-addresses.ts";

/** The way out of an agent's walls. */
export interface WayOut {
  /** Network of the session's programs; null where the proxy has a port of this machine. */
  network: OwnNetwork | null;
  /** Port of the proxy, in that network or of this machine. */
  port: number;
  /** Password of that proxy. */
  token: string;
  /** Adds a place whose key the proxy puts in; returns the address that programs have instead of its own. */
  addEndpoint(endpoint: EgressEndpoint): string;
}

/** Needs of a program that its walls do not know themselves. */
type ProgramNeeds = Omit<AgentNeeds, "wallsDir">;

/** Says which places programs may reach. */
type Decisions = Pick<EgressOptions, "route" | "refuseService">;

/** Connections of one session's programs at once. */
const maxConnections = 256;

/** How long places count as looked up. Milliseconds. */
const freshMs = 1000;

const recordPrefix = "kept-";

/** Folder for what the walls of one session need, by its folder for temporary files. */
export function wallsFolder(tempDir: string): string {
  return `${tempDir}-walls`;
}

/** Folder for what the walls of all sessions of a host share, in the one for their temporary files. */
export function sharedWallsDir(scratch: string): string {
  return join(scratch, "walls");
}

/**
 * Removes from projects what the walls of sessions had put there whose host was killed.
 * @param scratch folder for the temporary files of the host's sessions
 */
export async function clearKept(scratch: string): Promise<void> {
  const folder = sharedWallsDir(scratch);
  for (const name of await readdir(folder).catch(() => [])) {
    if (name.startsWith(recordPrefix)) await removeRecorded(join(folder, name));
  }
}

/** Things that a session's contained programs share: a private home, the proxy, and the places that are kept from them. */
export class SessionWalls {
  readonly #options: SessionBrokerOptions;
  readonly #folder: string;
  readonly #networks: AgentNetworks;
  readonly #guards: SessionGuards;
  /** Addresses that programs have instead of their models'. */
  readonly addresses: StandInAddresses = new StandInAddresses();
  /** Unix sockets that appear while programs run. */
  readonly sockets: LateSockets;
  #views = new Map<string, Promise<AgentView>>();
  #wayOut: Promise<WayOut & { egress: Egress }> | null = null;
  #exposed: Promise<() => Promise<void>> | null = null;
  #kept: ReturnType<typeof keepEmpty> | null = null;
  /** Entries of the project before anything is made in it. */
  #entries: ReturnType<typeof entriesOf> | null = null;
  readonly #hidden = new Set<string>();
  #places: { since: number; found: Promise<ViewPlaces> } | null = null;
  readonly #writeBacks: WriteBack[] = [];
  readonly #leftOut = new Set<string>();
  /** Remove what was made in the home for agents' records, where it is empty. */
  readonly #releases: (() => Promise<void>)[] = [];

  constructor(options: SessionBrokerOptions) {
    this.#options = options;
    this.#folder = wallsFolder(options.tempDir);
    this.#guards = new SessionGuards(options);
    this.sockets = new LateSockets({ project: options.workspaceDir ?? options.workdir, emit: options.emit });
    this.#networks = options.networks ?? new AgentNetworks({ folder: join(this.#folder, "networks"), spares: 0 });
  }

  /** Begins what every program needs. Never throws. */
  prepare(): void {
    this.#findPlaces().catch(() => {});
    this.#gitMounts().catch(() => {});
    this.#kept?.then(() => this.#guards.prepare(), () => {});
    this.exposed().catch(() => {});
  }

  /**
   * Resolves once the host knows which folders contained programs may write.
   * @throws {BulkheadError} `io_error` when it cannot note that
   */
  async exposed(): Promise<void> {
    await (this.#exposed ??= this.#expose());
  }

  /** The view of one program: the same for every start of it, but for the guards of the project and its git folders. */
  async view(needs: ProgramNeeds): Promise<AgentView> {
    const made = this.#views.get(needs.binary) ?? this.#makeView(needs);
    this.#views.set(needs.binary, made);
    const opened = this.#findPlaces().then((places) => places.opened);
    const guards = this.#kept?.then(() => this.#guards.now(opened)) ?? this.#guards.now(opened);
    const [view, { sealed, held, links }, git, { opened: open }] = await Promise.all([
      made,
      guards,
      this.#gitMounts(),
      this.#findPlaces(),
    ]);
    const project = this.#options.workspaceDir ?? this.#options.workdir;
    // The agent's own folder there is a copy.
    const copied = view.bound?.map(({ at }) => at).filter((at) => isInside(project, at)) ?? [];
    const isOther = (place: string) => ![...git.covered, ...copied].some((folder) => isInside(folder, place));
    const isOpened = (place: string) => open.some((path) => isInside(path, place));
    return {
      ...view,
      shown: [...view.shown, ...git.shown],
      bound: [...view.bound ?? [], ...git.bound],
      sealed: gathered([...sealed, ...git.sealed.filter((place) => !isOpened(place))], project).filter(isOther),
      held: [...held.filter(isOther), ...git.held],
      links: links.filter(({ at }) => isOther(at)),
    };
  }

  /** Returns true when the guards of running programs do not cover all that a new one's would. */
  guardsChanged(): Promise<boolean> {
    return this.#guards.changed();
  }

  /** Finds what replaces git's folders; the person may have made a submodule a moment ago. */
  async #gitMounts(): Promise<GitMounts> {
    await this.#entries;
    return await this.#options.gitMounts?.() ?? { covered: [], bound: [], held: [], sealed: [], shown: [] };
  }

  /**
   * Opens the session's proxy on first use.
   * @param localPorts ports of this machine that programs may reach without a proxy
   * @throws {BulkheadError} `unavailable` where programs cannot have a network of their own
   */
  wayOut(decisions: Decisions, localPorts: readonly number[]): Promise<WayOut> {
    return this.#wayOut ??= this.#open(decisions, localPorts);
  }

  /** Removes everything, and reports guarded files that the agents made, and sockets that they could reach. */
  async close(): Promise<void> {
    const kept = await this.#kept?.catch(() => null) ?? null;
    await Promise.all(this.#writeBacks.splice(0).map(writeBack));
    const compare = await this.#exposed?.catch(() => null);
    try {
      await compare?.();
      await Promise.all([
        this.#closeWayOut(),
        this.sockets.close(),
        kept === null ? null : this.#guards.tell(kept.before),
      ]);
    } finally {
      await Promise.all([
        kept?.release(),
        ...this.#releases.splice(0).map((release) => release()),
        discard(this.#options, this.#folder),
      ]);
    }
  }

  async #expose(): Promise<() => Promise<void>> {
    const { workdir, workspaceDir = workdir, expose } = this.#options;
    if (expose === undefined) return () => Promise.resolve();
    const { written } = await grantedPlaces(this.#options);
    return await expose([...new Set([workdir, workspaceDir, ...written])]);
  }

  async #closeWayOut(): Promise<void> {
    const wayOut = await this.#wayOut?.catch(() => null);
    await wayOut?.network?.close();
    await wayOut?.egress.close();
  }

  async #makeView(needs: ProgramNeeds): Promise<AgentView> {
    const session = {
      ...this.#options,
      leftOut: (place: LeftOut) => this.#tellLeftOut(place),
      keepAtHome: async (folders: readonly string[]) =>
        void this.#releases.push(await keepAtHome(folders, this.#recordOf("home"))),
    };
    const places = await this.#findPlaces();
    const { view, writeBacks } = await agentView(session, { ...needs, wallsDir: this.#folder }, places);
    this.#writeBacks.push(...writeBacks);
    return view;
  }

  /** Says once why a place that the person may expect in the view is not there. */
  #tellLeftOut({ named, because }: LeftOut): void {
    if (this.#leftOut.has(named)) return;
    this.#leftOut.add(named);
    const message = `The agent does not see ${named}: ${because}.`;
    this.#options.writeLog({ level: "warn", message, fields: null });
  }

  /**
   * Finds what all views share, once the private home and the empty folders in the project are made. What was found a
   * moment ago counts; later a person may have made a place that must be guarded.
   */
  #findPlaces(): Promise<ViewPlaces> {
    const now = performance.now();
    this.#kept ??= this.#keep();
    if (this.#places === null || now - this.#places.since > freshMs) {
      this.#places = { since: now, found: this.#kept.then(({ isClosed }) => this.#lookUp(isClosed)) };
    }
    return this.#places.found;
  }

  #lookUp(isClosed: boolean): Promise<ViewPlaces> {
    const searched = searchPath(this.#options.workdir);
    const granted = grantedPlaces(this.#options, (path) => this.#tellHidden(path));
    return viewPlaces(this.#options, { isClosed, granted, searched });
  }

  #tellHidden(target: string): void {
    if (this.#hidden.has(target)) return;
    this.#hidden.add(target);
    const reason =
      "It is, or holds, a place that no agent sees: keys, logins or the host's state. Grant a narrower path.";
    this.#options.emit({ type: "capability", permission: "read", target, decision: "denied", reason });
  }

  async #keep(): ReturnType<typeof keepEmpty> {
    const { workdir, workspaceDir = workdir } = this.#options;
    const home = writeSshWay(join(this.#folder, "home"));
    home.catch(() => {});
    this.#entries = entriesOf(workspaceDir);
    const kept = await keepEmpty(workspaceDir, this.#recordOf(sha256Hex(workspaceDir)), this.#entries);
    return await home.then(() => kept, async (error: unknown) => {
      await kept.release();
      throw error;
    });
  }

  /** File in which the host notes folders that it must remove. */
  #recordOf(name: string): string {
    return join(this.#options.sharedWallsDir ?? this.#folder, `${recordPrefix}${name}.json`);
  }

  async #open(decisions: Decisions, localPorts: readonly number[]) {
    const token = randomId();
    const endpoints = new Map<string, EgressEndpoint>();
    const egress = createEgress({
      token,
      most: maxConnections,
      endpoint: (name) => endpoints.get(name),
      ...decisions,
    });
    const at = (port: number) => (endpoint: EgressEndpoint) => {
      const name = randomId();
      endpoints.set(name, endpoint);
      this.addresses.add(name, { port, url: endpoint.url });
      return `http://127.0.0.1:${port}/${name}`;
    };
    if (platform === "darwin") {
      const port = await egress.listen();
      return { network: null, port, token, addEndpoint: at(port), egress };
    }
    const network = await this.#networks.take(localPorts);
    network.onClient((client, port) => port === proxyPort ? egress.take(client) : egress.tunnel(client, port));
    return { network, port: proxyPort, token, addEndpoint: at(proxyPort), egress };
  }
}
