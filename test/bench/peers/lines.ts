import type { Readable } from "node:stream";

/** The whole lines of a stream, all that one piece completes at a time. */
export async function* linesOf(stream: Readable): AsyncGenerator<string[], void, void> {
  let rest = "";
  for await (const piece of stream.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield lines;
  }
  if (rest !== "") yield [rest];
}
