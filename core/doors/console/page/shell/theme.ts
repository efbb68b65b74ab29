import { tried } from "../kept-entries.ts";
import { type Signal, signal } from "@preact/signals";

/** Looks of the page, by the words of their buttons. */
export const themes = { system: "System", light: "Light", dark: "Dark" } as const;

const kept = "bulkhead-theme";

/** One of {@link themes}. */
export type PageTheme = keyof typeof themes;

/** Returns the theme that the page has, and goes on with what another tab chooses. */
export function followTheme(): Signal<PageTheme> {
  const shown = () => (document.documentElement.dataset["theme"] ?? "system") as PageTheme;
  const theme = signal(shown());
  // The first script has set it before: it listens since earlier.
  addEventListener("storage", () => (theme.value = shown()));
  return theme;
}

/** Shows the page in a theme, and keeps it in this browser. */
export function setTheme(theme: Signal<PageTheme>, next: PageTheme): void {
  theme.value = next;
  if (next === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
  // A browser may refuse its storage: then the theme is that of this page.
  tried(() => next === "system" ? localStorage.removeItem(kept) : localStorage.setItem(kept, next));
}
