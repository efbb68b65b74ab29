import { encodeFrame, FrameReader, wrapFrame } from "../../ground/checks/frames.ts";
import { MessageReader } from "../channel/messages.ts";
import { protocolVersion, type WardenCommand, type WardenReport } from "../channel/protocol.ts";
import { keepInspectorShut } from "../../ground/runtime/keep-inspector-shut.ts";
import { fileURLToPath } from "../../ground/runtime/paths.ts";
import { endWarden, openHostPipe, ownUsage } from "../../ground/runtime/warden-side.ts";
import { type Slot, Slots } from "./slots.ts";

/** How often usage is reported to the host. */
const statsIntervalMs = 250;
/** How long a thread may take to die before its lane is reported as stuck by staying open. */
const terminateMs = 200;
const maxFrameBytes = 64 * 1024 * 1024;

keepInspectorShut();
serveHost();

/** The warden's whole work: threads on one side, the host's pipe on the other, bytes passed between them unread. */
function serveHost(): void {
  const pipe = openHostPipe();
  const frames = new FrameReader(maxFrameBytes);
  const messages = new MessageReader(maxFrameBytes);
  const lanes = new Map<number, Slot>();
  let slots: Slots | null = null;

  pipe.onClose(endWarden);
  pipe.onBytes((bytes) => {
    frames.push(bytes, ({ lane, payload }) => {
      if (lane !== 0) return lanes.get(lane)?.port.post(wrapFrame(lane, payload));
      const received = messages.read(payload);
      if (received) command(received.message as WardenCommand);
    });
  });
  setInterval(() => report({ type: "stats", ...ownUsage() }), statsIntervalMs);
  report({ type: "ready", protocol: protocolVersion });

  function command(message: WardenCommand): void {
    switch (message.type) {
      case "open_lane":
        return openLane(message.lane, message);
      case "close_lane":
        return void lanes.get(message.lane)?.terminate(terminateMs);
      case "stop":
        return endWarden();
      default:
        message satisfies never;
    }
  }

  function openLane(lane: number, { heap_mb }: { heap_mb: number }): void {
    const guestFile = fileURLToPath(new URL("./guest.js", import.meta.url));
    slots ??= new Slots({ guestFile, heapMb: heap_mb, keepsFlags: true });
    const slot = slots.open(lane);
    lanes.set(lane, slot);
    slot.port.onBytes((bytes) => pipe.write(bytes));
    void slot.ended.then(({ reason, message }) => {
      lanes.delete(lane);
      report({ type: "lane_closed", lane, reason, message });
    });
  }

  function report(message: WardenReport): void {
    pipe.write(encodeFrame(0, JSON.stringify(message)));
  }
}
