import type { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import { parsePackageSpec } from "../../../../packages/install/package-spec.ts";
import { type PreparedInstall, prepareInstall } from "../../../../packages/install/prepare-install.ts";
import { restoreInstalled } from "../../../../packages/install/restore-installed.ts";
import { type Invocation, tell } from "../../command.ts";
import { decideGrants } from "../../decide-grants.ts";
import {
  allowances,
  commitInstall,
  fetchWhileWaiting,
  installReport,
  manifestToAddTo,
  packageLimits,
} from "../../installing.ts";
import { errorOf, faultText, loadFault } from "../../load-fault.ts";
import { fileManifest } from "../../open-host.ts";
import { reportError } from "../../report-error.ts";
import { installLines } from "../../render/install-lines.ts";
import { createPaint } from "../../render/paint.ts";
import { plural } from "../../render/quantities.ts";
import { drawingColumns } from "../../show-session.ts";
import { asTyped } from "../../render/as-typed.ts";

/** `bulkhead plugin add [package]`. */
export async function pluginAdd(call: Invocation): Promise<number> {
  const [named] = call.args;
  if (named === undefined) return await restore(call);
  const { terminal, json } = call;
  const manifest = await manifestToAddTo(call);
  const spec = await parsePackageSpec(named, terminal.cwd);
  const limits = packageLimits(manifest);
  const fetched = await fetchWhileWaiting(call, { spec, named, manifestFile: manifest.file, limits });
  const install = await prepareInstall(fetched, { hostManifest: manifest, allow: allowances(call) });
  try {
    const paint = createPaint(terminal.colours.stdout);
    const columns = drawingColumns(terminal);
    if (!json) await terminal.stdout.write(`${installLines(install, { paint, columns }).join("\n")}\n`);
    const grants = await decideGrants(call, install, `bulkhead plugin add ${named}`);
    if (grants === null) {
      await terminal.stdout.write("Nothing was installed.\n");
      return 0;
    }
    await commitInstall(call, install, { grants, manifest });
    const fault = install.unchanged ? null : await loadFault(call, install.id);
    const text = installedText(install, { grants: grants.length, file: manifest.file, fault });
    return await tell(call, { ...installReport(install, { grants, manifest }), ...errorOf(fault) }, text);
  } finally {
    await install.discard();
  }
}

function installedText(
  { id, next, current }: PreparedInstall,
  { grants, file, fault }: { grants: number; file: string; fault: BulkheadError | null },
): string {
  const granted = grants === 0 ? "" : `, with ${plural(grants, "new grant")}`;
  const first = current === null && fault === null ? asTyped(`\nTo run it: bulkhead run ${id} "Say hello."`) : "";
  return `Installed: ${id} ${next.version}${granted} (${file}).${first}${faultText(fault)}`;
}

/** Installs the plugins that the lock names and that are missing. */
async function restore(call: Invocation): Promise<number> {
  const manifest = await fileManifest(call);
  const all = await restoreInstalled(manifest, packageLimits(manifest));
  const { terminal, json } = call;
  let code = 0;
  for (const { id, version, restored, error } of all) {
    if (error !== null) {
      code = await reportError(error, terminal);
      continue;
    }
    const text = `${restored ? "Installed" : "There already"}: ${id} ${version}.`;
    await tell(call, { plugin_id: id, version, restored }, text);
  }
  if (all.length === 0 && !json) await terminal.stdout.write("The lock names no plugin. Name a package to install.\n");
  return code;
}
