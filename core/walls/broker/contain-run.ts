import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { readUrl } from "../../ground/config/net-target.ts";
import type { RunPermission } from "../../../plugin-sdk/permissions.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { containAgent, ownProcesses } from "../agent/contain-agent.ts";
import type { Command } from "../../ground/platform/os-walls/os-wall.ts";
import { localPorts } from "../agent/agent-networks.ts";
import { ownTools } from "../agent/agent-view.ts";
import { closedPlaces } from "../agent/closed-places.ts";
import type { AgentView, SeenSockets } from "../agent/program-view.ts";
import { hiddenAtHome, homesToHide } from "../agent/hidden-places.ts";
import { grantedRoots } from "./granted-roots.ts";
import { type ModelAddress, modelAddresses } from "./model-address.ts";
import type { BrokerScope } from "./operation.ts";
import { programRoute } from "./reach-target.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";
import { wallsFolder, type WayOut } from "./session-walls.ts";
import type { ModelEndpoint } from "../../../plugin-sdk/manifest.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import type { EgressEndpoint } from "../agent/model-endpoint.ts";

/** A program that is about to start. */
interface ContainedRun {
  permission: RunPermission;
  /** Real paths of the program and of files that its arguments name. */
  shown: readonly string[];
  /** @throws {BulkheadError} `permission_denied` where the program may not be started with these arguments as well */
  demandArgs(more: readonly string[]): void;
}

/**
 * The command as the permission wants it started: contained, or with nothing but its processes kept together.
 * @throws {BulkheadError} `unavailable` when the system cannot contain it
 */
export async function containRun(
  scope: BrokerScope,
  command: Command,
  { permission, shown, demandArgs }: ContainedRun,
): Promise<Command & { contained: boolean; sockets?: SeenSockets | undefined }> {
  const { options } = scope;
  const shm = join(wallsFolder(options.tempDir), "shm");
  const bounded = { ...command, openFiles: options.limits.agent_open_files };
  const { contain, contain_net: offline = false } = permission;
  const isFree = options.isReplay !== true && (contain === "off" || options.containPrograms !== true);
  if (!isFree || contain === "workdir" || offline) await scope.walls.exposed();
  if (contain === "workdir" || offline) {
    const view = await workdirView(options, { shown, offline });
    return { ...await containAgent(bounded, { ...view, shm }), contained: true };
  }
  if (isFree) {
    return options.ownPids === true ? await ownProcesses(command) : { ...command, contained: false };
  }
  const { binary } = permission;
  const kept = keepKeys(command, {
    binary,
    endpoints: options.endpoints ?? [],
    isReplay: options.isReplay === true,
    addresses: modelAddresses(permission, options),
  });
  const viewed = scope.walls.view({ binary, shown, env: kept.env });
  demandArgs(kept.added.flatMap(({ args }) => args));
  const run = async (env: Command["env"], changes: Partial<AgentView>) => {
    let sockets: SeenSockets | undefined;
    const onSockets = (seen: SeenSockets) => void (sockets = seen);
    const view = { ...await viewed, shm, ...changes, onSockets };
    const added = kept.added.flatMap(({ args, variable }) =>
      args.map((text) => text.replace("{}", env[variable] ?? ""))
    );
    const contained = await containAgent({ ...bounded, args: [...kept.args, ...added], env }, view);
    return { ...contained, contained: true, sockets };
  };
  if (options.programNet === undefined) return await run(kept.env, {});
  const ports = localPorts(options.programNet);
  // One way out serves all programs of a session.
  const models = modelHosts.get(scope) ?? new Set();
  for (const [, { url }] of kept.endpoints) models.add(url.host);
  modelHosts.set(scope, models);
  const route = async (url: URL, endpoint?: { unasked?: boolean | undefined }) => {
    if (endpoint === undefined && options.isCounted === true && models.has(url.host)) throw uncounted(scope, url);
    return await programRoute(scope, { url, isUnasked: endpoint?.unasked === true });
  };
  const [way] = await Promise.all([
    scope.walls.wayOut({ route, refuseService: () => noDocker(scope) }, ports),
    viewed,
  ]);
  const docker = kept.env["DOCKER_HOST"] ?? `tcp://127.0.0.1:${way.port}`;
  const env: Record<string, string> = { ...kept.env, ...proxyVariables(way), DOCKER_HOST: docker };
  for (const [variable, endpoint] of kept.endpoints) {
    env[variable] = way.addEndpoint({ ...endpoint, ...omitUndefined({ wires: options.wires }) });
  }
  const network = way.network ?? "none";
  return await run(env, { network, reach: [way.port, ...ports] });
}

/** Docker's client finds the proxy instead of its server, so that it hears why there is none. */
function noDocker({ authority }: BrokerScope): BulkheadError {
  return authority.forbid("run", "docker", {
    because: "its socket is outside the walls, since who reaches it has all your rights",
    reason: "Run it yourself, or let the agent's program out of its walls with contain: off in its grant.",
  });
}

/** Hosts of the models that a session's programs reach by endpoints. */
const modelHosts = new WeakMap<BrokerScope, Set<string>>();

/** A call that passes by the endpoint is in no budget and in no record. */
function uncounted({ authority }: BrokerScope, { host }: URL): BulkheadError {
  return authority.forbid("net", host, {
    because: "the session has a budget or a record, which hold for calls by the host's endpoint alone",
    reason: "Let the agent's program take the address of its model from its variable.",
  });
}

/** Tells a program of its proxy in the usual variables. */
function proxyVariables({ token, port }: WayOut): Record<string, string> {
  const proxy = `http://session:${token}@127.0.0.1:${port}`;
  const here = "localhost,127.0.0.1,::1";
  const upper = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: here };
  const lower = { http_proxy: proxy, https_proxy: proxy, all_proxy: proxy, no_proxy: here };
  return { ...upper, ...lower };
}

