import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SharedWorkdirs } from "../../../core/sessions/session/shared-workdirs.ts";

describe("SharedWorkdirs", () => {
  it("tells both of two sessions in one folder of each other", () => {
    const shared = new SharedWorkdirs();
    shared.enter("a", "/w");
    expect(shared.sharedWith("a")).toEqual([]);
    shared.enter("b", "/w");
    expect([shared.sharedWith("a"), shared.sharedWith("b")]).toEqual([["b"], ["a"]]);
  });

  it("remembers one that came and went in between, and nothing of one that was gone before", () => {
    const shared = new SharedWorkdirs();
    shared.enter("early", "/w");
    shared.leave("early");
    shared.enter("a", "/w");
    shared.enter("b", "/w");
    shared.leave("b");
    expect(shared.sharedWith("a")).toEqual(["b"]);
    expect(shared.sharedWith("b")).toEqual([]);
  });

  it.each([
    ["/w", "/w/sub", true],
    ["/w/sub/deep", "/w", true],
    ["/", "/w", true],
    ["/w/one", "/w/two", false],
    ["/w", "/w2", false],
    ["/w", "/w..", false],
    ["/w", "/w/..x", true],
  ])("of %s and %s: overlapping is %s", (one, other, expected) => {
    const shared = new SharedWorkdirs();
    shared.enter("a", one);
    shared.enter("b", other);
    expect(shared.sharedWith("a").length === 1).toBe(expected);
    expect(shared.sharedWith("b").length === 1).toBe(expected);
  });

  it("keeps at most 100 ids for one session", () => {
    const shared = new SharedWorkdirs();
    shared.enter("long", "/w");
    for (let at = 0; at < 5000; at++) {
      shared.enter(`s${at}`, "/w");
      shared.leave(`s${at}`);
    }
    expect(shared.sharedWith("long")).toHaveLength(100);
  });

  it("says of any two sessions the same from both sides", () => {
    const folders = ["/", "/w", "/w/a", "/w/a/b", "/w/c", "/x"];
    const act = fc.record({ id: fc.integer({ min: 0, max: 9 }), folder: fc.constantFrom(...folders) });
    fc.assert(fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
      const shared = new SharedWorkdirs();
      const inside = new Map<number, string>();
      for (const [at, { id, folder }] of acts.entries()) {
        const session = inside.get(id);
        if (session !== undefined) {
          inside.delete(id);
          shared.leave(session);
        } else {
          inside.set(id, `s${at}`);
          shared.enter(`s${at}`, folder);
        }
        const active = new Set(inside.values());
        for (const one of active) {
          const others = shared.sharedWith(one).filter((other) => active.has(other));
          for (const other of others) expect(shared.sharedWith(other)).toContain(one);
        }
      }
    }));
  });
});
