import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RewindReport } from "../../../../../plugin-sdk/conversation.ts";
import { useConsole } from "../console-context.ts";
import { Choice, Dialog, Failure } from "../parts.tsx";
import { Text } from "../text.tsx";
import { RewindAct, type RewindChoice } from "./rewind-act.ts";
import type { Talk } from "./talk.ts";
import type { ShownTurn } from "./talk-turns.ts";

/** Paths of one list. */
const mostPaths = 200;

/** Takes turns back: shows what that would do, does it, and can undo it. */
export function RewindDialog({ talk, of: turn, close }: { talk: Talk; of: ShownTurn; close: () => void }) {
  const { act, leave } = useRewind(talk, { turn, close });
  const state = act.state.value;
  const isUndo = act.isUndo.value;
  // As it was when the dialog opened: a rewind makes another turn the newest.
  const [{ last, wasKept }] = useState(() => {
    const { turn: last = turn.turn, state: before } = talk.report.value ?? {};
    return { last, wasKept: before === "kept" };
  });
  const title = isUndo ? "Bring back what was taken back" : `Take back ${turnsText(turn.turn, last)}`;
  const leaving = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // The button that was pressed is gone.
    if (state.kind === "done" || state.kind === "refused") leaving.current?.focus();
  }, [state.kind]);
  const plan = state.kind === "planned" || state.kind === "acting" ? state.plan : null;
  return (
    <Dialog title={title} close={leave}>
      <div class="rewind" aria-busy={state.kind === "looking" || state.kind === "acting"}>
        <p class="hidden" role="status">{spoken(act)}</p>
        {state.kind === "looking" && <p class="quiet-line">Looking at the files …</p>}
        {state.kind === "refused" && <Failure text={state.text} hint={state.hint} />}
        {plan !== null && wasKept && (
          <p class="quiet-line">The agent that was kept has ended for this. Your next message starts it again.</p>
        )}
        {plan !== null && !isUndo && <TalkChoice of={plan} hasFiles={turn.files?.isKept === true} act={act} />}
        {plan !== null && <Plan of={plan} choice={act.choice.value} choose={(choice) => act.choose(choice)} />}
        {state.kind === "done" && <Done of={state.report} />}
      </div>
      <RewindActs act={act} plan={plan} leave={leave} leaving={leaving} />
    </Dialog>
  );
}

interface RewindActsProps {
  act: RewindAct;
  /** Null where nothing is planned. */
  plan: RewindReport | null;
  leave: () => void;
  leaving: RefObject<HTMLButtonElement | null>;
}

/** Everything that can be done from here. */
function RewindActs({ act, plan, leave, leaving }: RewindActsProps) {
  const state = act.state.value;
  const isUndo = act.isUndo.value;
  return (
    <div class="dialog-actions">
      {(state.kind === "refused" && state.isGone || plan !== null && isEmpty(plan) && !isUndo) && (
        <button
          type="button"
          onClick={() => void act.lookAtUndo()}
        >
          Undo the last rewind …
        </button>
      )}
      {state.kind === "refused" && <button type="button" onClick={() => void act.look()}>Look again</button>}
      {state.kind === "done" && !state.report.undo && (
        <button type="button" onClick={() => void act.lookAtUndo()}>Undo …</button>
      )}
      <button type="button" ref={leaving} onClick={leave}>{plan === null ? "Close" : "Cancel"}</button>
      {plan !== null && !isEmpty(plan) && (
        <button
          type="button"
          class="primary"
          disabled={state.kind === "acting" || !isPossible(plan, act.choice.value)}
          onClick={() => void act.act()}
        >
          {state.kind === "acting" ? "Working …" : `${isUndo ? "Bring back" : "Take back"} ${goalText(plan)}`}
        </button>
      )}
    </div>
  );
}

/** A rewind of the turns from one on, looked at when the dialog opens. What it did is said also where that was closed. */
function useRewind(talk: Talk, { turn: { turn, files }, close }: { turn: ShownTurn; close: () => void }) {
  const { api, notice } = useConsole();
  const isClosed = useRef(false);
  const act = useMemo(() =>
    new RewindAct({
      api,
      path: `/v1/conversations/${encodeURIComponent(talk.report.value?.conversation_id ?? "")}`,
      turn,
      hasFiles: files?.isKept === true,
      done: (report) => {
        talk.rewound(report);
        if (isClosed.current) notice.value = { text: doneText(report), isFailure: false };
      },
    }), [talk, turn]);
  useEffect(() => void act.look(), [act]);
  const leave = () => {
    isClosed.current = true;
    close();
  };
  return { act, leave };
}

function isEmpty({ files, conflicts, unclaimed, talk }: RewindReport): boolean {
  return files.length + conflicts.length + unclaimed.length === 0 && talk === undefined;
}

function isPossible(
  { files, conflicts, objects_gone: gone, talk }: RewindReport,
  { keep_theirs }: RewindChoice,
): boolean {
  return gone.length === 0 && (conflicts.length === 0 || keep_theirs) && (files.length > 0 || talk !== undefined);
}

/** Names turns from one to another. */
function turnsText(from: number, to: number): string {
  if (to <= from) return `turn ${from}`;
  return `turn ${from} ${to === from + 1 ? "and" : "to"} ${to}`;
}

