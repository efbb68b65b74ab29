import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readManifest } from "../../packages/manifest/read-manifest.ts";
import { realpath } from "../../ground/platform/files/files.ts";
import { fileURLToPath } from "../../ground/platform/files/paths.ts";
import { runtimeVersion } from "../../ground/platform/engine/platform.ts";
import { type KitHost, openKitHost } from "./kit-host.ts";
import { observe, type Subject } from "./observe.ts";
import type { ConformanceReport, Finding, RuleReport } from "./report.ts";
import type { Rule } from "./rule.ts";
import { rules } from "./rules/all.ts";
import { readScript } from "./script.ts";
import type { Seen } from "./seen.ts";
import { takeWire } from "./wire-take.ts";

/** Options of {@link testPlugin}. */
export interface TestPluginOptions {
  /** A host that serves several trials; default: one for this trial alone. */
  kit?: KitHost;
  /** Container of the plugin. A thread starts sooner and is for your own code alone. Default `process`. */
  isolation?: "process" | "thread";
  /**
   * Folder of a record of calls: one session more runs the plugin's real program, in its walls, with its calls of its model
   * answered from there.
   */
  wire?: string;
}

/**
 * Tries a plugin on a real host, behind a process wall, with exactly the permissions that its manifest asks for, and
 * says for each rule of the contract whether it holds. Its tools are those that `conformance.yaml` scripts: no program
 * of this machine is started and no server is asked.
 * @param folder path, or file URL, of the plugin's folder
 * @throws {BulkheadError} `io_error` where the kit itself cannot work, `invalid_config` for a folder that is no record
 */
export async function testPlugin(
  folder: string | URL,
  { kit, isolation = "process", wire }: TestPluginOptions = {},
): Promise<ConformanceReport> {
  const started = performance.now();
  const path = typeof folder === "string" ? folder : fileURLToPath(folder);
  const read = await readSubject(path);
  const report = (id: string | null, version: string | null, found: RuleReport[]): ConformanceReport => ({
    conformance: 1,
    plugin_id: id,
    version,
    folder: read.folder,
    runtime: runtimeVersion,
    isolation,
    passed: found.every(({ outcome }) => outcome !== "failed"),
    duration_ms: Math.round(performance.now() - started),
    rules: found,
  });
  if ("error" in read) return report(null, null, rules.map((rule) => unread(rule, read.error)));
  const subject = { ...read, isolation };
  const played = wire === undefined ? null : await takeWire(subject, wire);
  const seen = { ...await observed(subject, kit), wire: played };
  const { id, version } = read.manifest;
  return report(id, version, rules.map((rule) => judge(rule, seen)));
}

async function observed(subject: Subject, given: KitHost | undefined): Promise<Seen> {
  if (given) return await observe(given, subject);
  await using own = await openKitHost();
  return await observe(own, subject);
}

async function readSubject(
  path: string,
): Promise<Omit<Subject, "isolation"> | { folder: string; error: BulkheadError }> {
  const folder = await realpath(path).catch(() => path);
  try {
    return { folder, manifest: await readManifest(folder), script: await readScript(folder) };
  } catch (error) {
    if (error instanceof BulkheadError) return { folder, error };
    throw error;
  }
}

function unread({ id, title }: Rule, error: BulkheadError): RuleReport {
  if (id === "manifest") return { rule: id, title, outcome: "failed", findings: [{ message: error.message }] };
  const reason = "The manifest or the script of the kit could not be read.";
  return { rule: id, title, outcome: "skipped", findings: [], reason };
}

/** A fault that keeps a plugin from working at all is reported once, by the rule that it breaks. */
const beforeLoad = new Set(["manifest", "package", "bundle", "members", "load"]);

function judge({ id, title, level, check }: Rule, seen: Seen): RuleReport {
  const reason = beforeLoad.has(id) ? null : blockedBy(id, seen);
  if (reason !== null) return { rule: id, title, outcome: "skipped", findings: [], reason };
  const found = check(seen);
  if (!Array.isArray(found)) return { rule: id, title, outcome: "skipped", findings: [], reason: found.skipped };
  const outcome = found.length === 0 ? "passed" : level === "note" ? "noted" : "failed";
  return { rule: id, title, outcome, findings: withoutRepeats(found) };
}

/** The first session runs twice, and says most things twice. */
function withoutRepeats(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()];
}

function blockedBy(rule: string, { load_error, members }: Seen): string | null {
  if (load_error !== null) return "The plugin could not be loaded.";
  return rule !== "initialize" && members?.calls["initialize"]?.thrown ? "initialize() throws." : null;
}
