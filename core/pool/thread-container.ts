import { FrameReader } from "../channel/frames.ts";
import type { Limits } from "../config/limits.ts";
import { Slots } from "../warden/slots.ts";
import type { Container, LaneTransport } from "./lane-transport.ts";

/**
 * The plugin's threads inside the host process: quicker, and only for plugins the operator trusts, because a thread
 * can take the whole process with it.
 */
export function startThreadContainer(guestFile: string, limits: Limits): Container {
  const slots = new Slots({ guestFile, heapMb: limits.heap_mb, keepsFlags: false });
  let nextLane = 1;
  let closing = false;
  let finish!: () => void;
  const ended = new Promise<void>((resolve) => (finish = resolve));
  return {
    openLane: (): LaneTransport => {
      const id = nextLane++;
      const slot = slots.open(id);
      return {
        id,
        post: (frame) => slot.port.post(frame),
        onPayload: (take) => {
          const frames = new FrameReader(limits.frame_bytes);
          slot.port.onBytes((bytes) => {
            try {
              frames.push(bytes, ({ payload }) => take(payload));
            } catch {
              void slot.terminate(limits.warden_grace_ms);
            }
          });
        },
        ended: slot.ended,
        cpuMs: () => null,
        kill: () => void slot.terminate(limits.warden_grace_ms),
      };
    },
    pid: null,
    get condemned() {
      return closing;
    },
    ended,
    close: async () => {
      closing = true;
      await slots.close(limits.warden_grace_ms);
      finish();
    },
  };
}