function spoken({ state: { value: state } }: RewindAct): string {
  if (state.kind === "looking") return "Looking at the files.";
  if (state.kind === "done") return doneText(state.report);
  if (state.kind !== "planned") return "";
  const { files, conflicts } = state.plan;
  return `${filesText(files)} would change${conflicts.length === 0 ? "" : `; ${conflicts.length} stand in the way`}.`;
}

function filesText(files: readonly unknown[]): string {
  return `${files.length} ${files.length === 1 ? "file" : "files"}`;
}

/** Names what goes back, or comes back. */
function goalText({ files, talk }: RewindReport): string {
  if (talk === undefined) return filesText(files);
  return files.length === 0 ? "the talk" : `${filesText(files)} and the talk`;
}

function doneText(report: RewindReport): string {
  const text = goalText(report);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)} ${report.undo ? "brought back" : "taken back"}.`;
}

/** The choice whether the agent forgets the turns. Without files it is all that can be done. */
function TalkChoice({ of: { talk }, hasFiles, act }: { of: RewindReport; hasFiles: boolean; act: RewindAct }) {
  const forgets = talk?.forgets ?? [];
  const knows = forgets.length === 0
    ? null
    : `The agent then does not know ${turnsText(Math.min(...forgets), Math.max(...forgets))}.`;
  if (!hasFiles) {
    return (
      <p>
        {knows ?? "The agent knows no later turn."} No files of the turns are kept: those stay as they are.
      </p>
    );
  }
  return (
    <>
      <Choice is={act.choice.value.talk} choose={(wanted) => act.choose({ talk: wanted })}>
        The agent forgets these turns, too
      </Choice>
      {knows !== null && <p class="quiet-line">{knows}</p>}
    </>
  );
}

interface PlanProps {
  of: RewindReport;
  choice: RewindChoice;
  choose: (choice: Partial<RewindChoice>) => void;
}

/** Everything that would happen, and what a person decides about it. */
function Plan({ of: plan, choice, choose }: PlanProps) {
  const { files, conflicts, unclaimed, undo } = plan;
  return (
    <>
      {isEmpty(plan) && <p>No file would change: the turns changed none, or are taken back already.</p>}
      <Paths title={undo ? "These are brought back" : "These are taken back"} of={files} />
      {conflicts.length > 0 && (
        <>
          <Paths title="Changed by others as well: these stand in the way" of={marked(conflicts, "conflict")} />
          <Choice is={choice.keep_theirs} choose={(keep_theirs) => choose({ keep_theirs })}>
            Leave these as they are, and take back the rest
          </Choice>
        </>
      )}
      {(unclaimed.length > 0 || choice.unclaimed) && (
        <>
          <Paths title="Nothing shows that the agent changed these: they stay" of={marked(unclaimed, "stays")} />
          <Choice is={choice.unclaimed} choose={(wanted) => choose({ unclaimed: wanted })}>
            Take back also what nothing shows to be the agent's
          </Choice>
        </>
      )}
      <Stays of={plan} />
    </>
  );
}

function Stays({ of: { left, objects_gone: gone, under_way, head_moved } }: { of: RewindReport }) {
  return (
    <>
      <Paths title="In other repositories, or ignored before: they stay" of={marked(left, "stays")} />
      {gone.length > 0 && (
        <>
          <Failure text="Their contents are no longer kept, so nothing can be taken back." />
          <Paths title="No longer kept" of={marked(gone, "conflict")} />
        </>
      )}
      {under_way !== null && <p class="quiet-line">A {under_way} is under way in this repository. It stays as it is.
      </p>}
      {head_moved && <p class="quiet-line">These turns made commits. Commits and branches stay as they are.</p>}
    </>
  );
}

function Done({ of: report }: { of: RewindReport }) {
  const { files, conflicts, unclaimed, undo } = report;
  return (
    <>
      <p>
        <b>{doneText(report)}</b> {report.talk === undefined && !undo &&
          "The agent does not know it: say in your next message what you took back."}
      </p>
      <Paths title="Changed" of={files} />
      <Paths title="Left as they were" of={marked([...conflicts, ...unclaimed], "stays")} />
    </>
  );
}

/** A path, and what happens to it. */
interface PathLine {
  path: string;
  change: RewindReport["files"][number]["change"] | "conflict" | "stays";
}

function marked(paths: readonly string[], change: PathLine["change"]): PathLine[] {
  return paths.map((path) => ({ path, change }));
}

const looks: Readonly<Record<PathLine["change"], { word: string; look: string }>> = {
  restored: { word: "restored", look: "change-changed" },
  removed: { word: "removed", look: "change-deleted" },
  brought_back: { word: "back", look: "change-added" },
  conflict: { word: "conflict", look: "change-deleted" },
  stays: { word: "stays", look: "change-other" },
};

function Paths({ title, of: paths }: { title: string; of: readonly PathLine[] }) {
  if (paths.length === 0) return null;
  return (
    <section class="rewind-list" aria-label={title}>
      <h3>{title}</h3>
      <ul class="plain-list files" tabIndex={0}>
        {paths.slice(0, mostPaths).map(({ path, change }) => (
          <li>
            <span class={`change ${looks[change].look}`}>{looks[change].word}</span>{" "}
            <code>
              <Text of={path} />
            </code>
          </li>
        ))}
        {paths.length > mostPaths && (
          <li class="quiet-line">and {(paths.length - mostPaths).toLocaleString("en")} more</li>
        )}
      </ul>
    </section>
  );
}
