import type { ComponentChildren } from "preact";
import { unreachableText } from "../api.ts";
import { Failure, useLoaded } from "../parts.tsx";

/** Loads a part of the page that is a script of its own, once. */
type Load<T> = () => Promise<T>;

const loading = new Map<Load<unknown>, Promise<unknown>>();

/** The screens for reading changes. */
export const reviewScreens = (): Promise<typeof import("../review/screens.ts")> => import("../review/screens.ts");

/** The screen of costs, with its plot. */
export const spendScreen = (): Promise<typeof import("../spend/spend.tsx")> => import("../spend/spend.tsx");

/** The palette. */
export const palette = (): Promise<typeof import("./palette.tsx")> => import("./palette.tsx");

/** Loads a part of the page, and draws something of it. What failed is loaded again as other reads are. */
export function Later<T extends object>(
  { load, children }: { load: Load<T>; children: (part: T) => ComponentChildren },
) {
  const [part] = useLoaded(() => loadOnce(load), [load]);
  if (part === undefined) return <p class="quiet-line">Reading …</p>;
  if ("value" in part) return <>{children(part.value)}</>;
  return <Failure text={unreachableText} hint="Load the page again if this stays." />;
}

/** Asks first whether the host is there: a browser tries no script again that it could not load. */
function loadOnce<T extends object>(load: Load<T>): Promise<T> {
  const loads = loading.get(load) as Promise<T> | undefined ??
    fetch(location.pathname, { method: "HEAD", cache: "no-store" }).then(load);
  loading.set(load, loads);
  loads.catch(() => loading.delete(load));
  return loads;
}
