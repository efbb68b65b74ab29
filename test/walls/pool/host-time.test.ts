import { describe, expect, it } from "vitest";
import { HostTime } from "../../../core/walls/pool/host-time.ts";
import { until } from "../../sessions/host/test-host.ts";

/** A plugin's share of the host's time whose messages are single bytes; message 9 takes longer than a turn may. */
function record(perSecond = 1000) {
  const done: (number | string)[] = [];
  const time = new HostTime({
    perSecond,
    take: (lane, [byte]) => {
      for (const from = performance.now(); byte === 9 && performance.now() - from < 10;);
      done.push(lane * 10 + byte!);
    },
    onFault: (error) => done.push(String(error)),
    hold: (isHeld) => done.push(isHeld ? "hold" : "go on"),
  });
  return { done, time, push: (lane: number, byte: number) => time.push(lane, new Uint8Array([byte])) };
}

describe("HostTime", () => {
  it("handles messages at once while they take little, and what is to follow them too", () => {
    const { done, time, push } = record();
    push(1, 1);
    push(2, 2);
    time.after(() => done.push("after"));
    expect(done).toEqual([11, 22, "after"]);
    expect(time.isHeld).toBe(false);
  });

  it("makes what comes after a long message wait for the next turn, in its order, and the source with it", async () => {
    const { done, time, push } = record();
    push(1, 9);
    push(2, 1);
    time.after(() => done.push("after"));
    push(1, 2);
    expect(done).toEqual([19, "hold"]);
    expect(time.isHeld).toBe(true);
    await until(() => !time.isHeld);
    expect(done).toEqual([19, "hold", 21, "after", 12, "go on"]);
    expect(time.heldMs).toBeGreaterThan(0);
  });

  it("keeps a copy of what waits: its bytes are overwritten by those that come next", async () => {
    const { done, time, push } = record();
    push(1, 9);
    const bytes = new Uint8Array([3]);
    time.push(1, bytes);
    bytes[0] = 4;
    await until(() => !time.isHeld);
    expect(done).toContain(13);
  });

  it("handles all that waits when no more will come", () => {
    const { done, time, push } = record();
    push(1, 9);
    push(1, 1);
    push(2, 1);
    time.finish();
    expect(done).toEqual([19, "hold", 11, 21]);
  });
});
