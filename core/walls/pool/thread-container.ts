import { FrameReader } from "../../ground/checks/frames.ts";
import type { Limits } from "../../ground/config/limits.ts";
import { Slots } from "../warden/slots.ts";
import { HostTime } from "./host-time.ts";
import type { Container, LaneTransport } from "./lane-transport.ts";

/** The plugin's threads inside the host process: quicker, and only for plugins that the operator trusts. */
export function startThreadContainer(guestFile: string, limits: Limits): Container {
  const slots = new Slots({ guestFile, heapMb: limits.heap_mb, keepsFlags: false });
  let nextLane = 1;
  let closing = false;
  let finish!: () => void;
  const ended = new Promise<void>((resolve) => (finish = resolve));
  return {
    openLane: () => openThread(slots, { id: nextLane++, limits }),
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

function openThread(slots: Slots, { id, limits }: { id: number; limits: Limits }): LaneTransport {
  const slot = slots.open({ lane: id });
  let take: (payload: Uint8Array) => void = () => {};
  const condemn = () => void slot.terminate(limits.warden_grace_ms);
  // A thread's port cannot be held: what waits is bounded by the credit for events and the calls that may be under way.
  const hostTime = new HostTime({
    perSecond: limits.host_ms_per_second,
    take: (_lane, payload) => take(payload),
    onFault: condemn,
  });
  const frames = new FrameReader(limits.frame_bytes);
  slot.port.onBytes((bytes) => {
    try {
      frames.push(bytes, ({ payload }) => hostTime.push(id, payload));
    } catch {
      condemn();
    }
  });
  return {
    id,
    post: (frame) => slot.port.post(frame),
    onPayload: (given) => (take = given),
    ended: slot.ended.then((end) => {
      hostTime.finish();
      return end;
    }),
    heldMs: () => hostTime.heldMs,
    charge: (ms) => hostTime.charge(ms),
    cpuMs: () => null,
    kill: condemn,
  };
}
