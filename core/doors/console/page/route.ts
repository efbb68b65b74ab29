import { type Signal, signal } from "@preact/signals";

/** Screens, in the order of the navigation. */
export const screens = [
  { name: "needs-you", title: "Needs you", key: "n" },
  { name: "sessions", title: "Sessions", key: "s" },
  { name: "agents", title: "Agents", key: "t" },
  { name: "review", title: "Review", key: "r" },
  { name: "compare", title: "Compare", key: "c" },
  { name: "walls", title: "Walls", key: "w" },
  { name: "history", title: "History", key: "h" },
  { name: "spend", title: "Spend", key: "p" },
] as const;

/** Place in the page: `#/sessions/ID/seq` is the screen `sessions` with two words. */
export interface PagePlace {
  screen: string;
  words: string[];
}

/** Returns the page's place, and keeps it as its address says. */
export function followAddress(): Signal<PagePlace> {
  const route = signal(routeOf(location.hash));
  addEventListener("hashchange", () => (route.value = routeOf(location.hash)));
  return route;
}

/** The address of a screen. */
export function addressOf(screen: string, ...words: (string | number)[]): string {
  return `#/${[screen, ...words].map((word) => encodeURIComponent(word)).join("/")}`;
}

/** Goes to a screen. */
export function goTo(screen: string, ...words: (string | number)[]): void {
  location.hash = addressOf(screen, ...words);
}

/**
 * Takes the one-time code out of the address, so that neither the history nor a copied address has it.
 * @param place gives the place to show in its stead
 * @returns null where the address has none
 */
export function takeCode(place: () => string | null): string | null {
  const code = /^#code=([\w-]{1,256})$/.exec(location.hash)?.[1] ?? null;
  if (code !== null) history.replaceState(null, "", `${location.pathname}${place() ?? addressOf("needs-you")}`);
  return code;
}

function routeOf(hash: string): PagePlace {
  const [screen = "", ...words] = hash.replace(/^#\/?/, "").split("/").map(decoded);
  return { screen: screen === "" ? "needs-you" : screen, words };
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
