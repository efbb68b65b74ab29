import type { WaitingItem } from "../../../http/waiting-item.ts";
import { attempt, useConsole } from "../console-context.ts";
import { answerText } from "./send-answer.ts";
import { WordsForm } from "./words-form.tsx";

/** Rejects a request and tells the agent what to do instead, as a message into its turn. */
export function RejectWithWords({ item, choice, close }: { item: WaitingItem; choice: string; close: () => void }) {
  const found = useConsole();
  const send = async (text: string) => {
    // The words go first: an agent may end its turn at once when it is refused.
    const path = `/v1/conversations/${encodeURIComponent(item.session_id ?? "")}/messages`;
    const isSaid = await attempt(found, null, () => found.api.send("POST", path, { text, delivery: "steer" }));
    if (isSaid && await answerText(found, item, choice)) close();
  };
  return <WordsForm label="What should the agent do instead?" verb="Reject and tell it" send={send} close={close} />;
}
