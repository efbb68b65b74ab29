import { type FileManifest, fileManifest } from "../../open-host.ts";
import compare from "semver/functions/compare.js";
import valid from "semver/functions/valid.js";
import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import { type FetchedPackage, lockedSpec } from "../../../../packages/install/fetch-package.ts";
import type { PackageSpec } from "../../../../packages/install/package-spec.ts";
import { type PreparedInstall, prepareInstall } from "../../../../packages/install/prepare-install.ts";
import type { NewGrant } from "../../../../packages/manifest/edit-host-manifest.ts";
import { readLock } from "../../../../packages/manifest/plugin-lock.ts";
import type { LockedPlugin } from "../../../../packages/manifest/lock-format.ts";
import { type Invocation, tell } from "../../command.ts";
import { decideGrants } from "../../decide-grants.ts";
import { allowances, commitInstall, fetchWhileWaiting, installReport, packageLimits } from "../../installing.ts";
import { reportError } from "../../report-error.ts";
import { installLines } from "../../render/install-lines.ts";
import { createPaint } from "../../render/paint.ts";
import { drawingColumns } from "../../show-session.ts";
import { asTyped } from "../../render/as-typed.ts";

/** `bulkhead plugin update [id]`: updates each from its own source. One that asks for more waits; the others go on. */
export async function pluginUpdate(call: Invocation): Promise<number> {
  const manifest = await fileManifest(call);
  const { plugins } = await readLock(manifest.file);
  const [named] = call.args;
  const [id, wanted] = named?.split("@") ?? [];
  if (id !== undefined) {
    if (!Object.hasOwn(plugins, id)) throw notInstalled(id, Object.keys(plugins));
    return await update(call, { id, wanted, locked: plugins[id]!, manifest });
  }
  let code = 0;
  for (const [each, locked] of Object.entries(plugins)) {
    try {
      await update(call, { id: each, wanted: undefined, locked, manifest });
    } catch (error) {
      code = await reportError(error, call.terminal);
    }
  }
  if (Object.keys(plugins).length === 0 && !call.json) await call.terminal.stdout.write("No plugin is installed.\n");
  return code;
}

/** A file holds one version; a newer one is another file, and only the person knows which. */
function upToDate(id: string, { version, source }: LockedPlugin): string {
  if (source.type === "registry") return keptVersion(id, version, source.wanted);
  if (source.type !== "tarball") return `Up to date: ${id} ${version}.\n`;
  return `Up to date: ${id} ${version} is what ${source.path} holds. To take another file: ` +
    asTyped("bulkhead plugin add <file>\n");
}

/** An update stays in what was asked for: the person may have forgotten that it was asked for. */
function keptVersion(id: string, version: string, asked = "latest"): string {
  if (asked === "latest") return `Up to date: ${id} ${version}.\n`;
  const why = valid(asked) === null ? `the newest of ${asked}, as it was asked for` : "the version that was asked for";
  return `Up to date: ${id} ${version} is ${why}. To take the newest of all: ` +
    asTyped(`bulkhead plugin update ${id}@latest\n`);
}

/** Whether the source holds nothing newer than what was in use, where no version was named. */
function isOlder({ version }: FetchedPackage, { wanted, locked }: Update): boolean {
  return wanted === undefined && version !== null && compare(version, locked.highest) < 0;
}

/** Says that the version in use stays, because the source has only older ones by now. */
async function tellOlder(call: Invocation, { version }: FetchedPackage, update: Update): Promise<void> {
  const { id, locked, manifest } = update;
  const source = locked.source.type === "registry" ? locked.source.wanted ?? "latest" : "latest";
  const text =
    `Nothing newer: ${id} ${locked.version} stays in use, because ${source} is ${version} now. To take that: ` +
    asTyped(`bulkhead plugin update ${id} --allow-downgrade`);
  const install = { id, next: locked, current: locked, unchanged: true };
  await tell(call, installReport(install, { grants: [], manifest }), text);
}

interface Update {
  id: string;
  /** The requested version, if any. */
  wanted: string | undefined;
  locked: LockedPlugin;
  manifest: FileManifest;
}

async function update(call: Invocation, wanted: Update): Promise<number> {
  const { id, locked, manifest } = wanted;
  const fetched = await fetchWhileWaiting(call, {
    spec: specOf(wanted),
    named: id,
    manifestFile: manifest.file,
    limits: packageLimits(manifest),
    locked: { entry: locked, exact: false },
  });
  const allow = allowances(call);
  if (!allow.downgrade && isOlder(fetched, wanted)) {
    await tellOlder(call, fetched, wanted);
    return 0;
  }
  const install = await prepareInstall(fetched, { hostManifest: manifest, allow });
  try {
    if (install.id !== id) throw renamed(id, install.id);
    await call.terminal.stdout.write(await takeInstall(call, install, wanted));
    return 0;
  } finally {
    await install.discard();
  }
}

function specOf({ locked, manifest, wanted }: Update): PackageSpec {
  const newest = lockedSpec(locked, { manifestFile: manifest.file, newest: true });
  return wanted !== undefined && newest.type === "registry" ? { ...newest, wanted } : newest;
}

/** Takes a version into use, if it is another one and its grants are agreed to; returns what to say. */
async function takeInstall(call: Invocation, install: PreparedInstall, update: Update): Promise<string> {
  const { terminal, json } = call;
  const { id, wanted, locked, manifest } = update;
  const report = (grants: readonly NewGrant[]) => `${JSON.stringify(installReport(install, { grants, manifest }))}\n`;
  if (install.unchanged) {
    // Another wish is kept, though it comes to the same version today.
    if (wanted !== undefined) await commitInstall(call, install, { grants: [], manifest });
    return json ? report([]) : upToDate(id, wanted === undefined ? locked : install.next);
  }
  const paint = createPaint(terminal.colours.stdout);
  const lines = installLines(install, { paint, columns: drawingColumns(terminal) });
  if (!json) await terminal.stdout.write(`${lines.join("\n")}\n`);
  const command = `bulkhead plugin update ${wanted === undefined ? id : `${id}@${wanted}`}`;
  const grants = await decideGrants(call, install, command);
  if (grants === null) return `Version ${locked.version} of ${id} stays in use.\n`;
  await commitInstall(call, install, { grants, manifest });
  return json ? report(grants) : `Updated: ${id} is ${install.next.version} now.\n`;
}

function notInstalled(id: string, installed: readonly string[]): BulkheadError {
  return new BulkheadError("not_found", `Cannot update plugin "${id}": it is not installed.`, {
    hint: `Installed: ${installed.join(", ") || "none"}.`,
  });
}

function renamed(id: string, other: string): BulkheadError {
  return new BulkheadError(
    "invalid_package",
    `Cannot update plugin "${id}": its package holds plugin "${other}" now.`,
    {
      hint: "To use that one, install it under its own id with: bulkhead plugin add",
    },
  );
}
