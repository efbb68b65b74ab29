import { changeManifest } from "../../../packages/install/manifest-transaction.ts";
import { addGrant } from "../../../packages/manifest/edit-host-manifest.ts";
import { setAgentOrder, setEnabled, setInEntry } from "../../../packages/manifest/edit-plugin-entry.ts";
import { parseHostManifest } from "../../../ground/config/parse-host-manifest.ts";
import type { Invocation } from "../command.ts";
import { pinGranted } from "../pin-granted.ts";
import type { SetupSheet } from "./setup-sheet.ts";

/** Place of a pinned program. */
export interface PinnedProgram {
  plugin_id: string;
  binary: string;
  path: string | null;
}

/** Writes what was agreed to, in one change of the host manifest: plugins, grants and the order of routing. */
export async function enableAgents(
  call: Invocation,
  { file, sheets }: { file: string; sheets: readonly SetupSheet[] },
): Promise<PinnedProgram[]> {
  await changeManifest(file, async ({ text, writeText }) => {
    let after = text;
    for (const { id, values, grants } of sheets) {
      after = setInEntry(after, { pluginId: id, values, file });
      after = setEnabled(after, { pluginId: id, enabled: true, file });
      for (const grant of grants) after = addGrant(after, grant, { file });
    }
    after = setAgentOrder(after, { ids: newOrder(after, { file, chosen: sheets.map(({ id }) => id) }), file });
    if (after !== text) await writeText(after);
  });
  const pinned: PinnedProgram[] = [];
  for (const { pluginId, permission, target } of sheets.flatMap(({ grants }) => grants)) {
    if (permission !== "run") continue;
    const pin = await pinGranted(call, { pluginId, binary: target });
    if (pin !== null) pinned.push({ plugin_id: pluginId, binary: target, path: pin.pinned?.path ?? null });
  }
  return pinned;
}

/** The chosen ones come first; an order that stands there already keeps its others behind them. */
function newOrder(text: string, { file, chosen }: { file: string; chosen: readonly string[] }): string[] {
  const { routing } = parseHostManifest(text, { file, leaveOut: true });
  const before = [routing.agent ?? "auto"].flat().filter((id) => id !== "auto");
  return [...chosen, ...before.filter((id) => !chosen.includes(id))];
}
