import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Waiting, WaitingLine } from "../../../core/walls/pool/waiting-line.ts";

interface Named extends Waiting {
  name: string;
  heard: number[];
}

function waiter(client: string, name = client): Named {
  const heard: number[] = [];
  return { client, name, heard, onMoved: (position) => void heard.push(position) };
}

/** A line whose only timer the test fires by hand. */
function makeLine(most = 1000) {
  const timers: (() => void)[] = [];
  const line = new WaitingLine<Named>({
    most,
    startTimer: (callback) => {
      timers.push(callback);
      return () => void timers.splice(timers.indexOf(callback), 1);
    },
  });
  return { line, timers, fire: () => timers.splice(0).forEach((callback) => callback()) };
}

function drain(line: WaitingLine<Named>): string[] {
  const names: string[] = [];
  for (let next = line.next(); next !== undefined; next = line.next()) names.push(next.name);
  return names;
}

describe("WaitingLine", () => {
  test("gives clients turns, and serves each client first come, first served", () => {
    const { line } = makeLine();
    const positions = ["a1", "a2", "a3", "b1", "c1", "b2"].map((name) => line.add(waiter(name[0]!, name)));
    expect(positions).toEqual([1, 2, 3, 2, 3, 5]);
    expect(line.inOrder().map(({ name }) => name)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
    expect(drain(line)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  });

  test("a client that was just served goes behind those that wait", () => {
    const { line } = makeLine();
    for (const name of ["a1", "b1"]) line.add(waiter(name[0]!, name));
    line.next();
    expect(line.add(waiter("a", "a2"))).toBe(2);
    expect(drain(line)).toEqual(["b1", "a2"]);
  });

  test("lets go of one anywhere in it", () => {
    const { line } = makeLine();
    const all = ["a1", "a2", "b1"].map((name) => waiter(name[0]!, name));
    for (const one of all) line.add(one);
    expect(line.remove(all[0]!)).toBe(true);
    expect(line.remove(all[0]!)).toBe(false);
    expect(line.size).toBe(2);
    expect(drain(line)).toEqual(["a2", "b1"]);
    expect(line.size).toBe(0);
  });

  test("tells who moved, each once, and not more often than its timer fires", () => {
    const { line, timers, fire } = makeLine();
    const all = ["a1", "a2", "a3", "a4"].map((name) => waiter("a", name));
    for (const one of all) line.told(one, line.add(one));
    expect(timers).toHaveLength(1);
    line.next();
    line.next();
    expect(timers).toHaveLength(1);
    fire();
    expect(all.map(({ heard }) => heard)).toEqual([[], [], [1], [2]]);
    expect(timers).toHaveLength(0);
    line.add(waiter("b"));
    fire();
    expect(all.map(({ heard }) => heard)).toEqual([[], [], [1], [2, 3]]);
  });

  test("tells one that was told nothing when it came, and leaves no timer behind when it is empty", () => {
    const { line, timers, fire } = makeLine();
    const one = waiter("a");
    line.add(one);
    fire();
    expect(one.heard).toEqual([1]);
    line.add(waiter("b"));
    drain(line);
    expect(timers).toHaveLength(0);
  });

  test("one client cannot fill it: there is room left for another, and for one after that", () => {
    const { line } = makeLine(100);
    const fill = (client: string) => {
      let count = 0;
      for (; line.hasRoom(client); count++) line.add(waiter(client));
      return count;
    };
    expect(fill("a")).toBe(90);
    expect(fill("b")).toBe(9);
    expect(fill("c")).toBe(1);
    expect(fill("d")).toBe(0);
    expect(line.size).toBe(100);
  });

  test("nobody starves: with k clients the n-th of any waits at most k·n turns, whoever comes meanwhile", () => {
    const act = fc.oneof(
      fc.record({ add: fc.nat({ max: 4 }) }),
      fc.constant({ serve: true as const }),
      fc.record({ leave: fc.nat() }),
    );
    fc.assert(
      fc.property(fc.array(act, { maxLength: 200 }), (acts) => {
        const { line } = makeLine();
        const inLine: { one: Named; due: number }[] = [];
        let turns = 0;
        const served = (one: Named | undefined) => {
          if (one === undefined) return;
          turns++;
          const at = inLine.findIndex((entry) => entry.one === one);
          const own = inLine.filter((entry) => entry.one.client === one.client);
          // Of its own client nobody came earlier, and it has not waited longer than its due.
          expect(own[0]?.one).toBe(one);
          expect(turns).toBeLessThanOrEqual(inLine[at]!.due);
          inLine.splice(at, 1);
        };
        for (const one of acts) {
          if ("add" in one) {
            const client = `client-${one.add}`;
            const place = inLine.filter((entry) => entry.one.client === client).length + 1;
            const added = waiter(client);
            const position = line.add(added);
            inLine.push({ one: added, due: turns + 5 * place });
            expect(line.inOrder().indexOf(added) + 1).toBe(position);
          } else if ("serve" in one) served(line.next());
          else if (inLine.length > 0) {
            const [left] = inLine.splice(one.leave % inLine.length, 1);
            expect(line.remove(left!.one)).toBe(true);
          }
          expect(line.size).toBe(inLine.length);
          expect(new Set(line.inOrder())).toEqual(new Set(inLine.map((entry) => entry.one)));
        }
        for (let next = line.next(); next !== undefined; next = line.next()) served(next);
        expect(inLine).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
