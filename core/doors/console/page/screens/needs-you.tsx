import { useEffect, useRef, useState } from "preact/hooks";
import { attempt, type Console, useConsole } from "../console-context.ts";
import { Batch, isAlike } from "../batch.tsx";
import { Input } from "../event-row.tsx";
import { ConflictAnswer, type ConflictFacts, ConflictList } from "../conflict-item.tsx";
import { GrantForm } from "../grant-form.tsx";
import { HeldAnswer } from "../held-item.tsx";
import { useKeys } from "../keys.ts";
import { Notifications } from "../shell/notifications.tsx";
import { Ago, Command, durationText, Empty, Failure, Screen, toggled } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { LongText, Text } from "../text.tsx";
import type { WaitingItem } from "../../../http/waiting-item.ts";

/** The inbox: everything that waits for a person, answered in place. */
export function NeedsYou() {
  const items = useConsole().waiting.items.value;
  const { list, current, picked, chosen, batch, setAt, setChosen, setBatch, toggle, sendBatch } = useInbox(items);
  return (
    <Screen
      title="Needs you"
      lead={items.length === 0 ? "Everything that waits for a person" : (
        <span>
          <b>{items.length}</b> {items.length === 1 ? "thing waits" : "things wait"}, the oldest first
        </span>
      )}
      actions={<Notifications />}
    >
      <InboxHead />
      {(picked.length > 1 || batch !== null) && (
        <Batch
          picked={picked}
          index={batch}
          choose={setBatch}
          send={sendBatch}
          clear={() => setChosen(new Set())}
          words={askedText}
        />
      )}
      <ol class="inbox" ref={list}>
        {items.map((item) => (
          <Item
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
    if (batch === null && item !== undefined && isAlike(picked[0] ?? item, item)) setChosen(toggled(chosen, id));
  };
  const pickLike = (current: WaitingItem | undefined) => {
    const first = picked[0] ?? current;
    if (batch !== null || first === undefined) return;
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
      return list.current?.querySelectorAll<HTMLElement>(".current .answers > :is(button, a)")[index]?.click();
    }
    if (batch !== null) return;
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

/** The words above the items: a failure, that nothing waits, or the keys. */
function InboxHead() {
  const { waiting } = useConsole();
  const state = waiting.state.value;
  const isEmpty = waiting.items.value.length === 0;
  return (
    <>
      {typeof state === "object" && <Failure text={state.failed} />}
      {isEmpty && state === "ready" && (
        <Empty title="Nothing waits for you">
          <p>
            Requests of agents, missing grants, plugins in quarantine, conflicts and changes that can run programs
            appear here the moment they come up.
          </p>
          <p>
            <a class="button" href={addressOf("start")}>Start a session</a>{" "}
            <a class="button plain" href={addressOf("sessions")}>See all sessions</a>
          </p>
        </Empty>
      )}
      {!isEmpty && (
        <p class="keys-line">
          <kbd>j</kbd> <kbd>k</kbd> move · <kbd>1</kbd>–<kbd>9</kbd> answer · <kbd>x</kbd> select · <kbd>a</kbd>{" "}
          select all like it · <kbd>o</kbd> open the session
        </p>
      )}
    </>
  );
}

function Item(
  { item, isCurrent, isPicked, canPick, focus, toggle }: {
    item: WaitingItem;
    isCurrent: boolean;
    isPicked: boolean;
    canPick: boolean;
    focus: () => void;
    toggle: () => void;
  },
) {
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isCurrent) element.current?.scrollIntoView({ block: "nearest" });
  }, [isCurrent]);
  return (
    <li
      ref={element}
      class={`item item-${item.kind}${isCurrent ? " current" : ""}`}
      onClick={focus}
      aria-current={isCurrent ? "true" : undefined}
    >
      <ItemHead item={item} isPicked={isPicked} canPick={canPick} toggle={toggle} />
      {item.session_id !== null && <ItemSession item={item} id={item.session_id} />}
      <About item={item} />
      <Answer item={item} isCurrent={isCurrent} />
    </li>
  );
}

function ItemHead(
  { item, isPicked, canPick, toggle }: { item: WaitingItem; isPicked: boolean; canPick: boolean; toggle: () => void },
) {
  const asked = askedText(item);
  return (
    <header>
      {item.kind === "permission" && (
        <input
          type="checkbox"
          checked={isPicked}
          disabled={!canPick}
          title={canPick ? undefined : "Another tool, or other choices, than those that are selected"}
          aria-label={`Select: ${plainText(asked, 80)}`}
          onChange={toggle}
        />
      )}
      <span class={`tag tag-${item.kind}`}>{kinds[item.kind]}</span>
      <strong class="item-title">
        <Text of={asked} />
      </strong>
      <span class="item-times">
        {item.at !== null && <Ago at={item.at} />}
        {item.deadline !== null && (
          <span class="deadline">
            <Ago at={item.deadline} until /> left
            {item.deadline_cut_from_ms !== null &&
              ` (limits.answer_timeout_ms, not the ${durationText(item.deadline_cut_from_ms)} asked for)`}
          </span>
        )}
      </span>
    </header>
  );
}

function ItemSession({ item, id }: { item: WaitingItem; id: string }) {
  const who = item.adapter_id ?? item.plugin_id;
  const asked = askedText(item);
  return (
    <p class="item-who">
      {who !== null && (
        <b>
          <Text of={who} />
        </b>
      )}
      <a class="one-line" href={addressOf("sessions", id)}>
        {(asked === item.title ? "" : plainText(item.title, 120)) || `session ${id.slice(0, 8)}`}
      </a>
    </p>
  );
}

const kinds: Readonly<Record<WaitingItem["kind"], string>> = {
  permission: "Permission",
  question: "Question",
  grant: "Missing grant",
  quarantine: "Quarantine",
  conflict: "Conflict",
  held: "Can run programs",
};

/** One line that says what is wanted: the words of a request, since its title is the session's. */
export function askedText({ request_id, title, text }: Pick<WaitingItem, "request_id" | "title" | "text">): string {
  return plainText(request_id !== null && text !== "" ? text : title, longestAsked);
}

const longestAsked = 300;

/** Texts that differ by their line breaks alone say the same. */
function folded(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Subject of a request: the command, the change, or the input. */
export function About(
  { item }: { item: Pick<WaitingItem, "title" | "text" | "command" | "input" | "kind" | "request_id"> },
) {
  return (
    <>
      {item.text !== "" && folded(item.text) !== folded(item.title) && folded(item.text) !== folded(askedText(item)) &&
        <LongText of={item.text} class="prose" />}
      {item.kind === "conflict" && <ConflictList of={item.input as ConflictFacts} />}
      {item.command !== null && (
        <p class="quiet-line">
          In a terminal: <Command text={item.command} />
        </p>
      )}
      {item.request_id !== null && item.input !== null && item.input !== undefined && <Input of={item.input} />}
    </>
  );
}

/** The ways to answer one item. */
export function Answer({ item, isCurrent = false }: { item: WaitingItem; isCurrent?: boolean }) {
  const found = useConsole();
  if (item.request_id !== null) return <RequestAnswer item={item} isCurrent={isCurrent} />;
  if (item.kind === "conflict") return <ConflictAnswer item={item} />;
  if (item.kind === "held") return <HeldAnswer item={item} />;
  if (item.kind === "grant") return <GrantAnswer item={item} />;
  return (
    <div class="answers">
      {item.plugin_id !== null && (
        <button
          type="button"
          class="primary"
          onClick={() => void release(found, item)}
        >
          Let it run again
        </button>
      )}
      {item.hint !== null && (
        <span class="quiet-line">
          <Text of={item.hint} />
        </span>
      )}
    </div>
  );
}

/** The choices of a request, or a field for an answer in one's own words. */
function RequestAnswer({ item, isCurrent }: { item: WaitingItem; isCurrent: boolean }) {
  const found = useConsole();
  const [text, setText] = useState("");
  const free = item.kind === "question" && item.choices.length === 0;
  return (
    <div class="answers" role="group" aria-label="Answer">
      {item.choices.map(({ id, label, kind }, index) => (
        <button
          type="button"
          class={kind === "allow_once" ? "primary" : kind.startsWith("reject") ? "danger" : ""}
          onClick={() => void answer(found, item, index)}
        >
          {isCurrent && index < 9 && <kbd>{index + 1}</kbd>} <Text of={plainText(label || id, 80)} />
        </button>
      ))}
      {free && (
        <form class="free-answer" onSubmit={(event) => (event.preventDefault(), void answerText(found, item, text))}>
          <input
            type="text"
            aria-label="Your answer"
            value={text}
            onInput={({ currentTarget }) =>
              setText(currentTarget.value)}
          />
          <button type="submit" class="primary">Answer</button>
        </form>
      )}
    </div>
  );
}

/** A missing grant: it is tried on the history and given in place. */
function GrantAnswer({ item: { plugin_id, input } }: { item: WaitingItem }) {
  const { waiting } = useConsole();
  const [asks, setAsks] = useState(false);
  const id = plugin_id ?? "";
  const { permission, target } = input as { permission: string; target: string };
  if (asks) {
    return (
      <GrantForm
        plugin={{ id, name: id }}
        permission={permission === "run_env" ? "run" : permission}
        target={target}
        close={() => setAsks(false)}
        changed={() => waiting.touch()}
      />
    );
  }
  return (
    <div class="answers">
      {permission !== "limits" && <button type="button" class="primary" onClick={() => setAsks(true)}>Grant …</button>}
      <a class="button" href={addressOf("walls", id)}>All its permissions</a>
    </div>
  );
}

async function release(found: Console, { plugin_id }: WaitingItem): Promise<void> {
  const path = `/v1/plugins/${encodeURIComponent(plugin_id ?? "")}/release`;
  await attempt(found, `${plugin_id} may run again.`, () => found.api.send("POST", path));
  found.waiting.touch();
}

/** Answers a request with its choice of this number. */
async function answer(found: Console, item: WaitingItem, index: number): Promise<void> {
  const choice = item.choices[index];
  if (item.request_id !== null && choice !== undefined) await answerText(found, item, choice.id);
}

async function answerText(found: Console, item: WaitingItem, choice: string): Promise<void> {
  const label = item.choices.find(({ id }) => id === choice)?.label ?? choice;
  const done = await attempt(found, `Answered: ${plainText(label, 80)}`, () => post(found, item, choice));
  if (done) found.waiting.items.value = found.waiting.items.value.filter(({ id }) => id !== item.id);
  found.waiting.touch();
}

/** Answers like requests, one after the other; the notice is one. Those that meanwhile need no answer stay as they are. */
async function answerTogether(found: Console, items: readonly WaitingItem[], index: number): Promise<void> {
  const open = new Set(found.waiting.items.value.map(({ id }) => id));
  const those = items.filter(({ id }) => open.has(id));
  const label = plainText(those[0]?.choices[index]?.label ?? "", 80);
  await attempt(found, `Answered ${those.length}: ${label}`, async () => {
    for (const item of those) await post(found, item, item.choices[index]?.id ?? "");
  });
  found.waiting.touch();
}

async function post({ api }: Console, { session_id, request_id }: WaitingItem, choice: string): Promise<unknown> {
  const path = `/v1/sessions/${encodeURIComponent(session_id ?? "")}/answers`;
  return await api.send("POST", path, { request_id, choice });
}
