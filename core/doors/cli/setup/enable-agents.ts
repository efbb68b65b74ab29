import { changeManifest } from "../../../packages/install/manifest-transaction.ts";
import { addGrant } from "../../../packages/manifest/edit-host-manifest.ts";
import { setAgentOrder, setEnabled, setInEntry } from "../../../packages/manifest/edit-plugin-entry.ts";
import type { HostManifest } from "../../../ground/config/host-manifest.ts";
import { parseHostManifest } from "../../../ground/config/parse-host-manifest.ts";
import type { Invocation } from "../command.ts";
import { pinGranted } from "../pin-granted.ts";
import type { SetupSheet } from "./setup-sheet.ts";

/** Place of a pinned program. */
interface PinnedProgram {
  plugin_id: string;
  binary: string;
  path: string | null;
}

/** Outcome of writing the choice. */
interface EnabledAgents {
  pinned: PinnedProgram[];
  /** Agents in the order in which sessions that name none try them. */
  order: string[];
}

/** Writes what was agreed to, in one change of the host manifest: plugins, grants and the order of routing. */
export async function enableAgents(
  call: Invocation,
  { file, sheets }: { file: string; sheets: readonly SetupSheet[] },
): Promise<EnabledAgents> {
  let order: string[] = [];
  await changeManifest(file, async ({ text, writeText }) => {
    let after = text;
    for (const { id, values, grants } of sheets) {
      after = setInEntry(after, { pluginId: id, values, file });
      after = setEnabled(after, { pluginId: id, enabled: true, file });
      for (const grant of grants) after = addGrant(after, grant, { file });
    }
    const manifest = parseHostManifest(after, { file, leaveOut: true });
    order = newOrder(manifest, sheets.map(({ id }) => id));
    if (String(manifest.routing.agent) !== String(order)) after = setAgentOrder(after, { ids: order, file });
    if (after !== text) await writeText(after);
  });
  const pinned: PinnedProgram[] = [];
  for (const { pluginId, permission, target } of sheets.flatMap(({ grants }) => grants)) {
    if (permission !== "run") continue;
    const pin = await pinGranted(call, { pluginId, binary: target });
    if (pin !== null) pinned.push({ plugin_id: pluginId, binary: target, path: pin.pinned?.path ?? null });
  }
  return { pinned, order };
}

/** The order that stands there stays; new ones come behind it, or before an `auto` that ends it. */
function newOrder({ routing }: HostManifest, chosen: readonly string[]): string[] {
  const before = [routing.agent ?? "auto"].flat();
  const added = chosen.filter((id) => !before.includes(id));
  if (before.length === 1 && before[0] === "auto") return added;
  const end = before.at(-1) === "auto" ? before.length - 1 : before.length;
  return before.toSpliced(end, 0, ...added);
}
