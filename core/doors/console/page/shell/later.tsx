import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts.tsx";

type ReviewScreens = typeof import("../review/screens.ts");

let loading: Promise<ReviewScreens> | undefined;

/** Loads the screens for reading changes, which are a script of their own, and draws one of them. */
export function ReviewScreen({ children }: { children: (screens: ReviewScreens) => ComponentChildren }) {
  const [screens, setScreens] = useState<ReviewScreens | "failed" | null>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let isHere = true;
    loading ??= import("../review/screens.ts");
    loading.then((found) => isHere && setScreens(() => found), () => {
      loading = undefined;
      if (isHere) setScreens("failed");
    });
    return () => void (isHere = false);
  }, [tries]);
  if (screens === null) return <p class="quiet-line">Reading …</p>;
  if (screens !== "failed") return <>{children(screens)}</>;
  return (
    <>
      <Failure text="Cannot load this screen: the host is not reachable." hint="Try again, or load the page again." />
      <button type="button" onClick={() => setTries(tries + 1)}>Try again</button>
    </>
  );
}
