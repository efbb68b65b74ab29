import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { attempt, type Console } from "../console-context.ts";
import { goTo, screens } from "../route.ts";
import { type PageTheme, setTheme, themes } from "./theme.ts";

/** One line of the palette. */
export interface PaletteEntry {
  key: string;
  kind: "screen" | "action" | "session";
  title: string;
  hint: string;
  /** Only where it is one. */
  session?: SessionSummary;
  act(): void;
}

/** Sessions that are stopped together: a host runs fewer. */
const mostRunning = 500;

/** Returns the screens and actions that have all of the words. */
export function entriesOf(found: Console, text: string): PaletteEntry[] {
  const words = text.toLowerCase().split(/\s+/);
  return [...screenEntries(), ...found.canRun ? runEntries(found) : [], ...themeEntries(found)]
    .filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
}

function screenEntries(): PaletteEntry[] {
  return screens.map(({ name, title, key }) => ({
    key: `screen ${name}`,
    kind: "screen",
    title,
    hint: `g ${key}`,
    act: () => goTo(name),
  }));
}

function runEntries(found: Console): PaletteEntry[] {
  return [
    { key: "start", kind: "action", title: "Start a session", hint: "", act: () => goTo("start") },
    {
      key: "stop",
      kind: "action",
      title: "Stop all running sessions",
      hint: "5 s to undo",
      act: () => void attempt(found, null, () => stopAll(found)),
    },
  ];
}

/** Stops what runs, and goes to where that can be taken back. */
async function stopAll({ api, stopping, notice }: Console): Promise<void> {
  const query = { state: "running", limit: mostRunning };
  const { sessions } = await api.get<{ sessions: SessionSummary[] }>("/v1/sessions", query);
  if (sessions.length === 0) return void (notice.value = { text: "No session runs.", isFailure: false });
  stopping.begin(sessions.map(({ session_id }) => session_id));
  goTo("sessions");
}

function themeEntries({ theme }: Console): PaletteEntry[] {
  return (Object.keys(themes) as PageTheme[]).map((one) => ({
    key: `theme ${one}`,
    kind: "action",
    title: `Theme: ${themes[one]}`,
    hint: theme.value === one ? "now" : "",
    act: () => setTheme(theme, one),
  }));
}
