import { readdir, readFile } from "node:fs/promises";
import { EventChecker } from "../../plugin-sdk/testing/event-checker.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";

/** What one recording became. */
export interface ReadRecording {
  events: AdapterEvent[];
  /** How many events of each type. */
  counts: Record<string, number>;
  /** What breaks the contract, but for what the program's early end leaves open. */
  violations: string[];
}

/** Names of the recordings in a folder of fixtures, without their extension, sorted. */
export async function recordingsIn(folder: URL): Promise<string[]> {
  const names = await readdir(folder);
  return names.filter((name) => name.endsWith(".jsonl")).map((name) => name.replace(/\.jsonl$/, "")).sort();
}

/** The text of a recording, which may lie in several files. */
export async function recordedText(...files: readonly URL[]): Promise<string> {
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  return texts.join("").replaceAll("{{workdir}}", "/work");
}

/** Reads a recording's lines by a parser that is made afresh. */
export async function readRecording(
  file: URL | readonly URL[],
  read: (line: string) => AdapterEvent[],
  end: () => AdapterEvent[] = () => [],
): Promise<ReadRecording> {
  const text = await recordedText(...[file].flat() as URL[]);
  const events = text.split("\n").flatMap((line) => (line === "" ? [] : read(line)));
  return judgeEvents([...events, ...end()]);
}

/** Holds events to the contract, and counts them. */
export function judgeEvents(events: AdapterEvent[]): ReadRecording {
  const checker = new EventChecker();
  const counts: Record<string, number> = {};
  for (const event of events) {
    checker.check(event);
    counts[event.type] = (counts[event.type] ?? 0) + 1;
  }
  return { events, counts, violations: checker.violations };
}

/** What the agent printed. */
export function printed(events: readonly AdapterEvent[]): string {
  return events.map((event) => (event.type === "output" && event.stream === "stdout" ? event.data : "")).join("");
}
