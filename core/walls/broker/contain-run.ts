import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { RunPermission } from "../../../plugin-sdk/permissions.ts";
import { join } from "../../ground/runtime/paths.ts";
import { containAgent, ownProcesses } from "../agent/contain-agent.ts";
import type { Command } from "../../ground/runtime/os-walls/os-wall.ts";
import { localPorts } from "../agent/agent-networks.ts";
import { ownTools } from "../agent/agent-view.ts";
import { closedPlaces } from "../agent/closed-places.ts";
import type { AgentView, SeenSockets } from "../agent/program-view.ts";
import { hiddenAtHome, homesToHide } from "../agent/hidden-places.ts";
import { grantedRoots } from "./granted-roots.ts";
import { keepKeys } from "./kept-keys.ts";
import { modelAddresses } from "./model-address.ts";
import type { BrokerScope } from "./operation.ts";
import { programRoute } from "./reach-target.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";
import { wallsFolder, type WayOut } from "./session-walls.ts";

/** A program that is about to start. */
interface ContainedRun {
  permission: RunPermission;
  /** Real paths of the program and of files that its arguments name. */
  shown: readonly string[];
}

/**
 * The command as the permission wants it started: contained, or with nothing but its processes kept together.
 * @throws {BulkheadError} `unavailable` when the system cannot contain it
 */
export async function containRun(
  scope: BrokerScope,
  command: Command,
  { permission, shown }: ContainedRun,
): Promise<Command & { contained: boolean; sockets?: SeenSockets | undefined }> {
  const { options } = scope;
  const shm = join(wallsFolder(options.tempDir), "shm");
  const bounded = { ...command, openFiles: options.limits.agent_open_files };
  const { contain, contain_net: offline = false } = permission;
  const isFree = contain === "off" || options.containPrograms !== true;
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
    addresses: modelAddresses(permission, options),
  });
  const viewed = scope.walls.view({ binary, shown, env: kept.env });
  const run = async (env: Command["env"], changes: Partial<AgentView>) => {
    let sockets: SeenSockets | undefined;
    const onSockets = (seen: SeenSockets) => void (sockets = seen);
    const view = { ...await viewed, shm, ...changes, onSockets };
    const contained = await containAgent({ ...bounded, args: kept.args, env }, view);
    return { ...contained, contained: true, sockets };
  };
  if (options.programNet === undefined) return await run(kept.env, {});
  const ports = localPorts(options.programNet);
  const route = (url: URL, isUnasked = false) => programRoute(scope, { url, isUnasked });
  const [way] = await Promise.all([
    scope.walls.wayOut({ route, refuseService: () => noDocker(scope) }, ports),
    viewed,
  ]);
  const docker = kept.env["DOCKER_HOST"] ?? `tcp://127.0.0.1:${way.port}`;
  const env: Record<string, string> = { ...kept.env, ...proxyVariables(way), DOCKER_HOST: docker };
  for (const [variable, endpoint] of kept.endpoints) {
    env[variable] = `http://127.0.0.1:${way.port}/${way.addEndpoint(endpoint)}`;
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
