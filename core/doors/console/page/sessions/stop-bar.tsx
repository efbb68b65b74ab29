import { useEffect, useState } from "preact/hooks";
import { useConsole } from "../console-context.ts";

/** Shows what is selected and can be stopped; then the seconds in which that can be taken back. */
export function StopBar({ picked, clear }: { picked: readonly string[]; clear(): void }) {
  const { stopping } = useConsole();
  const pending = stopping.pending.value;
  if (pending !== null) return <Undo count={pending.ids.length} at={pending.at} />;
  if (picked.length === 0) return null;
  return (
    <div class="stop-bar" role="group" aria-label="Selected sessions">
      <b>{picked.length} selected</b>
      <button type="button" class="danger" onClick={() => (stopping.begin(picked), clear())}>
        Stop {picked.length}
      </button>
      <button type="button" class="plain" onClick={clear}>Clear</button>
    </div>
  );
}

function Undo({ count, at }: { count: number; at: number }) {
  const { stopping } = useConsole();
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((times) => times + 1), 250);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.ceil((at - Date.now()) / 1000));
  return (
    <div class="stop-bar is-pending" role="alert">
      <b>
        {count} {count === 1 ? "session is" : "sessions are"} stopped in {seconds} s
      </b>
      <button type="button" onClick={stopping.undo}>Undo</button>
      <button type="button" class="danger" onClick={() => void stopping.now()}>Stop now</button>
    </div>
  );
}
