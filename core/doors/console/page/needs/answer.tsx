import { useState } from "preact/hooks";
import type { WaitingItem } from "../../../http/waiting-item.ts";
import { ConflictAnswer } from "../conflict-item.tsx";
import { attempt, type Console, useConsole } from "../console-context.ts";
import { useFocusBack } from "../focus.ts";
import { HeldAnswer } from "../held-item.tsx";
import { May } from "../may.tsx";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { GrantCard } from "./grant-card.tsx";
import { NotNow } from "./not-now.tsx";
import { RejectWithWords } from "./reject-with-words.tsx";
import { answer, answerText } from "./send-answer.ts";

/** The ways to answer one item. */
export function Answer({ item, isCurrent = false }: { item: WaitingItem; isCurrent?: boolean }) {
  const found = useConsole();
  if (item.request_id !== null) {
    return (
      <May right="run">
        <RequestAnswer item={item} isCurrent={isCurrent} />
      </May>
    );
  }
  if (item.kind === "conflict") return <ConflictAnswer item={item} />;
  if (item.kind === "held") return <HeldAnswer item={item} />;
  if (item.kind === "grant") return <GrantCard item={item} />;
  return (
    <div class="answers">
      {item.plugin_id !== null && (
        <May right="admin">
          <button type="button" class="primary" onClick={() => void release(found, item)}>Let it run again</button>
        </May>
      )}
      <NotNow item={item} />
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
  const [rejects, setRejects] = useState(false);
  const says = useFocusBack(rejects);
  const rejection = item.choices.find(({ kind }) => kind === "reject_once");
  if (rejects && rejection !== undefined) {
    return <RejectWithWords item={item} choice={rejection.id} close={() => setRejects(false)} />;
  }
  const free = item.kind === "question" && item.choices.length === 0;
  return (
    <div class="answers" role="group" aria-label="Answer">
      {item.choices.map(({ id, label, kind }, index) => (
        <button
          type="button"
          class={kind === "allow_once" && item.kind === "permission"
            ? "primary"
            : kind.startsWith("reject")
            ? "danger"
            : ""}
          onClick={() => void answer(found, item, index)}
        >
          {isCurrent && index < 9 && <kbd>{index + 1}</kbd>} <Text of={plainText(label || id, 1024)} />
        </button>
      ))}
      {rejection !== undefined && (
        <button ref={says} type="button" class="plain" onClick={() => setRejects(true)}>Reject and say why …</button>
      )}
      {free && <FreeAnswer item={item} />}
    </div>
  );
}

function FreeAnswer({ item }: { item: WaitingItem }) {
  const found = useConsole();
  const [text, setText] = useState("");
  return (
    <form class="free-answer" onSubmit={(event) => (event.preventDefault(), void answerText(found, item, text))}>
      <input
        type="text"
        aria-label="Your answer"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit" class="primary">Answer</button>
    </form>
  );
}

async function release(found: Console, { plugin_id }: WaitingItem): Promise<void> {
  const path = `/v1/plugins/${encodeURIComponent(plugin_id ?? "")}/release`;
  await attempt(found, `${plugin_id} may run again.`, () => found.api.send("POST", path));
  await found.waiting.again();
}
