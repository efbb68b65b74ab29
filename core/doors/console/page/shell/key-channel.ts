import { fieldsOrNone } from "../../../../../plugin-sdk/json-fields.ts";
import type { PageKey } from "../api.ts";
import { isOver, keptKey, readKey } from "./page-key.ts";

/** Time in which another tab answers. Milliseconds. */
const answerMs = 150;

/** Asks the other tabs of this address for a key; null where none has one. */
export async function askTabs(): Promise<PageKey | null> {
  const tabs = openTabs();
  try {
    return await new Promise((resolve) => {
      setTimeout(() => resolve(null), answerMs);
      tabs.listen({ key: resolve });
      tabs.ask();
    });
  } finally {
    tabs.close();
  }
}

/** Gives the key of this tab to those that have none, at once and when they ask. */
export function shareKey(key: PageKey): void {
  const tabs = openTabs();
  tabs.listen({ asked: () => keptKey()?.id === key.id && !isOver(key) && tabs.give(key) });
  tabs.give(key);
}

/** Calls a function with the key that another tab gets; returns the end of it. */
export function awaitKey(take: (key: PageKey) => void): () => void {
  const tabs = openTabs();
  tabs.listen({ key: take });
  return tabs.close;
}

interface TabListener {
  asked?: () => unknown;
  key?: (key: PageKey) => void;
}

/** Opens the way between tabs: only pages of the same scheme, host and port hear it. */
function openTabs() {
  const channel = new BroadcastChannel("bulkhead-key");
  return {
    ask: () => channel.postMessage({ asks: true }),
    give: (key: PageKey) => channel.postMessage({ key }),
    close: () => channel.close(),
    listen({ asked, key: take }: TabListener) {
      channel.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
        const fields = fieldsOrNone(data);
        const key = readKey(fields["key"]);
        if (key !== null && !isOver(key)) take?.(key);
        else if (fields["asks"] === true) asked?.();
      });
    },
  };
}
