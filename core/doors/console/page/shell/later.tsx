import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts.tsx";

/** Loads a part of the page that is a script of its own, once. */
type Load<T> = () => Promise<T>;

const loading = new Map<Load<unknown>, Promise<unknown>>();

/** The screens for reading changes. */
export const reviewScreens = (): Promise<typeof import("../review/screens.ts")> => import("../review/screens.ts");

/** The palette. */
export const palette = (): Promise<typeof import("./palette.tsx")> => import("./palette.tsx");

/** Loads a part of the page, and draws something of it. */
export function Later<T extends object>(
  { load, children }: { load: Load<T>; children: (part: T) => ComponentChildren },
) {
  const [part, setPart] = useState<T | "failed" | null>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let isHere = true;
    const loads = loading.get(load) as Promise<T> | undefined ?? load();
    loading.set(load, loads);
    loads.then((found) => isHere && setPart(() => found), () => {
      loading.delete(load);
      if (isHere) setPart("failed");
    });
    return () => void (isHere = false);
  }, [tries]);
  if (part === null) return <p class="quiet-line">Reading …</p>;
  if (part !== "failed") return <>{children(part)}</>;
  return (
    <>
      <Failure text="Cannot load this screen: the host is not reachable." hint="Try again, or load the page again." />
      <button type="button" onClick={() => setTries(tries + 1)}>Try again</button>
    </>
  );
}
