import { encodeFrame, FrameReader, wrapFrame } from "../../ground/checks/frames.ts";
import { MessageReader } from "../channel/messages.ts";
import { protocolVersion, type WardenCommand, type WardenReport } from "../channel/protocol.ts";
import { keepInspectorShut } from "../../ground/platform/engine/keep-inspector-shut.ts";
import { fileURLToPath } from "../../ground/platform/files/paths.ts";
import { endWarden, type HostPipe, openHostPipe, ownUsage } from "../../ground/platform/processes/warden-side.ts";
import { type Slot, Slots } from "./slots.ts";

/** How often usage is reported to the host. */
const statsIntervalMs = 250;
/** How long a thread may take to die before its lane is reported as stuck by staying open. */
const terminateMs = 200;
const maxFrameBytes = 64 * 1024 * 1024;
const guestFile = fileURLToPath(new URL("./guest.js", import.meta.url));

type Lanes = Map<number, Slot>;

keepInspectorShut();
serveHost();

/**
 * The warden's whole work: threads on one side, the host's pipe on the other, bytes passed between them unread. A thread
 * that has a pipe of its own needs it only for its start and its end.
 */
function serveHost(): void {
  const pipe = openHostPipe();
  const lanes: Lanes = new Map();
  readHost(pipe, { lanes, obey: commandsFor(pipe, lanes) });
  setInterval(() => report(pipe, { type: "stats", ...ownUsage() }), statsIntervalMs);
  report(pipe, { type: "ready", protocol: protocolVersion });
}

function readHost(pipe: HostPipe, { lanes, obey }: { lanes: Lanes; obey: (command: WardenCommand) => void }): void {
  const frames = new FrameReader(maxFrameBytes);
  const messages = new MessageReader(maxFrameBytes);
  pipe.onClose(endWarden);
  pipe.onBytes((bytes) => {
    frames.push(bytes, ({ lane, payload }) => {
      if (lane !== 0) return lanes.get(lane)?.port.post(wrapFrame(lane, payload));
      const received = messages.read(payload);
      if (received) obey(received.message as WardenCommand);
    });
  });
}

/** Returns the function that carries out the host's commands. */
function commandsFor(pipe: HostPipe, lanes: Lanes): (command: WardenCommand) => void {
  let slots: Slots | null = null;
  return (command) => {
    switch (command.type) {
      case "open_lane":
        slots ??= new Slots({ guestFile, heapMb: command.heap_mb, keepsFlags: true });
        return openLane(pipe, { id: command.lane, slot: slots.open(command), lanes });
      case "close_lane":
        return void lanes.get(command.lane)?.terminate(terminateMs);
      case "stop":
        return endWarden();
      default:
        command satisfies never;
    }
  };
}

function openLane(pipe: HostPipe, { id, slot, lanes }: { id: number; slot: Slot; lanes: Lanes }): void {
  lanes.set(id, slot);
  slot.port.onBytes((bytes) => pipe.write(bytes));
  void slot.ended.then(({ reason, message }) => {
    lanes.delete(id);
    report(pipe, { type: "lane_closed", lane: id, reason, message });
  });
}

function report(pipe: HostPipe, message: WardenReport): void {
  pipe.write(encodeFrame(0, JSON.stringify(message)));
}
