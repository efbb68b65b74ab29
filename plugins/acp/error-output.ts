import {
  type AdapterEvent,
  type RateLimitDetector,
  type RateLimitEvent,
  readLines,
  type RunningProcess,
} from "bulkhead/plugin-sdk";

/** Colours and other commands to a terminal, which begin with the character "escape". */
const commands = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`, "g");

/** Collaborators of {@link errorOutput}. */
interface ErrorOutputDeps {
  detector: RateLimitDetector;
  /** Takes what was printed. */
  heard(text: string): void;
  /** Whether a line may be a tool's: some agents copy what their tools print. */
  isToolOutput(line: string): boolean;
  /** Takes a sign of a rate limit, and returns the events that report it now. */
  limited(limit: RateLimitEvent): AdapterEvent[];
}

/** Reads what an agent prints on its error output, line by line. */
export function errorOutput(
  child: RunningProcess,
  { detector, heard, isToolOutput, limited }: ErrorOutputDeps,
): AsyncGenerator<AdapterEvent[], void, void> {
  return readLines(child.stderr, {
    isText: true,
    read: ({ text, end, line }) => {
      heard(text + end);
      const output: AdapterEvent = { type: "output", stream: "stderr", data: text + end };
      const plain = line.replace(commands, "").trim();
      if (end === "" || !detector.detect(plain) || isToolOutput(plain)) return [output];
      return [output, ...limited(limitEvent(plain, detector))];
    },
  });
}

/** Makes the event for a text that shows a rate limit. */
export function limitEvent(text: string, detector: RateLimitDetector): RateLimitEvent {
  const seconds = detector.extractWaitTime(text);
  return { type: "rate_limit", message: text.slice(0, 4096), wait_ms: seconds === null ? null : seconds * 1000 };
}
