import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { Journal } from "../../records/journal/journal.ts";

/** Step that counts: below it, clocks are corrected all the time. Milliseconds. */
const stepMs = 60_000;
const everyMs = 60_000;

/** Tells that the clock is behind what was recorded by it; null where it is not. */
export function clockProblem(newest: string | undefined, now: number = Date.now()): string | null {
  const behindMs = newest === undefined ? 0 : Date.parse(newest) - now;
  return behindMs >= stepMs ? backSentence(behindMs) : null;
}

/**
 * Warns where the clock is behind the newest session of a journal, and when it is set back later.
 * @param times what tells the time, for tests
 * @returns stops it
 */
export async function watchClock(
  journal: Pick<Journal, "sessions">,
  writeLog: (record: LogRecord) => void,
  { wall = Date.now, steady = () => performance.now(), ms = everyMs }: ClockTimes = {},
): Promise<() => void> {
  const warn = (message: string | null): void => message === null ? undefined : writeLog({ level: "warn", message });
  const [newest] = await journal.sessions({ limit: 1 });
  warn(clockProblem(newest?.sorted_at, wall()));
  let last = { wall: wall(), steady: steady() };
  const plan = (): () => void =>
    startBackgroundTimer(() => {
      const now = { wall: wall(), steady: steady() };
      const backMs = last.wall + (now.steady - last.steady) - now.wall;
      if (backMs >= stepMs) warn(backSentence(backMs));
      last = now;
      cancel = plan();
    }, ms);
  let cancel = plan();
  return () => cancel();
}

interface ClockTimes {
  wall?(): number;
  steady?(): number;
  /** Time between two looks. Milliseconds. */
  ms?: number;
}

function backSentence(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  const far = minutes < 120
    ? `${minutes} min`
    : minutes < 2880
    ? `${Math.round(minutes / 60)} h`
    : `${Math.round(minutes / 1440)} days`;
  return `The clock of this machine went back by about ${far}: sessions from before seem to lie ahead, and are kept longer. ` +
    "Tokens that had expired stay expired.";
}
