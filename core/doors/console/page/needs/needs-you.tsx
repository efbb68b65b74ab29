import { useRef, useState } from "preact/hooks";
import type { WaitingItem } from "../../../http/waiting-item.ts";
import { type Console, useConsole } from "../console-context.ts";
import { useKeys } from "../keys.ts";
import { Notifications } from "../shell/notifications.tsx";
import { May } from "../may.tsx";
import { Command, Failed, Screen, toggled } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { Batch, isAlike } from "./batch.tsx";
import { EmptyInbox } from "./empty-inbox.tsx";
import { ItemCard } from "./item-card.tsx";
import { answer, answerTogether } from "./send-answer.ts";

/** The inbox: everything that waits for a person, answered in place. */
export function NeedsYou() {
  const items = useShown();
  const { list, current, picked, chosen, batch, setAt, setChosen, setBatch, toggle, sendBatch } = useInbox(items);
  return (
    <Screen
      title="Needs you"
      lead={items.length === 0 ? "Everything that waits for a person" : (
        <span>
          <b>{items.length}</b> {items.length === 1 ? "thing waits" : "things wait"}, what ends first on top
        </span>
      )}
      actions={<Notifications />}
    >
      <InboxHead isEmpty={items.length === 0} />
      {(picked.length > 1 || batch !== null) && (
        <Batch
          picked={picked}
          index={batch}
          choose={setBatch}
          send={sendBatch}
          clear={() => setChosen(new Set())}
        />
      )}
      <ol class="inbox" ref={list}>
        {items.map((item) => (
          <ItemCard
            key={item.id}
            item={item}
            isCurrent={item === current}
            isPicked={chosen.has(item.id)}
            canPick={batch === null && isAlike(picked[0] ?? item, item)}
            focus={() => setAt(item.id)}
            toggle={() => toggle(item.id)}
          />
        ))}
      </ol>
    </Screen>
  );
}

/** The like items that are selected, and the choice that is about to go to all of them. */
function useBatch(found: Console, items: readonly WaitingItem[]) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [batch, setBatch] = useState<number | null>(null);
  const marked = items.filter(({ id }) => chosen.has(id));
  const picked = marked.filter((item) => isAlike(marked[0]!, item));
  const toggle = (id: string) => {
    const item = items.find((one) => one.id === id);
    if (found.canRun && batch === null && item !== undefined && isAlike(picked[0] ?? item, item)) {
      setChosen(toggled(chosen, id));
    }
  };
  const pickLike = (current: WaitingItem | undefined) => {
    const first = picked[0] ?? current;
    if (!found.canRun || batch !== null || first === undefined) return;
    setChosen(new Set(items.filter((item) => isAlike(first, item)).map(({ id }) => id)));
  };
  const sendBatch = (those: readonly WaitingItem[], index: number) => {
    setBatch(null);
    setChosen(new Set());
    void answerTogether(found, those, index);
  };
  return { picked, chosen, batch, setChosen, setBatch, toggle, pickLike, sendBatch };
}

/** The item at which a person is, those that are selected, and the keys that move, select and answer. */
function useInbox(items: readonly WaitingItem[]) {
  const found = useConsole();
  const [at, setAt] = useState<string | null>(null);
  const batches = useBatch(found, items);
  const { picked, batch, setChosen, setBatch, toggle, pickLike } = batches;
  const current = items.find(({ id }) => id === at) ?? items[0];
  const move = (by: number) => {
    const index = current === undefined ? 0 : items.indexOf(current) + by;
    const next = items[Math.max(0, Math.min(index, items.length - 1))];
    if (next !== undefined) setAt(next.id);
  };
  const list = useRef<HTMLOListElement>(null);
  const answerAll = async (index: number) => {
    if (picked.length === 0 && current?.request_id === null) {
      return list.current?.querySelectorAll<HTMLElement>(
        ".current :is(.answers, .permission-act) > :is(button, a)",
      )[index]?.click();
    }
    if (batch !== null || !found.canRun) return;
    if (picked.length > 1) return void (picked[0]!.choices[index] !== undefined && setBatch(index));
    const one = picked[0] ?? current;
    if (one !== undefined) await answer(found, one, index);
    setChosen(new Set());
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    x: () => current !== undefined && toggle(current.id),
    a: () => pickLike(current),
    o: () => current?.session_id && (location.hash = addressOf("sessions", current.session_id)),
    ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((key) => [String(key), () => void answerAll(key - 1)])),
  });
  return { ...batches, list, current, setAt };
}

/** Returns the items that wait for a person now: a plugin in quarantine does only while it holds up a session. */
function useShown(): readonly WaitingItem[] {
  const { waiting, sessions } = useConsole();
  const running = sessions.all.value.filter(({ state }) => state === "running");
  return waiting.items.value.filter(({ kind, plugin_id }) =>
    kind !== "quarantine" || running.some(({ adapter_id }) => adapter_id === plugin_id)
  );
}

/** The words above the items: a failure, that nothing waits, or the keys. */
function InboxHead({ isEmpty }: { isEmpty: boolean }) {
  const { waiting } = useConsole();
  const state = waiting.state.value;
  return (
    <>
      {typeof state === "object" && <Failed of={state.failed} />}
      {isEmpty && state === "ready" && <EmptyInbox />}
      {isEmpty && state === "loading" && <p class="quiet-line">Asking what waits …</p>}
      {!isEmpty && (
        <May right="run" otherwise={<LooksOnly />}>
          <p class="keys-line">
            <kbd>j</kbd> <kbd>k</kbd> move · <kbd>1</kbd>–<kbd>9</kbd> answer · <kbd>x</kbd> select · <kbd>a</kbd>{" "}
            select all like it · <kbd>o</kbd> open the session
          </p>
        </May>
      )}
    </>
  );
}

function LooksOnly() {
  return (
    <p class="quiet-line looks-only">
      This page can look, and answer nothing. For one that answers, run: <Command text="bulkhead console" />
    </p>
  );
}
