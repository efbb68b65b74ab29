import type { WaitingItem } from "../../../http/waiting-item.ts";
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
  const done = await attempt(found, `Answered: ${plainText(label, 80)}`, () => post(found, item, choice));
  if (done) found.waiting.items.value = found.waiting.items.value.filter(({ id }) => id !== item.id);
  found.waiting.touch();
  return done;
}

/** Answers like requests, one after the other; the notice is one. Those that meanwhile need no answer stay as they are. */
export async function answerTogether(found: Console, items: readonly WaitingItem[], index: number): Promise<void> {
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
