import { useEffect, useRef, useState } from "preact/hooks";
import { attempt, type Console, useConsole } from "../console-context.ts";
import { Input } from "../event-row.tsx";
import { ConflictAnswer, type ConflictFacts, ConflictList } from "../conflict-item.tsx";
import { GrantForm } from "../grant-form.tsx";
import { HeldAnswer } from "../held-item.tsx";
import { useKeys } from "../keys.ts";
import { Notifications } from "../notifications.tsx";
import { Ago, Command, durationText, Empty, Failure, Screen, toggled } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { LongText, Text } from "../text.tsx";
import type { WaitingItem } from "../../../http/waiting-item.ts";

/** The inbox: everything that waits for a person, answered in place. */
export function NeedsYou() {
  const items = useConsole().waiting.items.value;
  const { list, current, picked, chosen, setAt, setChosen, toggle, answerAll } = useInbox(items);
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
      {picked.length > 1 && <Together picked={picked} answerAll={answerAll} clear={() => setChosen(new Set())} />}
      <ol class="inbox" ref={list}>
        {items.map((item) => (
          <Item
            key={item.id}
            item={item}
            isCurrent={item === current}
            isPicked={chosen.has(item.id)}
            focus={() => setAt(item.id)}
            toggle={() => toggle(item.id)}
          />
        ))}
      </ol>
    </Screen>
  );
}

/** The item at which a person is, those that are selected, and the keys that move, select and answer. */
function useInbox(items: readonly WaitingItem[]) {
  const found = useConsole();
  const [at, setAt] = useState<string | null>(null);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const current = items.find(({ id }) => id === at) ?? items[0];
  const picked = items.filter(({ id }) => chosen.has(id));
  const move = (by: number) => {
    const index = current === undefined ? 0 : items.indexOf(current) + by;
    const next = items[Math.max(0, Math.min(index, items.length - 1))];
    if (next !== undefined) setAt(next.id);
  };
  const toggle = (id: string) => setChosen(toggled(chosen, id));
  const list = useRef<HTMLOListElement>(null);
  const answerAll = async (index: number) => {
    if (picked.length === 0 && current?.request_id === null) {
      return list.current?.querySelectorAll<HTMLElement>(".current .answers > :is(button, a)")[index]?.click();
    }
    const those = picked.length > 0 ? picked : current === undefined ? [] : [current];
    await answer(found, those, index);
    setChosen(new Set());
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    x: () => current !== undefined && toggle(current.id),
    a: () => setChosen(new Set(items.filter(({ choices }) => choices.length > 0).map(({ id }) => id))),
    o: () => current?.session_id && (location.hash = addressOf("sessions", current.session_id)),
    ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((key) => [String(key), () => void answerAll(key - 1)])),
  });
  return { list, current, picked, chosen, setAt, setChosen, toggle, answerAll };
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
          select all · <kbd>o</kbd> open the session
        </p>
      )}
    </>
  );
}

function Together(
  { picked, answerAll, clear }: {
    picked: readonly WaitingItem[];
    answerAll: (index: number) => void;
    clear: () => void;
  },
) {
  const labels = picked[0]?.choices.map(({ label }) => label) ?? [];
  const same = picked.every(({ choices }) => choices.map(({ label }) => label).join("\n") === labels.join("\n"));
  return (
    <div class="together" role="group" aria-label="Answer the selected ones together">
      <b>{picked.length} selected</b>
      {same
        ? labels.map((label, index) => (
          <button type="button" onClick={() => answerAll(index)}>{plainText(label, 60)}</button>
        ))
        : <span>Their choices differ: answer each, or press a number to take that choice of each.</span>}
      <button type="button" class="plain" onClick={clear}>Clear</button>
    </div>
  );
}

function Item(
  { item, isCurrent, isPicked, focus, toggle }: {
    item: WaitingItem;
    isCurrent: boolean;
    isPicked: boolean;
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
      <ItemHead item={item} isPicked={isPicked} toggle={toggle} />
      {item.session_id !== null && <ItemSession item={item} id={item.session_id} />}
      <About item={item} />
      <Answer item={item} isCurrent={isCurrent} />
    </li>
  );
}

function ItemHead({ item, isPicked, toggle }: { item: WaitingItem; isPicked: boolean; toggle: () => void }) {
  const asked = askedText(item);
  return (
    <header>
      {item.choices.length > 0 && (
        <input
          type="checkbox"
          checked={isPicked}
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

/** Subject of a request: the command, the change, or the input. */
export function About(
  { item }: { item: Pick<WaitingItem, "title" | "text" | "command" | "input" | "kind" | "request_id"> },
) {
  return (
    <>
      {item.text !== "" && item.text !== item.title && item.text !== askedText(item) && (
        <LongText of={item.text} class="prose" />
      )}
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
          onClick={() => void answer(found, [item], index)}
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

/** Answers requests with their choice of this number. */
async function answer(found: Console, items: readonly WaitingItem[], index: number): Promise<void> {
  const those = items.filter(({ choices, request_id }) => request_id !== null && choices[index] !== undefined);
  for (const item of those) await answerText(found, item, item.choices[index]?.id ?? "");
}

async function answerText(found: Console, item: WaitingItem, choice: string): Promise<void> {
  const path = `/v1/sessions/${encodeURIComponent(item.session_id ?? "")}/answers`;
  const body = { request_id: item.request_id, choice };
  const label = item.choices.find(({ id }) => id === choice)?.label ?? choice;
  const done = await attempt(found, `Answered: ${plainText(label, 80)}`, () => found.api.send("POST", path, body));
  if (done) found.waiting.items.value = found.waiting.items.value.filter(({ id }) => id !== item.id);
  found.waiting.touch();
}
