import { encodeFrame, FrameReader, headerBytes } from "../../../core/ground/checks/frames.ts";
import { MessageReader } from "../../../core/walls/channel/messages.ts";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { Lane } from "../../../core/walls/pool/lane.ts";
import type { LaneEnd } from "../../../core/walls/pool/lane-transport.ts";
import { bytesOf, promise, type Target, textOf } from "../target.ts";

const messages = [
  { type: "loaded", protocol: 2 },
  { type: "loaded", protocol: 2, error: { code: "load_failed", message: "x", hint: "y", details: { stack: "z" } } },
  { type: "events", sid: 1, events: [{ type: "output", stream: "stdout", data: "x" }, null, 1, [], {}] },
  { type: "call", sid: 1, id: 1, op: "fs_read_text", args: { path: "x" } },
  { type: "done", sid: 1, value: { a: [1, 2] } },
  { type: "done", sid: 1, error: { code: "fatal", message: "x", details: { __x: 1 } } },
  { type: "pong", n: 1 },
  { type: "failed", error: { code: "crash", message: "x" } },
  { type: "part", text: '{"type":"pong",', last: false },
  { type: "part", text: '"n":1}', last: true },
].map((message) => JSON.stringify(message));
const stream = textOf(join(messages.map((text) => encodeFrame(1, text))));
const tokens = [
  '"type":',
  '"sid":1',
  '"events":[',
  '"part"',
  '"last":true',
  '"__proto__":',
  "[",
  "]",
  "{",
  "}",
  ",",
  "null",
  "1e999",
  '"\\ud800"',
  "\n",
  "\0\0\0\0",
];

/** What a worker that was taken over may send. */
export const channelTargets: readonly Target[] = [
  {
    name: "frames",
    weight: 14,
    seeds: [stream, stream.slice(0, 40)],
    tokens: [...tokens, "\x01\0\0\0\x01\0\0\0", "\xff\xff\xff\x7f", "\xff\xfe", "\xed\xa0\x80"],
    read(input) {
      const bytes = bytesOf(input);
      const frames = new FrameReader(65_536);
      const reader = new MessageReader(65_536);
      let taken = 0;
      // Cut where the input says, so that every way to cut a frame comes up.
      for (let at = 0; at < bytes.length;) {
        const step = 1 + (bytes[at]! % 61);
        frames.push(bytes.subarray(at, at + step), ({ payload }) => {
          taken += payload.length + headerBytes;
          reader.read(payload);
        });
        at += step;
      }
      promise(taken <= bytes.length, "no frame is longer than what came");
    },
  },
  {
    name: "lane",
    weight: 10,
    seeds: [messages.join("\n"), `${messages[0]}\n${messages[2]}\n${messages[3]}\n${messages[4]}`, messages[0]!],
    tokens,
    read(input) {
      const { lane, say, ended, end } = openLane();
      const entry = lane.open({
        call: "run_session",
        request: { workdir: "/w", prompt: "go" },
        config: { working_directory: "/w", access_modes: [] },
        facts: { session_id: "s", attempt: 1, workdir: "/w", plugin_dir: "/p", platform: "linux" },
        onEvents: (events) => promise(Array.isArray(events), "events come as a list"),
        onCall: (_operation, args) => Promise.resolve(JSON.stringify(args) ?? null),
      });
      let ends = 0;
      const counted = entry.ended.then(() => void ends++);
      for (const line of input.split("\n").slice(0, 200)) say(line);
      end({ reason: "closed", message: "The input is over." });
      return Promise.all([ended, counted]).then(() =>
        promise(ends === 1 && !lane.alive, "an entry ends once, with its worker")
      );
    },
  },
];

function openLane() {
  let take: (payload: Uint8Array) => void = () => {};
  let end!: (end: LaneEnd) => void;
  const gone = new Promise<LaneEnd>((resolve) => (end = resolve));
  const lane = new Lane({
    id: 1,
    post: () => {},
    onPayload: (given) => (take = given),
    ended: gone,
    heldMs: () => 0,
    charge: () => {},
    cpuMs: () => null,
    kill: (message) => end({ reason: "closed", message }),
  }, { pluginId: "acme", script: "", limits: defaultLimits });
  const encoder = new TextEncoder();
  return { lane, say: (line: string) => take(encoder.encode(line)), ended: lane.ended, end };
}

function join(frames: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(frames.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const frame of frames) {
    joined.set(frame, at);
    at += frame.length;
  }
  return joined;
}
