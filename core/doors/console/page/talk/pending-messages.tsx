import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { attachmentsOf, type MessageReport, textOf } from "../../../../../plugin-sdk/conversation.ts";
import type { AttachmentPart, Delivery } from "../../../../../plugin-sdk/messages.ts";
import { RefusedCall } from "../api.ts";
import { noticeOf, useConsole } from "../console-context.ts";
import { onEscape, useFocusBack, useFocusInto } from "../focus.ts";
import { ClientName, Failure } from "../parts.tsx";
import { AttachedParts } from "./attached-parts.tsx";
import { contentOf } from "./message-draft.ts";
import { plainText } from "../shown-text.ts";
import type { Talk } from "./talk.ts";
import { FoldRow, LongText } from "../text.tsx";

/** A message that has no outcome yet. */
type OpenMessageView = Pick<MessageReport, "message_id" | "delivery" | "by"> & {
  text: string;
  attached: readonly AttachmentPart[];
  isSent: boolean;
};

/** A change of a message that is being written, and why it can be made no more. */
interface MessageEdit {
  id: string;
  text: string;
  /** Its images and files that stay. */
  attached: readonly AttachmentPart[];
  late: string | null;
}

interface PendingMessagesProps {
  talk: Talk;
  /** Whether the page may change them. */
  canRun: boolean;
  /** Takes words that came too late for a change. */
  reuse: (text: string) => void;
}

/** The messages that wait for the agent, in the order in which it gets them. */
export function PendingMessages({ talk, canRun, reuse }: PendingMessagesProps) {
  const { edit, setEdit, failure, withdraw, save } = useChanges(talk);
  const open = openMessages(talk);
  const isLate = edit !== null &&
    (edit.late !== null || !open.some(({ message_id, isSent }) => message_id === edit.id && !isSent));
  if (open.length === 0 && edit === null && failure === null) return <WaitingCount count={0} />;
  return (
    <div class="pending" role="group" aria-label="Messages that wait" tabIndex={canRun ? undefined : 0}>
      <WaitingCount count={open.length} />
      <ol>
        {open.map((one) => (
          <li key={one.message_id} data-message={one.message_id}>
            <Waiting
              of={one}
              canRun={canRun}
              form={edit !== null && edit.id === one.message_id && !isLate
                ? <EditForm edit={edit} change={setEdit} save={save} />
                : null}
              edit={() => setEdit({ id: one.message_id, text: one.text, attached: one.attached, late: null })}
              withdraw={() => void withdraw(one.message_id)}
            />
          </li>
        ))}
      </ol>
      {edit !== null && isLate && (
        <LateEdit edit={edit} talk={talk} change={setEdit} reuse={() => (reuse(edit.text), setEdit(null))} />
      )}
      {failure !== null && <Failure text={failure.text} hint={failure.hint} />}
    </div>
  );
}

/** The change of a message that a person writes, and the ways to make it and to take a message back. */
function useChanges(talk: Talk) {
  const { api } = useConsole();
  const [edit, setEdit] = useState<MessageEdit | null>(null);
  const [failure, setFailure] = useState<{ text: string; hint?: string | undefined } | null>(null);
  const conversation = `/v1/conversations/${encodeURIComponent(talk.report.value?.conversation_id ?? "")}`;
  const path = (id: string) => `${conversation}/messages/${encodeURIComponent(id)}`;
  const withdraw = async (id: string) => {
    setFailure(null);
    await api.send("DELETE", path(id)).catch((error: unknown) => setFailure(lateWords(error, "withdraw")));
    talk.touch(0);
  };
  const save = async ({ id, text, attached }: MessageEdit) => {
    setFailure(null);
    try {
      await api.send("PATCH", path(id), { content: contentOf(text, attached) });
      setEdit(null);
    } catch (error) {
      const why = lateWords(error, "change");
      if (error instanceof RefusedCall && error.status === 409) setEdit({ id, text, attached, late: why.text });
      else setFailure(why);
    }
    talk.touch(0);
  };
  return { edit, setEdit: (next: MessageEdit | null) => (setFailure(null), setEdit(next)), failure, withdraw, save };
}

/** Says how many there are to someone who does not see the list. */
function WaitingCount({ count }: { count: number }) {
  return (
    <p class="hidden" role="status">
      {count === 0 ? "" : `${count} ${count === 1 ? "message waits" : "messages wait"}`}
    </p>
  );
}

/** Characters of a message that stand open in the list. */
const mostOpen = 200;

const ways: Readonly<Record<Delivery, string>> = {
  queue: "after this turn",
  steer: "into the turn",
  interrupt: "next, the turn stops",
};

