import { afterEach, describe, expect, it } from "vitest";
import { encodeFrame, FrameReader } from "../../../core/ground/checks/frames.ts";
import { MessageReader } from "../../../core/walls/channel/messages.ts";
import { type GuestMessage, type HostMessage, protocolVersion } from "../../../core/walls/channel/protocol.ts";
import { guestFile } from "../../../core/walls/pool/spare-container.ts";
import { type Slot, Slots } from "../../../core/walls/warden/slots.ts";
import { script } from "../pool/pool-fixture.ts";

const made: Slots[] = [];

afterEach(async () => {
  for (const slots of made.splice(0)) await slots.close(1000);
});

function makeSlots(heapMb = 48): Slots {
  const slots = new Slots({ guestFile, heapMb, keepsFlags: false });
  made.push(slots);
  return slots;
}

/** Talks to the guest on a slot as the host does. */
function talk(
  { port }: Slot,
): { send(message: HostMessage): void; next(type: GuestMessage["type"]): Promise<GuestMessage> } {
  const frames = new FrameReader(1 << 20);
  const messages = new MessageReader(1 << 20);
  const heard: GuestMessage[] = [];
  let wake: () => void = () => {};
  port.onBytes((bytes) => {
    frames.push(bytes, ({ payload }) => {
      heard.push(messages.read(payload)!.message as GuestMessage);
      wake();
    });
  });
  return {
    send: (message) => port.post(encodeFrame(1, JSON.stringify(message))),
    async next(type) {
      for (;;) {
        const at = heard.findIndex((message) => message.type === type);
        if (at >= 0) return heard.splice(at, 1)[0]!;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

const load: HostMessage = {
  type: "load",
  protocol: protocolVersion,
  plugin_id: "made",
  script,
  limits: {
    message_bytes: 1 << 24,
    event_bytes: 1 << 20,
    event_values: 20_000,
    frame_bytes: 1 << 20,
    timers: 10,
    calls_in_flight: 4,
    teardown_timeout_ms: 100,
  },
};

function openMessage(sid: number, prompt: string): HostMessage {
  return {
    type: "open",
    sid,
    call: "run_session",
    request: { workdir: "/", prompt },
    config: { working_directory: "/", access_modes: [] },
    facts: { session_id: "s", attempt: 1, workdir: "/", plugin_dir: "/", platform: "linux" },
    credit: 100,
  };
}

describe("Slots", () => {
  it("start a locked guest that serves a session after another over one port", async () => {
    const slot = makeSlots().open({ lane: 1 });
    const guest = talk(slot);
    guest.send(load);
    expect(await guest.next("loaded")).toEqual({
      type: "loaded",
      protocol: protocolVersion,
      identity: { id: "made", name: "Made", version: "1.0.0" },
    });
    for (const sid of [1, 2, 3]) {
      guest.send(openMessage(sid, `hello ${sid}`));
      const events = [{ type: "output", stream: "stdout", data: `hello ${sid}` }];
      expect(await guest.next("events")).toEqual({ type: "events", sid, events });
      expect(await guest.next("done")).toEqual({ type: "done", sid, value: null });
    }
    guest.send({ type: "ping", n: 5 });
    expect(await guest.next("pong")).toEqual({ type: "pong", n: 5 });
  });

  it("say that a script does not load, and go on living", async () => {
    const guest = talk(makeSlots().open({ lane: 1 }));
    guest.send({ ...load, script: "(() => { throw new Error('not today'); })()" });
    expect(await guest.next("loaded")).toMatchObject({
      error: { code: "load_failed", message: expect.stringMatching(/not today/) },
    });
    guest.send({ type: "ping", n: 1 });
    expect(await guest.next("pong")).toEqual({ type: "pong", n: 1 });
  });

  it("end a thread when they are told to, and another can be opened in its place", async () => {
    const slots = makeSlots();
    for (const lane of [1, 2, 3, 4]) {
      const slot = slots.open({ lane });
      const guest = talk(slot);
      guest.send(load);
      await guest.next("loaded");
      expect(await slot.terminate(2000)).toBe(true);
      expect(await slot.ended).toMatchObject({ reason: "closed" });
    }
  });

  it("know which thread serves which lane, also when many start at the same time", async () => {
    const slots = makeSlots();
    const all = [1, 2, 3].map((lane) => slots.open({ lane }));
    const guests = all.map(talk);
    for (const guest of guests) guest.send(load);
    await Promise.all(guests.map((guest) => guest.next("loaded")));
    expect(await all[0]!.terminate(2000)).toBe(true);
    for (const [index, guest] of guests.entries()) {
      if (index === 0) continue;
      guest.send({ type: "ping", n: 1 });
      expect(await guest.next("pong")).toEqual({ type: "pong", n: 1 });
    }
    const others = await Promise.race([...all.slice(1).map(({ ended }) => ended), Promise.resolve("alive")]);
    expect(others).toBe("alive");
  });

  it("end with their guest when adapter code leaves something uncaught in its thread", async () => {
    const slot = makeSlots().open({ lane: 1 });
    const guest = talk(slot);
    guest.send({
      ...load,
      script: script.replace(
        "async *runSession(",
        "async *runSession(...all) { Promise.reject(new Error('stray')); await new Promise(() => {}); } async *unused(",
      ),
    });
    await guest.next("loaded");
    guest.send(openMessage(1, "hello"));
    expect(await guest.next("failed")).toMatchObject({
      error: { code: "crash", message: expect.stringMatching(/uncaught rejection: stray/) },
    });
    expect(await slot.ended).toMatchObject({ reason: expect.stringMatching(/exit|error|closed/) });
  });

  it("fail one session for what its timer throws, and serve the others", async () => {
    const guest = talk(makeSlots().open({ lane: 1 }));
    guest.send(load);
    await guest.next("loaded");
    guest.send(openMessage(1, "throw late"));
    expect(await guest.next("done")).toMatchObject({ sid: 1, error: { code: "crash", message: "late" } });
    guest.send(openMessage(2, "hello"));
    expect(await guest.next("done")).toEqual({ type: "done", sid: 2, value: null });
  });
});
