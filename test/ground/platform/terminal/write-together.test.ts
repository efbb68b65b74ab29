import { once } from "node:events";
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { nextTurn } from "../../../../core/ground/platform/engine/next-turn.ts";
import { writeTogether } from "../../../../core/ground/platform/processes/guarded-process.ts";

/** A pipe that notes each of its calls. */
class Noted extends Writable {
  readonly calls: string[] = [];
  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    this.calls.push(String(chunk));
    done();
  }
  override _writev(chunks: { chunk: Uint8Array }[], done: () => void): void {
    this.calls.push(chunks.map(({ chunk }) => String(chunk)).join("+"));
    done();
  }
}

const bytes = (text: string) => new TextEncoder().encode(text);

test("writes the first of a turn at once and the rest of it together, in order", async () => {
  const pipe = new Noted();
  const write = writeTogether(pipe);
  for (const text of ["a", "b", "c"]) write(bytes(text));
  expect([pipe.calls, pipe.writableLength]).toEqual([["a"], 2]);
  await nextTurn();
  expect(pipe.calls).toEqual(["a", "b+c"]);
  await nextTurn();
  write(bytes("d"));
  expect(pipe.calls).toEqual(["a", "b+c", "d"]);
});

test("writes nothing to a pipe that is gone, also when it goes in the middle of a turn", async () => {
  const pipe = new Noted();
  const write = writeTogether(pipe);
  write(bytes("a"));
  write(bytes("b"));
  pipe.destroy();
  write(bytes("c"));
  await once(pipe, "close");
  await nextTurn();
  expect(pipe.calls).toEqual(["a"]);
});
