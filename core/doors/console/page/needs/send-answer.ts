import type { WaitingItem } from "../../../http/waiting-item.ts";
import { RefusedCall } from "../api.ts";
import { attempt, type Console } from "../console-context.ts";
import { plainText } from "../shown-text.ts";

/** Answers a request with its choice of this number. */
export async function answer(found: Console, item: WaitingItem, index: number): Promise<void> {
  const choice = item.choices[index];
  if (item.request_id !== null && choice !== undefined) await answerText(found, item, choice.id);
}

/** Answers a request with the id of a choice, or in one's own words; false where the host refused. */
export async function answerText(found: Console, item: WaitingItem, choice: string): Promise<boolean> {
  const label = item.choices.find(({ id }) => id === choice)?.label ?? choice;
  const done = await send(found, [item], { label, choiceOf: () => choice });
  if (done) found.waiting.items.value = found.waiting.items.value.filter(({ id }) => id !== item.id);
  return done;
}

/** Answers like requests, one after the other; the notice is one. Those that meanwhile need no answer stay as they are. */
export async function answerTogether(found: Console, items: readonly WaitingItem[], index: number): Promise<void> {
  const open = new Set(found.waiting.items.value.map(({ id }) => id));
  const those = items.filter(({ id }) => open.has(id));
  const label = those[0]?.choices[index]?.label ?? "";
  await send(found, those, { label, choiceOf: ({ choices }) => choices[index]?.id ?? "" });
}

async function send(
  found: Console,
  items: readonly WaitingItem[],
  { label, choiceOf }: { label: string; choiceOf: (item: WaitingItem) => string },
): Promise<boolean> {
  let late = 0;
  const done = await attempt(found, null, async () => {
    for (const item of items) if (!await isTaken(found, item, choiceOf(item))) late += 1;
  });
  const count = items.length === 1 ? "" : ` ${items.length - late}`;
  const taken = late < items.length ? [`Answered${count}: ${plainText(label, 80)}`] : [];
  const missed = items.length === 1 ? "Too late: this" : `${late} of ${items.length}`;
  const rest = late > 0 ? [`${missed} was answered elsewhere, or withdrawn`] : [];
  if (done) found.notice.value = { text: [...taken, ...rest].join(". "), isFailure: late > 0 };
  found.waiting.touch();
  return done;
}

/** Answers one; false where nothing waits for it any more. */
async function isTaken({ api }: Console, { session_id, request_id }: WaitingItem, choice: string): Promise<boolean> {
  const path = `/v1/sessions/${encodeURIComponent(session_id ?? "")}/answers`;
  try {
    await api.send("POST", path, { request_id, choice });
    return true;
  } catch (error) {
    // Where it still waits, the refusal names its choices.
    if (error instanceof RefusedCall && error.code === "conflict" && error.details["choices"] === undefined) {
      return false;
    }
    throw error;
  }
}
