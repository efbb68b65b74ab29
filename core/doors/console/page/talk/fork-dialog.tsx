import { useState } from "preact/hooks";
import type { ForkRequest } from "../../../../../plugin-sdk/conversation.ts";
import { noticeOf, useConsole } from "../console-context.ts";
import { Choice, Dialog, Failure } from "../parts.tsx";
import { goTo } from "../route.ts";
import { newId } from "./message-draft.ts";
import type { Talk } from "./talk.ts";
import type { ShownTurn } from "./talk-turns.ts";

/** Goes on from a turn in a conversation of its own, and shows that. */
export function ForkDialog({ talk, of: { turn }, close }: { talk: Talk; of: ShownTurn; close: () => void }) {
  const isNewest = turn === Math.max(...talk.parts.value.flatMap(({ turns }) => turns.map((one) => one.turn)));
  const [prompt, setPrompt] = useState("");
  const [agent, setAgent] = useState("");
  const [inWorktree, setInWorktree] = useState(false);
  const { isBusy, failed, fork } = useFork(talk, close);
  const send = () =>
    fork({
      at: turn,
      ...(prompt.trim() === "" ? {} : { prompt }),
      ...(agent.trim() === "" ? {} : { agent: agent.trim() }),
      ...(inWorktree || !isNewest ? { workspace: "worktree" } : {}),
    });
  return (
    <Dialog title={`Fork after turn ${turn}`} close={close}>
      <form class="form" onSubmit={(event) => (event.preventDefault(), void send())}>
        <p class="quiet-line">
          A new conversation, whose agent knows this one up to turn {turn}. This one stays as it is.
        </p>
        <ForkFields prompt={prompt} setPrompt={setPrompt} agent={agent} setAgent={setAgent} />
        {isNewest
          ? <Choice is={inWorktree} choose={setInWorktree}>In a worktree of its own</Choice>
          // Only a worktree can have the files of then.
          : <p class="quiet-line">It works in a worktree of its own, with the files as they were after turn {turn}.</p>}
        {failed !== null && <Failure {...noticeOf(failed)} />}
        <div class="dialog-actions">
          <button type="button" onClick={close}>Cancel</button>
          <button type="submit" class="primary" disabled={isBusy}>{isBusy ? "Working …" : "Fork"}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** Asks for a fork, and goes to it. The same call again is the same fork, also where its answer was lost. */
function useFork(talk: Talk, close: () => void) {
  const { api, sessions } = useConsole();
  const [state, setState] = useState<{ isBusy: boolean; failed: unknown }>({ isBusy: false, failed: null });
  const [tried, setTried] = useState<{ id: string; request: string } | null>(null);
  const fork = async (request: ForkRequest) => {
    setState({ isBusy: true, failed: null });
    const text = JSON.stringify(request);
    const id = tried?.request === text ? tried.id : newId();
    setTried({ id, request: text });
    try {
      const path = `/v1/conversations/${encodeURIComponent(talk.report.value?.conversation_id ?? "")}/fork`;
      const { session_id } = await api.send<{ session_id: string }>("POST", path, { ...request, message_id: id });
      sessions.touch(session_id);
      close();
      goTo("sessions", session_id);
    } catch (failed) {
      setState({ isBusy: false, failed });
    }
  };
  return { ...state, fork };
}

interface ForkFieldsProps {
  prompt: string;
  setPrompt: (text: string) => void;
  agent: string;
  setAgent: (text: string) => void;
}

function ForkFields({ prompt, setPrompt, agent, setAgent }: ForkFieldsProps) {
  return (
    <>
      <label>
        First message
        <textarea rows={3} value={prompt} onInput={({ currentTarget }) => setPrompt(currentTarget.value)} />
        <small>Empty: it waits for one.</small>
      </label>
      <label>
        Agent<input
          type="text"
          placeholder="the same"
          value={agent}
          onInput={({ currentTarget }) => setAgent(currentTarget.value)}
        />
      </label>
    </>
  );
}
