import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Talk } from "./talk/talk.ts";
import type { RowPlace } from "./timeline-layout.ts";

const Place = createContext<RowPlace>({ session_id: "", isDivided: false });
const Around = createContext<Talk | null>(null);

/** Gives rows their session. */
export const RowPlaceProvider = Place.Provider;

/** Gives rows the conversation that they are of. */
export const TalkProvider = Around.Provider;

/** The place of the row that asks. */
export function useRowPlace(): RowPlace {
  return useContext(Place);
}

/** The conversation of the row that asks; null outside of one. */
export function useTalk(): Talk | null {
  return useContext(Around);
}
