import { useEffect, useState } from "preact/hooks";
import type { WaitingItem } from "../../../http/waiting-item.ts";
import { type Console, useConsole } from "../console-context.ts";
import { plainText } from "../shown-text.ts";

/** A switch for the desktop's notifications; off until a person asks for them. */
export function Notifications() {
  const { notifies } = useConsole();
  const [refused, setRefused] = useState(false);
  if (!("Notification" in globalThis)) return null;
  const set = async () => {
    if (notifies.value) return void (notifies.value = false);
    const answer = await Notification.requestPermission();
    notifies.value = answer === "granted";
    setRefused(answer !== "granted");
  };
  return (
    <label class="switch" title={refused ? "The browser does not allow it for this page." : undefined}>
      <input type="checkbox" role="switch" checked={notifies.value} onChange={() => void set()} />
      <span>{refused ? "The browser refused" : "Notify me"}</span>
    </label>
  );
}

/** Shows how many things block a session in the page's title, and tells the desktop of the new ones, as long as they wait. */
export function useBadge({ waiting, notifies }: Console): void {
  const items = waiting.blocking.value;
  const [known] = useState(() => new Map<string, Notification | null>());
  useEffect(() => void (waiting.isWatched = notifies.value), [notifies.value]);
  useEffect(() => {
    document.title = items.length === 0 ? "Bulkhead" : `(${items.length}) Bulkhead`;
    for (const item of items) {
      if (!known.has(item.id)) known.set(item.id, notifies.value && document.hidden ? tell(item) : null);
    }
    const left = new Set(items.map(({ id }) => id));
    for (const [id, shown] of known) {
      if (left.has(id)) continue;
      shown?.close();
      known.delete(id);
    }
  }, [items]);
}

/** Shows a notice of the desktop about one thing that waits. */
function tell({ id, title, adapter_id, plugin_id }: WaitingItem): Notification {
  const options = { body: plainText(title, 120), tag: id };
  const shown = new Notification(`${adapter_id ?? plugin_id ?? "Bulkhead"} waits for you`, options);
  shown.onclick = () => (globalThis.focus(), shown.close());
  return shown;
}
