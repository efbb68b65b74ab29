import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { AgentReport } from "../../../../../plugin-sdk/agent-report.ts";
import type { ConversationReport } from "../../../../../plugin-sdk/conversation.ts";
import type { Delivery } from "../../../../../plugin-sdk/messages.ts";
import { noticeOf, useConsole } from "../console-context.ts";
import { useKeys } from "../keys.ts";
import { useMay } from "../may.tsx";
import type { TakenKinds } from "./attached-files.ts";
import { Attach, FileTray, pastedFiles, takenKinds, useDrop } from "./file-tray.tsx";
import { MessageDraft } from "./message-draft.ts";
import { Failure, useLoaded } from "../parts.tsx";
import { plainText } from "../shown-text.ts";
import { PendingMessages } from "./pending-messages.tsx";
import type { Talk } from "./talk.ts";

/** The field under a conversation in which a person writes to its agent, with what waits above it. */
export function Composer({ talk }: { talk: Talk }) {
  const canRun = useMay("run");
  const report = talk.report.value;
  if (report === null) return null;
  if (!canRun) return <PendingMessages talk={talk} canRun={false} reuse={() => {}} />;
  return <OpenComposer key={report.conversation_id} talk={talk} report={report} />;
}

function OpenComposer({ talk, report }: { talk: Talk; report: ConversationReport }) {
  const { api, drafts, attachedTo } = useConsole();
  const { conversation_id: id } = report;
  const files = attachedTo(id);
  const draft = useMemo(() => new MessageDraft({ api, store: drafts, files }, id), [id]);
  useEffect(() => () => draft.close(), [draft]);
  const { isWorking, delivery, setDelivery, agents, other, setOther, takes } = useTerms(report);
  const field = useRef<HTMLTextAreaElement>(null);
  const toField = () => field.current?.focus();
  const send = async () => {
    await draft.send(delivery, other);
    setDelivery(null);
    talk.touch(0);
    toField();
  };
  useKeys({ m: toField });
  const add = (list: File[]) => draft.isBusy || void files.add(list, takes).then(toField);
  const hovers = useDrop(add);
  const hint = hovers ? dropHint(takes) : hintOf(report, { delivery, other });
  return (
    <div class={hovers ? "composer drop-here" : "composer"}>
      <PendingMessages talk={talk} canRun reuse={(text) => (draft.add(text), toField())} />
      <form aria-label="Message to the agent" onSubmit={(event) => (event.preventDefault(), void send())}>
        <FileTray files={files} isBusy={draft.isBusy} />
        <Field draft={draft} field={field} send={send} add={add} hint={hint} />
        {isWorking && <Ways chosen={delivery} steers={report.steers === true} choose={setDelivery} />}
        <div class="composer-acts">
          {!isWorking && <AgentChoice agents={agents} usual={agentOf(report)} chosen={other} choose={setOther} />}
          <Attach files={files} takes={takes} isBusy={draft.isBusy} />
          {isWorking && <StopTurn id={id} turn={report.turn} />}
          <button type="submit" class="primary" disabled={draft.isBusy || draft.isEmpty}>
            Send
          </button>
        </div>
      </form>
    </div>
  );
}

/** When the agent gets the next message, and which agent: as usual, until a person chooses otherwise for this turn. */
function useTerms(report: ConversationReport) {
  const { api } = useConsole();
  const [loaded] = useLoaded(
    (signal) => api.get<{ agents: AgentReport[] }>("/v1/agents", { probe: false }, signal),
    [],
  );
  const agents = loaded !== undefined && "value" in loaded ? loaded.value.agents : [];
  const isWorking = report.state === "working";
  const [chosen, setDelivery] = useState<Delivery | null>(null);
  const [other, setOther] = useState<string | null>(null);
  useEffect(() => (setDelivery(null), setOther(null)), [report.turn, isWorking]);
  const usual: Delivery = isWorking && report.steers === true ? "steer" : "queue";
  const delivery = isWorking ? chosen ?? usual : "queue";
  const takes = takenKinds(agents, other ?? agentOf(report));
  return { isWorking, delivery, setDelivery, agents, other, setOther, takes };
}

interface FieldProps {
  draft: MessageDraft;
  field: { current: HTMLTextAreaElement | null };
  send: () => Promise<void>;
  /** Takes files that were pasted. */
  add: (files: File[]) => void;
  /** Says where the message will go. */
  hint: string;
}

function Field({ draft, field, send, add, hint }: FieldProps) {
  const id = useId();
  const state = draft.state.value;
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.altKey || event.isComposing) return;
    // A keyboard on the glass has no other way to a new line.
    if (matchMedia("(pointer: coarse)").matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    void send();
  };
  return (
    <>
      <label class="hidden" for={id}>Message to the agent</label>
      <textarea
        id={id}
        ref={field}
        rows={2}
        placeholder="Message to the agent"
        aria-describedby={`${id}-hint`}
        aria-invalid={state.kind === "refused"}
        readOnly={draft.isBusy}
        value={draft.text.value}
        onInput={({ currentTarget }) => draft.type(currentTarget.value)}
        onKeyDown={onKey}
        onPaste={(event) => {
          const pasted = pastedFiles(event);
          if (pasted.length === 0) return;
          event.preventDefault();
          add(pasted);
        }}
      />
      {state.kind === "refused" && <Failure text={state.text} hint={state.hint} />}
      <Hint id={`${id}-hint`} draft={draft} usual={hint} />
    </>
  );
}

