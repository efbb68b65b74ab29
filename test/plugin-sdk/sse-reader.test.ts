import { describe, expect, test } from "vitest";
import { SseReader } from "../../plugin-sdk/sse-reader.ts";

describe("an answer that is no stream of events", () => {
  function read(text: string, size: number): SseReader {
    const reader = new SseReader();
    for (let at = 0; at < text.length; at += size) reader.take(text.slice(at, at + size));
    reader.end();
    return reader;
  }

  test.each([1, 7, 1000])("is kept, also where it comes in pieces of %d", (size) => {
    const error = '{\n  "error": {"message": "no such key"}\n}';
    expect(read(error, size).other).toBe(error);
    expect(read("\r\n<html>\r\n", size).other).toBe("<html>");
    for (const stream of ["", "\n\n", ": ping\n\n", 'data: {"a', "event: x\n", "junk\ndata: a\n\n"]) {
      expect(read(stream, size).other).toBe("");
    }
    expect(read("x".repeat(100_000), 1000).other).toHaveLength(16_384);
  });
});
