import { defaultLimits, type Limits } from "../../core/ground/config/limits.ts";
import { encodeFrame, FrameReader, headerBytes } from "../../core/ground/checks/frames.ts";
import { MessageReader } from "../../core/walls/channel/messages.ts";
import { readTextReply } from "../../core/walls/channel/text-reply.ts";
import { type HostMessage, protocolVersion } from "../../core/walls/channel/protocol.ts";
import type { EntryOptions, LaneEntry } from "../../core/walls/pool/lane-entry.ts";
import { Lane } from "../../core/walls/pool/lane.ts";
import type { LaneEnd } from "../../core/walls/pool/lane-transport.ts";

/** A lane whose worker is the test: what a guest that was taken over could send. */
export interface FakeLane {
  lane: Lane;
  /** Why the host ended the worker; null while it has not. */
  killed(): string | null;
  /** Messages from the host, oldest first. */
  heard: HostMessage[];
  /** Sends a message as a guest would. */
  say(message: unknown): void;
  /** Sends a payload as it is. */
  sayText(text: string): void;
  sayBytes(bytes: Uint8Array): void;
  /** Opens an entry and notes what reaches it. */
  open(
    changes?: Partial<EntryOptions>,
  ): { entry: LaneEntry; events: unknown[]; calls: { operation: string; args: unknown }[]; ended: unknown[] };
  /** The worker is gone. */
  end(end: LaneEnd): void;
}

/** Makes a lane; it is loaded unless told otherwise. */
export function fakeLane(
  { limits = {}, loaded = true }: { limits?: Partial<Limits>; loaded?: boolean } = {},
): FakeLane {
  const heard: HostMessage[] = [];
  const frames = new FrameReader(1 << 28);
  const messages = new MessageReader(1 << 28);
  let take: (payload: Uint8Array) => void = () => {};
  let why: string | null = null;
  let end!: (end: LaneEnd) => void;
  const ended = new Promise<LaneEnd>((resolve) => (end = resolve));
  const lane = new Lane({
    id: 1,
    post: (frame) =>
      frames.push(frame, ({ payload }) => {
        const message = readTextReply(payload) ?? messages.read(payload)?.message;
        if (message !== undefined) heard.push(message as HostMessage);
      }),
    onPayload: (given) => (take = given),
    ended,
    heldMs: () => 0,
    charge: () => {},
    cpuMs: () => null,
    kill: (reason) => {
      why ??= reason;
      end({ reason: "closed", message: reason });
    },
  }, { pluginId: "acme", script: "", limits: { ...defaultLimits, ...limits } });
  const sayText = (text: string) => take(encodeFrame(1, text).subarray(headerBytes));
  const say = (message: unknown) => sayText(JSON.stringify(message));
  if (loaded) say({ type: "loaded", protocol: protocolVersion });
  return {
    lane,
    killed: () => why,
    heard,
    say,
    sayText,
    sayBytes: (bytes) => take(bytes),
    end,
    open(changes = {}) {
      const seen = {
        events: [] as unknown[],
        calls: [] as { operation: string; args: unknown }[],
        ended: [] as unknown[],
      };
      const entry = lane.open({
        call: "run_session",
        request: { workdir: "/w", prompt: "go" },
        config: { working_directory: "/w", access_modes: [] },
        facts: { session_id: "s", attempt: 1, workdir: "/w", plugin_dir: "/p", platform: "linux" },
        onEvents: (events) => void seen.events.push(...events),
        onCall: (operation, args) => {
          seen.calls.push({ operation, args });
          return new Promise(() => {});
        },
        ...changes,
      });
      void entry.ended.then((one) => seen.ended.push(one));
      return { entry, ...seen };
    },
  };
}
