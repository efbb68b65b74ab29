import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import type { BinaryPin } from "../../../../../plugin-sdk/plugin-report.ts";
import type { HostManifest } from "../../../../ground/config/host-manifest.ts";
import { changeManifest } from "../../../../packages/install/manifest-transaction.ts";
import { addGrant, parseForEdit } from "../../../../packages/manifest/edit-host-manifest.ts";
import { readHostManifest } from "../../../../packages/manifest/find-host-manifest.ts";
import { createRegistry } from "../../../../packages/registry/registry.ts";
import { allowedBy } from "../../../../packages/permissions/try-grant.ts";
import { grantNotes, programsGrants } from "../../../../packages/permissions/unasked-grants.ts";
import { unknownPlugin } from "../../../../packages/registry/unknown-plugin.ts";
import { dirname } from "../../../../ground/platform/files/paths.ts";
import { cliBinary } from "../../../../packages/permissions/requested-permissions.ts";
import { type Invocation, tell } from "../../command.ts";
import { manifestFile } from "../../open-host.ts";
import { parseGrant } from "../../parse-grant.ts";
import { type PinGranted, pinGranted } from "../../pin-granted.ts";
import { readRunTarget } from "../../../../ground/config/grant-command.ts";
import { safeLine } from "../../render/agent-text.ts";

/** `bulkhead plugin grant <id> <permission:target>…`. */
export async function pluginGrant(call: Invocation): Promise<number> {
  const { pluginId, wanted, file } = await wantedOf(call);
  for (const { permission, target } of wanted) {
    const allowed = await allowedWith(file, { pluginId, permission, target });
    const changed = await changeManifest(file, async ({ text, writeText }) => {
      const isTools = permission === "run" &&
        isToolsProgram(parseForEdit(text, { pluginId, file }), { pluginId, target });
      const after = isTools ? text : addGrant(text, { pluginId, permission, target }, { file });
      if (after !== text) await writeText(after);
      return after !== text;
    });
    const binary = readRunTarget(target)?.binary ?? target;
    const pinned = permission === "run" ? await pinGranted(call, { pluginId, binary }) : null;
    const { note, forPrograms } = await effectOf(file, { pluginId, permission, target: binary });
    const words = `${changed ? "Granted" : "Granted already"}${note === null ? "" : ", with no effect"}`;
    const lines = [
      `${words}: ${note === null ? `${pluginId} may ` : ""}${permission} ${target} (${file}).`,
      ...(pinned === null ? [] : [pinLine(binary, pinned)]),
      ...(note === null ? [] : [`Note: ${note}`]),
      ...(allowed.length > 1 ? [`It allows all of: ${safeLine(allowed.join(", "))}.`] : []),
      ...(forPrograms
        ? ["Its contained programs have it; its own code does not, since its manifest does not ask for it."]
        : []),
    ];
    await tell(call, { plugin_id: pluginId, permission, target, file, changed, ...pinned, note }, lines.join("\n"));
  }
  return 0;
}

/** `bulkhead plugin deny <id> <permission:target>…`. */
export async function pluginDeny(call: Invocation): Promise<number> {
  const { pluginId, wanted, file } = await wantedOf(call);
  for (const { permission, target } of wanted) {
    const changed = await changeManifest(file, async ({ text, writeText }) => {
      const after = addGrant(text, { pluginId, permission, target, under: "deny" }, { file });
      if (after !== text) await writeText(after);
      return after !== text;
    });
    const denied = `${changed ? "Denied" : "Denied already"}: ${pluginId} may not ${permission} ${target} (${file}).`;
    await tell(call, { plugin_id: pluginId, permission, target, file, changed }, denied);
  }
  return 0;
}

/** Reads all permissions before any is written: a mistyped one changes nothing. */
async function wantedOf(call: Invocation): Promise<{ pluginId: string; wanted: Wanted[]; file: string }> {
  const [pluginId = "", ...typed] = call.args;
  const wanted = typed.map((one) => parseGrant(one ?? ""));
  const file = await manifestFile(call);
  if (file === undefined) {
    throw new BulkheadError("not_found", "There is no bulkhead.yaml here or above to write to.", {
      hint: 'Write one with "bulkhead init".',
    });
  }
  await demandPlugin(pluginId, file);
  return { pluginId, wanted, file };
}

type Wanted = ReturnType<typeof parseGrant>;

/**
 * A grant to a plugin that is not there would leave a manifest that no command takes.
 * @throws {BulkheadError} `not_found`; nothing where the manifest cannot be read, which its change then tells
 */
async function demandPlugin(pluginId: string, file: string): Promise<void> {
  const manifest = await readHostManifest(file).catch(() => null);
  const registry = manifest === null ? null : await createRegistry({ manifest, root: dirname(file) }).catch(() => null);
  if (manifest === null || registry === null) return;
  const plugins = [...registry.list(), ...registry.problems];
  if (plugins.some(({ id }) => id === pluginId) || Object.hasOwn(manifest.tools, pluginId)) return;
  throw unknownPlugin(pluginId, plugins);
}

/** Says that a grant has no effect (null: it has one, or the plugin cannot be read), or one for programs alone. */
async function effectOf(
  file: string,
  { pluginId, permission, target }: { pluginId: string; permission: string; target: string },
): Promise<{ note: string | null; forPrograms: boolean }> {
  const isThis = (one: { permission: string; target: string }) =>
    one.permission === permission && one.target === target;
  try {
    const manifest = await readHostManifest(file);
    const plugin = (await createRegistry({ manifest, root: dirname(file) })).get(pluginId);
    if (plugin === undefined) return { note: null, forPrograms: false };
    const note = grantNotes(plugin).find(isThis)?.note ?? null;
    return { note, forPrograms: note === null && programsGrants(plugin).some(isThis) };
  } catch {
    return { note: null, forPrograms: false };
  }
}

/** Lists what a grant allows that is not allowed now; nothing where the plugin cannot be read. */
async function allowedWith(file: string, { pluginId, ...grant }: Wanted & { pluginId: string }): Promise<string[]> {
  try {
    const registry = await createRegistry({ manifest: await readHostManifest(file), root: dirname(file) });
    const plugin = registry.get(pluginId);
    if (plugin === undefined) return [];
    const rows = allowedBy(plugin, { grants: [grant], places: { path: [] } });
    return rows.map(({ permission, target }) => `${permission} ${target}`);
  } catch {
    return [];
  }
}

/** A tool already has what it asks for; a grant can only pin its program again. */
function isToolsProgram(
  { tools }: HostManifest,
  { pluginId, target }: { pluginId: string; target: string },
): boolean {
  const tool = Object.hasOwn(tools, pluginId) ? tools[pluginId] : undefined;
  return tool !== undefined && cliBinary(tool) === target;
}

function pinLine(binary: string, { pinned, pinned_before, not_pinned }: PinGranted): string {
  if (pinned === null) return `It is pinned when it is first used: ${safeLine(not_pinned ?? "")}`;
  const place = ({ path, real }: BinaryPin) => safeLine(path === real ? path : `${path} (${real})`);
  const before = pinned_before !== null && pinned_before.real !== pinned.real
    ? `, before: ${place(pinned_before)}`
    : "";
  return `Pinned: ${safeLine(binary)} is ${place(pinned)}${before}.`;
}
