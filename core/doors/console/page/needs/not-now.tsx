import type { WaitingItem } from "../../../http/waiting-item.ts";
import { attempt, useConsole } from "../console-context.ts";
import { useMay } from "../may.tsx";

/** Puts an item off, on the host: it comes back when something newer asks for the same. */
export function NotNow({ item: { id, at } }: { item: WaitingItem }) {
  const found = useConsole();
  if (!useMay("admin") || at === null) return null;
  const putOff = async () => {
    const told = "Put off until it is asked for again.";
    const isDone = await attempt(found, told, () => found.api.send("POST", "/v1/waiting/aside", { id, at }));
    if (isDone) found.waiting.items.value = found.waiting.items.value.filter((one) => one.id !== id);
    found.waiting.touch();
  };
  return <button type="button" class="plain" onClick={() => void putOff()}>Not now</button>;
}
