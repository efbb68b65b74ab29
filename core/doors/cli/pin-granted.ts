import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { BinaryPin } from "../../../plugin-sdk/plugin-report.ts";
import { isPinned, newPin } from "../../walls/broker/resolve-binary.ts";
import { openPins } from "../../sessions/host/state/pin-store.ts";
import { pinsFolder } from "../../sessions/host/state/state-folder.ts";
import { join } from "../../ground/platform/files/paths.ts";
import type { Invocation } from "./command.ts";
import { findState } from "./open-host.ts";

/** Outcome of pinning a granted program. */
export interface PinGranted {
  pinned: BinaryPin | null;
  pinned_before: BinaryPin | null;
  /** Why the program is not pinned. */
  not_pinned?: string;
}

/** Pins a granted program: sessions start the file found now. Null for one that is never pinned. */
export async function pinGranted(
  call: Invocation,
  { pluginId, binary }: { pluginId: string; binary: string },
): Promise<PinGranted | null> {
  if (!isPinned(binary)) return null;
  const { cwd } = call.terminal;
  const { stateDir } = await findState(call);
  const pins = openPins(join(stateDir, pinsFolder)).of(pluginId);
  const pinned_before = (await pins.list()).find((pin) => pin.binary === binary) ?? null;
  try {
    const refuse = ({ because }: { because: string }) => new BulkheadError("permission_denied", `${because}.`);
    const pinned = await newPin(binary, { workdir: cwd, writable: [cwd], refuse });
    await pins.write(pinned);
    return { pinned, pinned_before };
  } catch (error) {
    if (!(error instanceof BulkheadError)) throw error;
    return { pinned: null, pinned_before, not_pinned: error.message };
  }
}