/** Says how far the message is, or else where it will go. */
function Hint({ id, draft, usual }: { id: string; draft: MessageDraft; usual: string }) {
  const state = draft.state.value;
  return (
    <p class="composer-hint quiet-line" id={id} role="status">
      {state.kind === "sending" ? "Sending …" : state.kind === "told" ? state.text : state.kind === "waiting"
        ? (
          <>
            Not sent yet. {state.why} It goes out once the host is back, and only once.
            <button type="button" class="more" onClick={() => draft.cancel()}>Keep it as a draft</button>
          </>
        )
        : usual}
    </p>
  );
}

/** Says in one sentence how the agent gets the next message. */
function hintOf(report: ConversationReport, { delivery, other }: { delivery: Delivery; other: string | null }): string {
  const { state, turn, steers } = report;
  if (other !== null) {
    return `Begins turn ${turn + 1} in a new session of ${other}, with a summary of the turns before.`;
  }
  if (state === "working") {
    if (delivery === "interrupt") return `Stops turn ${turn}, and is the next one.`;
    if (delivery === "queue") return `Waits until turn ${turn} is over.`;
    return steers === true
      ? `Goes into turn ${turn}, while the agent works.`
      : `This agent takes no words into a turn: it is the next one, before those that wait.`;
  }
  if (state === "kept") return `Begins turn ${turn + 1}: the agent is kept for it.`;
  if (state === "waiting") return "Begins the first turn.";
  const agent = agentOf(report);
  return `Begins turn ${turn + 1} in a new session${agent === null ? "" : ` of ${agent}`}.`;
}

/** The agent that gets the message. */
function agentOf({ sessions, head }: ConversationReport): string | null {
  return sessions.find(({ session_id }) => session_id === head)?.adapter_id ?? null;
}

interface AgentChoiceProps {
  agents: readonly AgentReport[];
  /** The agent of the turn before. */
  usual: string | null;
  chosen: string | null;
  choose: (agent: string | null) => void;
}

/** The choice of another agent for the next turn. */
function AgentChoice({ agents, usual, chosen, choose }: AgentChoiceProps) {
  const others = agents.filter(({ id, availability }) =>
    id !== usual && availability !== "disabled" && availability !== "unavailable"
  );
  if (usual === null || others.length === 0) return null;
  return (
    <select
      class="agent-choice"
      aria-label="Agent"
      // The agent of the turn before is no choice any more: a value without an option would show none.
      value={others.some(({ id }) => id === chosen) ? chosen ?? "" : ""}
      onChange={({ currentTarget: { value } }) => choose(value === "" ? null : value)}
    >
      <option value="">{plainText(usual, 60)}</option>
      {others.map(({ id }) => <option key={id} value={id}>{plainText(id, 60)}</option>)}
    </select>
  );
}

function dropHint(takes: TakenKinds): string {
  return takes !== null && !takes.images && !takes.files
    ? `${takes.agent} takes no images and files.`
    : "Drop it to add it to the message.";
}

const ways: readonly { delivery: Delivery; label: string }[] = [
  { delivery: "steer", label: "Into this turn" },
  { delivery: "queue", label: "After this turn" },
  { delivery: "interrupt", label: "Stop and go on" },
];

/** The choice of when the agent gets the message, while it works. */
function Ways(
  { chosen, steers, choose }: { chosen: Delivery; steers: boolean; choose: (delivery: Delivery) => void },
) {
  const name = useId();
  return (
    <fieldset class="ways">
      <legend class="hidden">When the agent gets it</legend>
      {ways.filter(({ delivery }) => steers || delivery !== "steer").map(({ delivery, label }) => (
        <label class={chosen === delivery ? "way chosen" : "way"}>
          <input
            type="radio"
            name={name}
            value={delivery}
            checked={chosen === delivery}
            onChange={() =>
              choose(delivery)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

/** Stops the turn, and not the session: the agent waits for the next message. */
function StopTurn({ id, turn }: { id: string; turn: number }) {
  const { api, notice } = useConsole();
  const [stopped, setStopped] = useState<number | null>(null);
  const stop = async () => {
    setStopped(turn);
    await api.send("POST", `/v1/conversations/${encodeURIComponent(id)}/stop`, {}).catch((error: unknown) => {
      setStopped(null);
      notice.value = noticeOf(error);
    });
  };
  return (
    <button type="button" class="danger" disabled={stopped === turn} onClick={() => void stop()}>
      {stopped === turn ? "Stopping …" : "Stop turn"}
    </button>
  );
}
