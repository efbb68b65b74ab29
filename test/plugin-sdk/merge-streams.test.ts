import fc from "fast-check";
import { expect, test } from "vitest";
import { mergeStreams } from "../../plugin-sdk/merge-streams.ts";

async function* from<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const item of items) {
    await Promise.resolve();
    yield item;
  }
}

/** A stream that gives what the test pushes. */
function pushed<T>(): { push(item: T): void; stream: AsyncIterable<T>; pulls: number; closed: boolean } {
  const waiting: ((item: T) => void)[] = [];
  const source = {
    pulls: 0,
    closed: false,
    push: (item: T) => waiting.shift()?.(item),
    stream: {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          source.pulls++;
          return new Promise<IteratorResult<T>>((resolve) => waiting.push((value) => resolve({ done: false, value })));
        },
        return: () => {
          source.closed = true;
          return Promise.resolve({ done: true as const, value: undefined });
        },
      }),
    },
  };
  return source;
}

test("mergeStreams gives every item of every source, each source in order", async () => {
  await fc.assert(fc.asyncProperty(fc.array(fc.array(fc.nat()), { maxLength: 4 }), async (lists) => {
    const got: number[][] = lists.map(() => []);
    const sources = lists.map((list, index) => from(list.map((item) => [index, item] as const)));
    for await (const [index, item] of mergeStreams(...sources)) got[index]?.push(item);
    expect(got).toEqual(lists);
  }));
});

test("mergeStreams gives what comes first while another source is silent", async () => {
  const silent = pushed<string>();
  const loud = pushed<string>();
  const merged = mergeStreams(silent.stream, loud.stream);
  for (const word of ["a", "b", "c"]) {
    const next = merged.next();
    await Promise.resolve();
    loud.push(word);
    expect(await next).toEqual({ done: false, value: word });
  }
  await merged.return();
});

test("mergeStreams asks a source for more only when its item was taken", async () => {
  const source = pushed<number>();
  const merged = mergeStreams(source.stream);
  const first = merged.next();
  await Promise.resolve();
  source.push(1);
  await first;
  expect(source.pulls).toBe(1);
  await merged.return();
});

test("mergeStreams closes every source when the reader leaves, even one that never answers", async () => {
  const stuck = pushed<number>();
  for await (const _item of mergeStreams(stuck.stream, from([1, 2]))) break;
  expect(stuck.closed).toBe(true);
});

test("mergeStreams ends with the first failure and closes the others", async () => {
  async function* failing(): AsyncGenerator<number> {
    yield 1;
    throw new Error("broken pipe");
  }
  const stuck = pushed<number>();
  const got: number[] = [];
  const reading = (async () => {
    for await (const item of mergeStreams(failing(), stuck.stream)) got.push(item);
  })();
  await expect(reading).rejects.toThrow("broken pipe");
  expect([got, stuck.closed]).toEqual([[1], true]);
});
