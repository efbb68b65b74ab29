import { join } from "../../ground/platform/files/paths.ts";
import {
  containsPrograms,
  housekeepingHosts,
  programNet,
  programRead,
} from "../../packages/permissions/contained-programs.ts";
import { createMeter } from "../../walls/agent/meter/meter.ts";
import type { SessionBroker } from "../../walls/broker/session-broker.ts";
import { attachedFile } from "./attached-files.ts";
import { hostQuestions } from "./ask-host.ts";
import type { AttemptDeps, Candidate } from "./admitted.ts";
import { fetchesModel, isCounted } from "./spend/seen-calls.ts";

interface AttemptBrokerOptions {
  number: number;
  candidate: Candidate;
  /** Resolves when the preparations that must precede any work of an agent are done. */
  workMayBegin: Promise<void>;
}

/** Makes the broker of one attempt, which may use the session's scratch folder from then on. */
export function attemptBroker(
  deps: AttemptDeps,
  { number, candidate, workMayBegin }: AttemptBrokerOptions,
): SessionBroker {
  const { session, host, scratch, stream, rules, requests, processes } = deps;
  const { plugin } = candidate;
  const { box } = session;
  const isReplay = box?.isReplay === true;
  deps.onScratch();
  return host.makeBroker({
    sessionId: session.sessionId,
    pluginId: plugin.id,
    workdir: session.place.workdir,
    workspaceDir: session.place.workspaceDir,
    pluginDir: plugin.folder,
    dataDir: candidate.dataDir,
    tempDir: join(scratch, `temp-${number}`),
    ...host.guarded(),
    rights: candidate.rights,
    permissions: candidate.effective,
    narrowed: new Set([plugin.deny, session.request.permissions ?? {}].flatMap(Object.keys)),
    spelledRoots: plugin.grant.write ?? [],
    secrets: candidate.secrets,
    mcpConfig: candidate.mcpConfig,
    redactor: session.redactor,
    grantPlace: candidate.grantPlace,
    requestEnv: candidate.requestEnv,
    limits: plugin.limits,
    ownPids: plugin.os_walls.bubblewrap !== "off",
    containPrograms: containsPrograms(plugin),
    isReplay,
    isCounted: isCounted(session),
    modelPlaces: fetchesModel(candidate.effective, candidate.accessMode)
      ? "all"
      : candidate.seesCalls
      ? "elsewhere"
      : undefined,
    programNet: isReplay ? [] : programNet(plugin),
    refusedNet: {
      denied: () => host.deniedNow(plugin.id).net ?? [],
      housekeeping: housekeepingHosts(plugin),
      toolRuns: () => rules.hasOpenCall,
    },
    programRead: programRead(plugin),
    settingsOf: plugin.settings_of,
    gitMounts: () => deps.git.mounts(),
    endpoints: candidate.endpoints,
    // The record comes first: in a replay it answers every call, and no budget is asked.
    wires: [
      ...(box === null ? [] : [box.wire((error) => deps.stop("fatal", error))]),
      createMeter({
        onRequest: () => deps.usage.requested(),
        onCall(call) {
          candidate.told?.(call);
          deps.onModelCall(call);
        },
        spent: (isRead) => deps.spent(isRead),
      }),
    ],
    install: plugin.manifest.install,
    lastProcessId: processes.lastId,
    workMayBegin,
    emit: (event) => {
      if (event.type === "process_spawned") {
        processes.lastId = Math.max(processes.lastId, event.process_id);
        rules.signs.ran();
      }
      stream.host(event);
    },
    onWrite: (path) => rules.signs.name(path),
    endSession: (error) => deps.stop("fatal", error),
    // No answer opens the walls of a replay.
    ...(isReplay ? {} : { askGrant: host.askGrant, askHost: hostQuestions(deps, plugin) }),
    attachment: (sha256) => attachedFile(deps, sha256),
    writeLog: candidate.writeLog,
    waitForAnswer: async (_kind, requestId) => {
      const asked = rules.answeredBy(requestId);
      return asked === null ? null : await requests.wait(asked);
    },
  });
}
