import { useEffect } from "preact/hooks";
import { Command } from "../parts.tsx";
import { awaitKey } from "./key-channel.ts";
import { keepKey, wantPlace } from "./page-key.ts";

/** A page without a key: it says why, how to get one, and goes on by itself once another tab has one. */
export function SignedOut({ why }: { why?: string | undefined }) {
  useEffect(() => {
    document.title = "Bulkhead";
    wantPlace(location.hash);
    return awaitKey((key) => {
      keepKey(key);
      location.reload();
    });
  }, []);
  return (
    <main class="signed-out">
      <img src="/console/icon.svg" alt="" width="48" height="48" />
      <h1>Bulkhead</h1>
      {why !== undefined && <p class="failed-text" role="alert">{why}</p>}
      <p>This tab has no key. To get one, run:</p>
      <p>
        <Command text="bulkhead console" />
      </p>
      <p class="quiet-line">
        The page that it opens shows the place that you asked for here. A tab stays signed in until you close it, sign
        out, or 12 hours have passed.
      </p>
    </main>
  );
}