/** View of a program with `contain: workdir`: all but keys and the host's state, and the working directory to write. */
async function workdirView(
  options: SessionBrokerOptions,
  { shown, offline }: { shown: readonly string[]; offline: boolean },
) {
  const { workdir, pluginDir, tempDir, workspaceDir, protectedPaths = [], sealedPaths = [] } = options;
  const granted = ownTools(options);
  const [roots, { all }, git] = await Promise.all([
    grantedRoots(granted.map((tool) => `config:${tool}`), options),
    homesToHide(),
    options.gitMounts?.(),
  ]);
  const folders = [...sealedPaths, pluginDir, ...(workspaceDir === undefined ? [] : [workspaceDir])];
  const needed = [workdir, ...folders, ...shown, ...roots.map(({ path }) => path), ...all, ...git?.shown ?? []];
  return {
    writable: [workdir],
    tmp: tempDir,
    own: [workdir, tempDir, ...folders],
    hidden: [...protectedPaths, ...await hiddenAtHome(all, granted), ...await closedPlaces(needed)],
    held: git?.held ?? [],
    bound: git?.bound ?? [],
    shown: [...folders, ...git?.shown ?? [], ...roots.map(({ path }) => path), ...shown],
    network: offline ? "none" as const : "machine" as const,
  };
}

/** Start of a program, as far as keys can stand in it. */
interface Start {
  env: Readonly<Record<string, string>>;
  args: readonly string[];
}

/** A start without keys, and the places for which the proxy puts them in, by the variable of their address. */
interface KeptStart {
  env: Record<string, string>;
  args: string[];
  endpoints: Map<string, EgressEndpoint>;
  /** Arguments that tell the program the address of a variable. */
  added: { variable: string; args: readonly string[] }[];
}

/** Beginnings by which programs tell kinds of keys apart; what follows them is secret. */
const keyKind = /^(?:sk-(?:ant-(?:[a-z]{3}\d\d-)?|proj-|or-v\d-|svcacct-|admin-)?|[a-z]{2,4}-|AIza)?/;

/** Keys shorter than this stand in other texts by chance: in those they are not looked for. */
const shortestSought = 8;

/**
 * Replaces each key that the proxy can put in by a stand-in, wherever an adapter put it.
 * @param program its endpoints, and the addresses of its models
 * @throws {BulkheadError} `invalid_request`, `invalid_config` or `invalid_manifest` for an address that the proxy cannot
 * reach, `invalid_config` for a key that no request can hold: the program would have to get the key itself
 */
function keepKeys(
  { env, args }: Start,
  { binary, endpoints, isReplay, addresses }: {
    binary: string;
    endpoints: readonly ModelEndpoint[];
    isReplay: boolean;
    addresses: ReadonlyMap<string, ModelAddress>;
  },
): KeptStart {
  const standIns = new Map<string, { key: string; placeholder: string }>();
  const places = new Map<string, EgressEndpoint & { keys: { key: string; placeholder: string }[] }>();
  const added: KeptStart["added"] = [];
  for (const { key: variable, base_url, args: more = [] } of endpoints.filter(({ program }) => program === binary)) {
    // A replay needs none, and has none to give away.
    const key = isReplay ? randomId() : env[variable];
    const address = addresses.get(base_url);
    if (!key || address === undefined) continue;
    const standIn = standIns.get(variable) ??
      { key: checkedKey(key, { binary, variable }), placeholder: placeholderOf(key) };
    standIns.set(variable, standIn);
    const place = places.get(base_url) ??
      { url: checkedAddress(address, { binary, variable: base_url }), unasked: address.by === "client", keys: [] };
    if (!place.keys.includes(standIn)) place.keys.push(standIn);
    places.set(base_url, place);
    if (more.length > 0) added.push({ variable: base_url, args: more });
  }
  const sought = [...standIns.values()].filter(({ key }) => key.length >= shortestSought);
  const without = (text: string) =>
    sought.reduce((changed, { key, placeholder }) => changed.replaceAll(key, placeholder), text);
  const changed = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, without(value)]));
  for (const [variable, { placeholder }] of standIns) changed[variable] = placeholder;
  return { env: changed, args: args.map(without), endpoints: places, added };
}

function placeholderOf(key: string): string {
  return `${keyKind.exec(key)?.[0] ?? ""}${randomId()}`;
}

function checkedKey(key: string, { binary, variable }: { binary: string; variable: string }): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new BulkheadError(
    "invalid_config",
    `Cannot start "${binary}": the value of ${variable} is no key, since no request could hold it.`,
    { hint: `Set ${variable} to the key alone, without blanks and line ends.`, details: { name: variable } },
  );
}

const codes = { client: "invalid_request", operator: "invalid_config", manifest: "invalid_manifest" } as const;

function checkedAddress(
  { text, by }: ModelAddress,
  { binary, variable }: { binary: string; variable: string },
): URL {
  const url = readUrl(text);
  const why = url === null
    ? "is no URL"
    : url.protocol !== "http:" && url.protocol !== "https:"
    ? "is no http or https URL"
    : url.username !== "" || url.password !== ""
    ? "holds a user name or password"
    : url.search !== "" || url.hash !== "" || /[?#]/.test(text)
    ? "holds more than a host and a path"
    : null;
  if (url !== null && why === null) return url;
  throw new BulkheadError(
    codes[by],
    `Cannot start "${binary}": the host cannot send its key to its model: ${variable}, set by the ${by}, ${why}.`,
    { hint: `Set ${variable} to an address such as https://api.example.com.`, details: { name: variable } },
  );
}
