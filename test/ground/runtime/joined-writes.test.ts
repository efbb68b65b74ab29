import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { joinedWrites } from "../../../core/ground/runtime/joined-writes.ts";

test("what is written within a turn is written at once and in order, and nothing to a closed stream", async () => {
  const written: string[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      written.push(String(chunk));
      done();
    },
    writev: (chunks, done) => {
      written.push(chunks.map(({ chunk }) => String(chunk)).join(" "));
      done();
    },
  });
  const write = joinedWrites(stream);
  const text = (word: string) => write(new TextEncoder().encode(word));
  text("one");
  await null;
  text("two");
  expect(written).toEqual([]);
  await expect.poll(() => written).toEqual(["one two"]);
  text("three");
  await expect.poll(() => written).toEqual(["one two", "three"]);
  stream.destroy();
  text("four");
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(written).toEqual(["one two", "three"]);
});
