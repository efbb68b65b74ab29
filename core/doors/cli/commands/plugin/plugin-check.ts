import { containsPrograms } from "../../../../packages/permissions/contained-programs.ts";
import { defaultOsWallUses } from "../../../../ground/platform/os-walls/os-wall.ts";
import type { AvailabilityReport } from "../../../../../plugin-sdk/availability.ts";
import { BulkheadError, type ErrorData } from "../../../../../plugin-sdk/errors.ts";
import type { Manifest } from "../../../../../plugin-sdk/manifest.ts";
import { defaultLimits } from "../../../../ground/config/limits.ts";
import { errorTable } from "../../../../ground/errors/error-table.ts";
import { toErrorData } from "../../../../ground/errors/to-error-data.ts";
import type { Host } from "../../../../sessions/host/host.ts";
import { bundlePlugin } from "../../../../packages/bundler/plugin-script.ts";
import { type BreadthOptions, broadPlaces } from "../../../../packages/permissions/broad-permissions.ts";
import { type BroadPermission, broadPermissions } from "../../../../packages/permissions/explain-permissions.ts";
import type { Plugin } from "../../../../packages/manifest/plugin.ts";
import { toolNotes } from "../../../../packages/manifest/tool-faults.ts";
import { manifestName, readManifest } from "../../../../packages/manifest/read-manifest.ts";
import { everRequested } from "../../../../packages/permissions/requested-permissions.ts";
import { realpath, stat } from "../../../../ground/platform/files/files.ts";
import { join, resolve } from "../../../../ground/platform/files/paths.ts";
import { type Invocation, tell } from "../../command.ts";
import { openHost } from "../../open-host.ts";
import { safeLine, safeText } from "../../render/agent-text.ts";
import { broadLines } from "../../render/permission-words.ts";
import type { WallLineOptions } from "../../render/wall-lines.ts";
import { messageLines, stackLines } from "../../render/message-lines.ts";
import { createPaint, type Paint } from "../../render/paint.ts";
import { formatBytes } from "../../render/quantities.ts";
import { drawingColumns } from "../../show-session.ts";
import { whileWaiting } from "../../while-waiting.ts";
import { pluginOf } from "../../../../packages/registry/unknown-plugin.ts";

interface CheckStep {
  step: "manifest" | "bundle" | "load";
  passed: boolean;
  /** The finding of a step that passed. */
  detail: string;
  error?: ErrorData;
}

interface CheckReport {
  /** Null when the manifest could not be read. */
  plugin_id: string | null;
  folder: string;
  passed: boolean;
  steps: CheckStep[];
  /** Whether its agent could run here and now, which no check demands; null when it was not asked. */
  agent: AvailabilityReport | null;
  /** Requested permissions that allow more than they seem to, the riskiest first. */
  broad: BroadPermission[];
  /** Advice for its author; no fault. */
  notes: string[];
}

interface CheckSubject {
  /** Why it cannot be used, where that is known already. */
  error?: BulkheadError;
  folder: string;
  origin: Plugin["origin"];
  /** Set for a tool that the host manifest declares and that has no file of its own. */
  manifest?: Manifest | undefined;
}

/** `bulkhead plugin check [folder|id]`. */
export async function pluginCheck(call: Invocation): Promise<number> {
  const { terminal, json } = call;
  const paint = createPaint(terminal.colours.stdout);
  await using opened = await openHost(call);
  const subjects = await findSubjects(opened.host, { named: call.args[0], cwd: terminal.cwd });
  const columns = drawingColumns(terminal);
  const reports: CheckReport[] = [];
  for (const subject of subjects) {
    const work = check(opened.host, subject, broadPlaces(opened.manifest?.file));
    const report = await whileWaiting(`Loading ${safeLine(subject.folder)} …`, { terminal, work });
    reports.push(report);
    await tell(call, report, reportLines(report, { paint, columns }).join("\n"));
  }
  if (reports.length === 0 && !json) await terminal.stdout.write("No plugin is enabled. Name one, or a folder.\n");
  const failed = reports.flatMap(({ steps }) => steps).find(({ passed }) => !passed);
  return failed?.error === undefined ? 0 : errorTable[failed.error.code].exit_code;
}

async function findSubjects(
  host: Host,
  { named, cwd }: { named: string | undefined; cwd: string },
): Promise<CheckSubject[]> {
  if (named === undefined) {
    const refused = host.registry.problems().filter(({ unavailable }) => unavailable);
    return [
      ...host.registry.list().filter(({ enabled }) => enabled).map(subjectOf),
      ...refused.map(({ folder, error }): CheckSubject => ({ folder, origin: "folder", error })),
    ];
  }
  const folder = resolve(cwd, named);
  const isFolder = await stat(folder).then((info) => info.isDirectory(), () => false);
  const holdsManifest = isFolder && await stat(join(folder, manifestName)).then(() => true, () => false);
  if (!holdsManifest && host.registry.get(named) !== undefined) return [subjectOf(pluginOf(host.registry, named))];
  if (isFolder) return [{ folder: await realpath(folder), origin: "folder" }];
  if (/[\\/.]/.test(named)) throw new BulkheadError("not_found", `There is no folder ${folder}.`);
  return [subjectOf(pluginOf(host.registry, named))];
}

