import type { AppliedWorkspace } from "../../../../../plugin-sdk/workspace.ts";
import { type Console, noticeOf, useConsole } from "../console-context.ts";
import { Dialog, useTakeBack } from "../parts.tsx";
import { countUnsent, forgetReview } from "../review/kept-review.ts";
import { unsentText } from "../review/unsent.tsx";
import { goTo } from "../route.ts";
import { browserStorage } from "../kept-entries.ts";
import { type ComparedAgent, isOpen } from "./compared-agent.ts";

/** A choice of one agent's changes. */
export interface Adoption {
  agent: ComparedAgent;
  /** Agents whose changes are thrown away. */
  discards: readonly ComparedAgent[];
}

/** Asks what becomes of the others, before one agent's changes come to the repository. */
export function AdoptDialog(
  { agent, agents, choose, close }: {
    agent: ComparedAgent;
    agents: readonly ComparedAgent[];
    choose: (adoption: Adoption) => void;
    close: () => void;
  },
) {
  const others = agents.filter((one) => one !== agent && isOpen(one));
  const act = (discards: readonly ComparedAgent[]) => () => {
    close();
    choose({ agent, discards });
  };
  return (
    <Dialog title={`Adopt the changes of ${agent.name}?`} close={close}>
      <p>
        {changesText(agent)} come to the repository, not staged.
      </p>
      {others.length > 0 && <Discards of={others} />}
      <Unsent of={[agent, ...others]} />
      <div class="dialog-actions">
        <button type="button" onClick={close}>Cancel</button>
        <button type="button" class={others.length === 0 ? "primary" : ""} onClick={act([])}>
          Adopt {agent.name}
          {others.length > 0 && ", keep the others"}
        </button>
        {others.length > 0 && (
          <button type="button" class="primary" autofocus onClick={act(others)}>
            Adopt {agent.name}, discard {others.length} {others.length === 1 ? "other" : "others"}
          </button>
        )}
      </div>
    </Dialog>
  );
}

/** Everything that a discard removes. */
function Discards({ of: others }: { of: readonly ComparedAgent[] }) {
  return (
    <>
      <p>A discard removes for good:</p>
      <ul class="plain-list discards">
        {others.map((one) => (
          <li key={one.session_id}>
            <b>{one.name}</b>: {changesText(one)}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Says that comments go with the worktrees. */
function Unsent({ of: agents }: { of: readonly ComparedAgent[] }) {
  const count = countUnsent(browserStorage(), agents.map(({ session_id }) => session_id));
  if (count === 0) return null;
  return (
    <p>
      <b>{unsentText(count)}</b> to{" "}
      {agents.length === 1 ? "the agent" : "these agents"}: what you said goes with the worktree.
    </p>
  );
}

function changesText({ files, lines_added, lines_removed }: ComparedAgent): string {
  const count = files?.length ?? 0;
  const lines = lines_added === null || lines_removed === null ? "" : ` (+${lines_added} −${lines_removed})`;
  return `${count.toLocaleString("en")} ${count === 1 ? "file" : "files"}${lines}`;
}

/** A few seconds in which an adoption can be taken back; then it is done. */
export function AdoptLine({ of: adoption, over }: { of: Adoption; over: (wasDone: boolean) => void }) {
  const found = useConsole();
  const { button, left, drop } = useTakeBack(() => void adopt(found, adoption).then(() => over(true)));
  const { agent, discards } = adoption;
  const undo = () => {
    drop();
    over(false);
  };
  return (
    <div class="adopt-line" role="status">
      <span>
        <b>{agent.name}</b>{" "}
        is adopted{discards.length > 0 && ` and ${discards.map(({ name }) => name).join(", ")} discarded`} in {left} s
      </span>
      <button ref={button} type="button" onClick={undo}>Undo</button>
    </div>
  );
}

/** Applies the changes of one agent; only when all of them are there, those of the others go. */
async function adopt({ api, notice, waiting }: Console, { agent, discards }: Adoption): Promise<void> {
  const pathOf = ({ session_id }: ComparedAgent) => `/v1/sessions/${encodeURIComponent(session_id)}`;
  try {
    const { held } = await api.send<AppliedWorkspace>("POST", `${pathOf(agent)}/apply`);
    const adopted = `The changes of ${agent.name} are in the repository, not staged.`;
    if (held.length > 0) {
      const text = `${adopted} What can run programs waits for you, and nothing was discarded.`;
      notice.value = { text, isFailure: false };
      return goTo("review", agent.session_id);
    }
    const gone = await Promise.allSettled(discards.map((one) => api.send("POST", `${pathOf(one)}/discard`)));
    const left = discards.filter((_, at) => gone[at]?.status === "rejected").map(({ name }) => name);
    for (const { session_id, name } of [agent, ...discards]) {
      if (!left.includes(name)) forgetReview(browserStorage(), session_id);
    }
    notice.value = left.length === 0
      ? { text: discards.length === 0 ? adopted : `${adopted} The others are discarded.`, isFailure: false }
      : { text: `${adopted} Not discarded: ${left.join(", ")}.`, isFailure: true };
  } catch (error) {
    notice.value = noticeOf(error);
    goTo("review", agent.session_id);
  } finally {
    waiting.touch();
  }
}
