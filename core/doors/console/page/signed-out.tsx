import { Command } from "./parts.tsx";

/** A page without a token: it says how to get one. */
export function SignedOut({ why }: { why?: string }) {
  return (
    <main class="signed-out">
      <img src="/console/icon.svg" alt="" width="48" height="48" />
      <h1>Bulkhead</h1>
      {why !== undefined && <p class="failed-text" role="alert">{why}</p>}
      <p>This page keeps its key in memory only, so a new or reloaded page needs a new one. Run:</p>
      <p>
        <Command text="bulkhead console" />
      </p>
    </main>
  );
}