function subjectOf({ folder, origin, manifest }: Plugin): CheckSubject {
  return { folder, origin, manifest: origin === "inline" ? manifest : undefined };
}

async function check(host: Host, subject: CheckSubject, places: BreadthOptions): Promise<CheckReport> {
  const steps: CheckStep[] = [];
  const attempt = async <T>(step: CheckStep["step"], work: () => Promise<[T, string]>): Promise<T | null> => {
    try {
      const [value, detail] = await work();
      steps.push({ step, passed: true, detail });
      return value;
    } catch (error) {
      steps.push({ step, passed: false, detail: "", error: toErrorData(error) });
      return null;
    }
  };
  const manifest = await attempt("manifest", async () => {
    if (subject.error !== undefined) throw subject.error;
    const read = subject.manifest ?? await readManifest(subject.folder);
    return [read, `${read.id} ${read.version}, ${read.entry ?? "no code"}`];
  });
  const script = manifest && await attempt("bundle", async () => {
    const bundled = await bundlePlugin({
      folder: subject.folder,
      manifest,
      limits: defaultLimits,
      origin: subject.origin,
    });
    return [bundled, `${formatBytes(bundled.text.length)}, sha256 ${bundled.sha256.slice(0, 12)}`];
  });
  const id = manifest && script && await attempt("load", () => load(host, { folder: subject.folder, manifest }));
  return {
    plugin_id: manifest?.id ?? null,
    folder: subject.folder,
    passed: steps.every(({ passed }) => passed),
    steps,
    agent: id === null ? null : await host.probe(id),
    notes: manifest === null ? [] : toolNotes(manifest),
    broad: manifest === null ? [] : broadPermissions(everRequested(manifest), {
      ...places,
      contained: containsPrograms({ manifest, os_walls: defaultOsWallUses }),
    }),
  };
}

/** Loads the adapter behind its walls; returns its id. */
async function load(
  host: Host,
  { folder, manifest }: { folder: string; manifest: Manifest },
): Promise<[id: string, detail: string]> {
  const known = host.registry.get(manifest.id);
  const loaded = known?.enabled && known.folder === folder ? known : await host.registry.register(folder);
  const { drift } = await host.load(loaded.id);
  if (drift.length > 0) throw driftError(drift);
  return [loaded.id, "its adapter is complete"];
}

/** A missing agent or grant is no fault of the plugin. */
function agentLines({ availability, reason, next_step }: AvailabilityReport, paint: Paint): string[] {
  const mark = availability === "available" ? paint("green", "✔") : paint("yellow", "!");
  const said = `${availability.replaceAll("_", " ")}: ${reason}`;
  return [
    `  ${mark} ${"agent".padEnd(9)} ${paint("dim", safeLine(said))}`,
    ...(next_step === undefined ? [] : [`    ${" ".repeat(9)} ${paint("dim", safeLine(next_step))}`]),
  ];
}

function reportLines(
  { plugin_id, folder, steps, agent, broad, notes }: CheckReport,
  { paint, columns }: WallLineOptions,
): string[] {
  const lines = steps.flatMap(({ step, passed, detail, error }) => {
    const mark = passed ? paint("green", "✔") : paint("red", "✘");
    const [first = "", ...rest] = error === undefined
      ? [safeLine(detail)]
      : messageLines(error, { paint, columns: columns - 16 });
    const hint = error?.hint === undefined ? [] : safeText(error.hint).split("\n");
    const stack = stackLines(error);
    return [
      `  ${mark} ${step.padEnd(9)} ${passed ? paint("dim", first) : first}`,
      ...rest.map((line) => `    ${" ".repeat(9)} ${line}`),
      ...stack.map((line) => `    ${" ".repeat(9)} ${paint("dim", line)}`),
      ...hint.map((line) => `    ${" ".repeat(9)} ${paint("dim", line)}`),
    ];
  });
  return [
    `${paint("bold", plugin_id ?? "plugin")} ${paint("dim", safeText(folder))}`,
    ...lines,
    ...(agent === null ? [] : agentLines(agent, paint)),
    ...notes.map((note) => `  ${paint("yellow", "!")} ${"note".padEnd(9)} ${safeLine(note)}`),
    ...broadLines(broad, { paint, columns }),
  ];
}

/** Makes the error for a plugin whose code and manifest do not agree on its id, name or version. */
export function driftError(drift: readonly string[]): BulkheadError {
  return new BulkheadError("invalid_manifest", `The plugin's code and its manifest differ:\n${drift.join("\n")}`, {
    hint: "Write the same in both.",
    details: { drift },
  });
}
