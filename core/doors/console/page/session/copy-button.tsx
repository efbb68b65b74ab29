import { useState } from "preact/hooks";

/** How long the word for a copy stays. Milliseconds. */
const saidMs = 1500;

/** Copies a text as the agent wrote it. */
export function CopyButton({ of: text, what }: { of: string; what: string }) {
  const [said, setSaid] = useState<"Copied" | "Not copied" | null>(null);
  const copy = async () => {
    // A page that is not on this machine's own address, or is not allowed to, says so.
    const isDone = await Promise.resolve(navigator.clipboard?.writeText(text)).then(
      () => navigator.clipboard !== undefined,
      () => false,
    );
    setSaid(isDone ? "Copied" : "Not copied");
    setTimeout(() => setSaid(null), saidMs);
  };
  return (
    <button type="button" class="copy" aria-label={`Copy ${what}`} onClick={() => void copy()}>
      {said ?? "Copy"}
    </button>
  );
}