function Waiting(
  { of: { text, attached, delivery, by, isSent }, canRun, form, edit, withdraw }: {
    of: OpenMessageView;
    canRun: boolean;
    /** Stands in its place while it is changed. */
    form: VNode | null;
    edit: () => void;
    withdraw: () => void;
  },
) {
  const button = useFocusBack(form !== null);
  return form ?? (
    <>
      <div class="pending-text">
        {text === ""
          ? null
          : text.length <= mostOpen && !text.includes("\n")
          ? <LongText of={text} class="prose" />
          : (
            <FoldRow class="quiet" line={<span class="one-line">{plainText(text, mostOpen)}</span>}>
              {() => <LongText of={text} class="prose" />}
            </FoldRow>
          )}
        <AttachedParts of={attached} />
        <p class="quiet-line">
          <span class="tag">{isSent ? "On its way" : "Waits"}</span> {isSent ? "to the agent" : ways[delivery]} ·{" "}
          <ClientName of={by.client} />
        </p>
      </div>
      {canRun && !isSent && (
        <span class="actions">
          <button ref={button} type="button" class="plain" onClick={edit}>Edit</button>
          <button type="button" class="plain" onClick={withdraw}>Withdraw</button>
        </span>
      )}
    </>
  );
}

interface EditFormProps {
  edit: MessageEdit;
  change: (edit: MessageEdit | null) => void;
  save: (edit: MessageEdit) => Promise<void>;
}

function EditForm({ edit, change, save }: EditFormProps) {
  const field = useFocusInto<HTMLTextAreaElement>();
  return (
    <form
      class="pending-edit"
      onSubmit={(event) => (event.preventDefault(), void save(edit))}
      onKeyDown={onEscape(() => change(null))}
    >
      <textarea
        ref={field}
        rows={2}
        required={edit.attached.length === 0}
        aria-label="Change the message"
        value={edit.text}
        onInput={({ currentTarget: { value } }) => change({ ...edit, text: value })}
      />
      <AttachedParts
        of={edit.attached}
        remove={(part) => change({ ...edit, attached: edit.attached.filter((one) => one !== part) })}
      />
      <span class="actions">
        <button type="submit" class="primary">Save</button>
        <button type="button" onClick={() => change(null)}>Cancel</button>
      </span>
    </form>
  );
}

/** A change that came too late: where the message is now, and the words, which are still there. */
function LateEdit(
  { edit, talk, change, reuse }: {
    edit: MessageEdit;
    talk: Talk;
    change: (edit: MessageEdit | null) => void;
    reuse: () => void;
  },
) {
  return (
    <div class="pending-late">
      <p role="alert">
        <b>Too late to change it.</b> {edit.late ?? goneWords(talk, edit.id)} Your words are still here.
      </p>
      <textarea
        rows={2}
        aria-label="Your words"
        value={edit.text}
        onInput={({ currentTarget: { value } }) => change({ ...edit, text: value })}
      />
      <span class="actions">
        <button type="button" class="primary" onClick={reuse}>Use as a new message</button>
        <button type="button" onClick={() => change(null)}>Discard</button>
      </span>
    </div>
  );
}

function goneWords(talk: Talk, id: string): string {
  const message = talk.messages.value.get(id);
  if (message?.state === "sent") return "The message is on its way to the agent.";
  if (message?.state === "delivered") return `The agent has the message, in turn ${message.turn}.`;
  return "The message does not wait any more.";
}

function lateWords(error: unknown, act: string): { text: string; hint?: string | undefined } {
  if (!(error instanceof RefusedCall) || error.status !== 409) return noticeOf(error);
  const { state, turn } = error.details;
  const where = typeof turn === "number" ? `, in turn ${turn}` : "";
  if (state === "delivered") return { text: `Cannot ${act} the message: the agent has it${where}.` };
  if (state === "sent") return { text: `Cannot ${act} the message: it is on its way to the agent.` };
  return { text: `Cannot ${act} the message: it was dropped already.` };
}

function openMessages({ report, messages }: Talk): OpenMessageView[] {
  const pending = (report.value?.pending ?? []).map(({ message_id, delivery, by, content }) => {
    return { message_id, delivery, by, text: textOf(content), attached: attachmentsOf(content), isSent: false };
  });
  const sent = [...messages.value].filter(([, { state }]) => state === "sent").map(([message_id, one]) => {
    const { text, attached, delivery, client } = one;
    return { message_id, delivery, by: { client }, text, attached, isSent: true };
  });
  const isKnown = new Set(sent.map(({ message_id }) => message_id));
  return [...sent, ...pending.filter(({ message_id }) => !isKnown.has(message_id))];
}
