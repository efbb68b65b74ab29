import { expect, test } from "vitest";
import { Turns } from "../../../../core/ground/platform/engine/turns.ts";

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

test("Turns.take lets only so many of one name go on at once, and another name at once", async () => {
  const turns = new Turns(2);
  const { open, opened } = gate();
  let busy = 0;
  let most = 0;
  const act = async () => {
    most = Math.max(most, ++busy);
    await opened;
    busy -= 1;
  };
  const all = Array.from({ length: 9 }, () => turns.take("one", act));
  expect(await turns.take("two", () => Promise.resolve("free"))).toBe("free");
  expect(busy).toBe(2);
  open();
  await Promise.all(all);
  expect([busy, most]).toEqual([0, 2]);
});

test("Turns.take keeps the order, and hands the place on when an act fails", async () => {
  const turns = new Turns(1);
  const order: number[] = [];
  const acts = Array.from({ length: 6 }, (_, index) =>
    turns.take("x", async () => {
      await null;
      order.push(index);
      if (index % 2 === 0) throw new Error(String(index));
      return index;
    }));
  const settled = await Promise.allSettled(acts);
  expect(settled.map(({ status }) => status)).toEqual([
    "rejected",
    "fulfilled",
    "rejected",
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  expect(order).toEqual([0, 1, 2, 3, 4, 5]);
});

test("Turns.take never lets more in when one comes as another leaves", async () => {
  const turns = new Turns(1);
  let busy = 0;
  const act = async () => {
    expect(++busy).toBe(1);
    await null;
    busy -= 1;
  };
  const first = turns.take("x", act);
  const second = turns.take("x", act);
  await first;
  await Promise.all([second, turns.take("x", act), turns.take("x", act)]);
});
