import { expect, test } from "vitest";
import { eventSentence } from "../../../core/sessions/host/event-sentence.ts";

const sentence = (message: string) => eventSentence({ type: "progress", message }).text;

test("eventSentence makes one short line of an agent's text, without what a terminal or a reader is deceived by", () => {
  expect(sentence("all\r\n  is\twell ")).toBe("all is well");
  expect(sentence("a\u001b[2J\u001b]52;c;AA\u0007\u009b31m")).toBe("a\\u{1b}[2J\\u{1b}]52;c;AA\\u{7}\\u{9b}31m");
  expect(sentence("invoice\u202efdp.exe")).toBe("invoice\\u{202e}fdp.exe");
  expect(sentence("x".repeat(1_000_000))).toBe(`${"x".repeat(199)}…`);
  expect(sentence(`${"x".repeat(198)}😀😀`)).toBe(`${"x".repeat(198)}…`);
  expect(sentence("x".repeat(200))).toBe("x".repeat(200));
});

test("eventSentence warns of a guarded place that changed, and of no other write that was allowed", () => {
  const write = { type: "capability", permission: "write", target: "workdir:AGENTS.md", decision: "allowed" } as const;
  expect(eventSentence(write).weight).toBe("debug");
  expect(eventSentence({ ...write, reason: "It was removed." })).toMatchObject({
    weight: "warning",
    text: "Write workdir:AGENTS.md: It was removed.",
  });
});
