import { useEffect, useState } from "preact/hooks";
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

/** Shows how many things block a session in the page's title, and tells the desktop of all new ones. */
export function useBadge({ waiting, notifies }: Console): void {
  const items = waiting.items.value;
  const [known] = useState(() => new Set<string>());
  useEffect(() => {
    const count = waiting.blocking.value;
    document.title = count === 0 ? "Bulkhead" : `(${count}) Bulkhead`;
    for (const { id, title, adapter_id, plugin_id } of items) {
      if (known.has(id)) continue;
      known.add(id);
      if (!notifies.value || !document.hidden) continue;
      const shown = new Notification(`${adapter_id ?? plugin_id ?? "Bulkhead"} waits for you`, {
        body: plainText(title, 120),
        tag: id,
      });
      shown.onclick = () => (globalThis.focus(), shown.close());
    }
  }, [items]);
}
