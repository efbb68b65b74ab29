import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type AvailabilityReport, availabilityReportSchema } from "../../plugin-sdk/availability.ts";
import { createSessionBroker } from "../broker/broker.ts";
import { toErrorData } from "../errors/to-error-data.ts";
import { randomId } from "../runtime/hash.ts";
import { join } from "../runtime/paths.ts";
import { platform } from "../runtime/platform.ts";
import type { ServedPlugin } from "./served-plugin.ts";
import { allowedIn, dataDirOf, type SessionGround } from "./start-session.ts";

const check = TypeCompiler.Compile(availabilityReportSchema);
const probeTimeoutMs = 30_000;

/** Asks an adapter whether its agent could run now. What goes wrong on the way is an answer too: `unrunnable`. */
export async function probe(
  service: ServedPlugin,
  { ground, workdir }: { ground: SessionGround; workdir: string },
): Promise<AvailabilityReport> {
  try {
    return await ask(service, { ground, workdir });
  } catch (error) {
    const { message, hint } = toErrorData(error);
    return { availability: "unrunnable", reason: message, ...(hint === undefined ? {} : { next_step: hint }) };
  }
}

async function ask(
  { plugin, pool }: ServedPlugin,
  { ground, workdir }: { ground: SessionGround; workdir: string },
): Promise<AvailabilityReport> {
  // Nobody is asked for a grant by a probe.
  const { askGrant: _, ...unattended } = ground;
  const { claim, writeLog } = ground;
  const sessionId = `probe-${randomId()}`;
  const { effective, secrets, redactor } = await allowedIn(unattended, { plugin, workdir });
  const broker = createSessionBroker({
    sessionId,
    pluginId: plugin.id,
    workdir,
    pluginDir: plugin.folder,
    dataDir: dataDirOf(claim, plugin),
    tempDir: join(claim.folder, "scratch", sessionId),
    ...ground.guarded(),
    permissions: effective,
    secrets,
    redactor,
    grantPlace: (permission) => ground.grantPlace(plugin.id, permission),
    requestEnv: {},
    limits: plugin.limits,
    children: ground.children,
    emit: () => {},
    writeLog: (record) => writeLog({ ...record, plugin_id: plugin.id }),
    waitForAnswer: () => Promise.resolve(null),
  });
  const place = await pool.acquire();
  const entry = place.lane.open({
    call: "is_available",
    request: null,
    config: { working_directory: workdir, access_modes: plugin.manifest.access_modes ?? [], custom: plugin.config },
    facts: { session_id: sessionId, attempt: 1, workdir, plugin_dir: plugin.folder, platform },
    onEvents: () => {},
    onCall: (operation, args) => broker.call(operation, args),
  });
  const timer = setTimeout(() => {
    entry.cancel({ code: "timeout", message: `The probe was not done within ${probeTimeoutMs} ms.` });
  }, probeTimeoutMs);
  const end = await entry.ended;
  clearTimeout(timer);
  place.release();
  await broker.close();
  if ("error" in end) {
    return { availability: "unrunnable", reason: redactor?.text(end.error.message) ?? end.error.message };
  }
  if (check.Check(end.value)) return redactor?.value(end.value) ?? end.value;
  return { availability: "unrunnable", reason: "The adapter's isAvailable() gave no availability." };
}
