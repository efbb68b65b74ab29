import { useState } from "preact/hooks";
import type { AgentReport } from "../../../../../plugin-sdk/agent-report.ts";
import { omitEmpty, omitUndefined } from "../../../../../plugin-sdk/optional-fields.ts";
import { RefusedCall } from "../api.ts";
import { noticeOf, useConsole } from "../console-context.ts";
import { Command, Failure, Screen, toggled, useLoaded } from "../parts.tsx";
import { goTo } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";

/** The form that starts a session, or the same prompt on several agents. */
export function Start() {
  const [several, setSeveral] = useState<ReadonlySet<string>>(new Set());
  const { send, isBusy, failure } = useStart(several);
  return (
    <Screen title="Start a session" lead="An agent, a folder and a prompt. Choose several agents to compare them.">
      <form class="form start-form" onSubmit={(event) => (event.preventDefault(), void send(event.currentTarget))}>
        <label>
          Prompt<textarea name="prompt" rows={6} required placeholder="What should be done?" />
        </label>
        {failure !== null && fieldOf(failure) === "prompt" && <Failure {...noticeOf(failure)} />}
        <Folder />
        {failure !== null && fieldOf(failure) === "workdir" && <Failure {...noticeOf(failure)} />}
        <Agents chosen={several} toggle={(id) => setSeveral(toggled(several, id))} />
        <Terms />
        {failure !== null && fieldOf(failure) === null && <Failure {...noticeOf(failure)} />}
        <div class="dialog-actions">
          <button type="submit" class="primary" disabled={isBusy}>
            {several.size > 1 ? `Start ${several.size} sessions` : "Start"}
          </button>
        </div>
      </form>
    </Screen>
  );
}

/** Sends the form; a refusal goes to its field. */
function useStart(several: ReadonlySet<string>) {
  const { api, sessions } = useConsole();
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const send = async (form: HTMLFormElement) => {
    setIsBusy(true);
    const start = async () => {
      const request = requestOf(new FormData(form));
      if (several.size > 1) {
        const asked = { ...request, adapters: [...several] };
        const { id } = await api.send<{ id: string }>("POST", "/v1/comparisons", asked);
        return goTo("compare", id);
      }
      const adapter = [...several][0] ?? "auto";
      const { session_id } = await api.send<{ session_id: string }>("POST", "/v1/sessions", { ...request, adapter });
      sessions.touch(session_id);
      goTo("sessions", session_id);
    };
    await start().then(() => setFailure(null), (error: unknown) => {
      setFailure(error);
      form.querySelector<HTMLElement>(`[name="${fieldOf(error)}"]`)?.focus();
    });
    setIsBusy(false);
  };
  return { send, isBusy, failure };
}

/** Names the field that a refusal is about; null for none of this form. */
function fieldOf(error: unknown): "prompt" | "workdir" | null {
  if (!(error instanceof RefusedCall)) return null;
  const words = `${String(error.details["path"] ?? "")} ${error.message}`;
  return /\bworkdir\b|\bfolder\b|working directory/i.test(words)
    ? "workdir"
    : /\bprompt\b/.test(words)
    ? "prompt"
    : null;
}

/** The folder to work in, with those of earlier sessions to choose from. */
function Folder() {
  const { sessions } = useConsole();
  // A worktree is not a folder to start in: it goes with its session.
  const own = sessions.all.value.filter(({ workdir, session_id }) => !workdir.includes(session_id));
  const folders = [...new Set(own.map(({ workdir }) => workdir))].slice(0, 20);
  return (
    <label>
      Folder<input
        type="text"
        name="workdir"
        required
        list="folders"
        defaultValue={folders[0] ?? ""}
        placeholder="/absolute/path"
      />
      <datalist id="folders">{folders.map((folder) => <option value={folder} />)}</datalist>
    </label>
  );
}

/** The agents that are on, of which none, one or several may be chosen. */
function Agents({ chosen, toggle }: { chosen: ReadonlySet<string>; toggle: (id: string) => void }) {
  const { api } = useConsole();
  const [loaded] = useLoaded((signal) => api.get<{ agents: AgentReport[] }>("/v1/agents", {}, signal), []);
  const agents = loaded !== undefined && "value" in loaded ? loaded.value.agents : null;
  return (
    <fieldset class="agents">
      <legend>Agents</legend>
      <p class="quiet-line">None: the host chooses. Several: side by side, each in a worktree of its own.</p>
      {loaded === undefined && <p class="quiet-line">Asking the agents …</p>}
      {loaded !== undefined && "failed" in loaded && <Failure {...noticeOf(loaded.failed)} />}
      {agents !== null && (
        <>
          {agents.filter(({ quarantined }) => quarantined).map(({ id, reason, next_step }) => (
            <Failure key={id} text={plainText(reason, 300)} hint={plainText(next_step ?? "", 300)} />
          ))}
          <div class="choices">
            {agents.filter(isOn).map((agent) => (
              <AgentChoice key={agent.id} agent={agent} isChosen={chosen.has(agent.id)} toggle={toggle} />
            ))}
          </div>
          <p class="quiet-line">
            {agents.filter((agent) => !isOn(agent) && !agent.quarantined).length} more are off. See what they need:{" "}
            <Command text="bulkhead agents" />
          </p>
        </>
      )}
    </fieldset>
  );
}

function AgentChoice(
  { agent: { id, name, availability, reason, access_modes }, isChosen, toggle }: {
    agent: AgentReport;
    isChosen: boolean;
    toggle: (id: string) => void;
  },
) {
  return (
    <label class="choice">
      <input type="checkbox" checked={isChosen} onChange={() => toggle(id)} />
      <span>
        <b>
          <Text of={name} />
        </b>{" "}
        {id !== name && (
          <code>
            <Text of={id} />
          </code>
        )} <span class={`tag agent-${availability}`}>{availability.replaceAll("_", " ")}</span>
        {(availability !== "available" || access_modes.some(({ missing_key }) => missing_key !== undefined)) && (
          <small>
            <Text of={reason} />
          </small>
        )}
      </span>
    </label>
  );
}

function Terms() {
  return (
    <>
      <div class="form-row">
        <label>
          Approvals
          <select name="approval">
            <option value="">As the agent is set up</option>
            <option value="ask">Ask me</option>
            <option value="reads">Allow reading</option>
            <option value="edits">Allow reading and edits</option>
            <option value="all">Allow all that the walls allow</option>
            <option value="deny">Deny all</option>
          </select>
        </label>
        <label>
          Where
          <select name="workspace">
            <option value="worktree">In a worktree, to review</option>
            <option value="inplace">In the folder itself</option>
          </select>
        </label>
      </div>
      <Limits />
    </>
  );
}

function Limits() {
  return (
    <>
      <div class="form-row">
        <label>
          Minutes at most<input type="number" name="minutes" min="1" placeholder="no limit" />
        </label>
        <label>
          Cost at most<input type="number" name="cost" min="0" step="0.01" placeholder="no limit" />
        </label>
        <label>
          Turns at most<input type="number" name="turns" min="1" placeholder="no limit" />
        </label>
      </div>
      <label>
        Labels<input type="text" name="labels" placeholder="ticket=123 team=web" />
      </label>
    </>
  );
}

function isOn({ availability }: AgentReport): boolean {
  return availability !== "disabled";
}

/** A request of the form's fields; empty ones are left out. */
function requestOf(data: FormData): Record<string, unknown> {
  const text = (name: string): string => String(data.get(name) ?? "").trim();
  const number = (name: string): number | undefined => text(name) === "" ? undefined : Number(text(name));
  const [minutes, cost, turns] = [number("minutes"), number("cost"), number("turns")];
  const budget = omitUndefined({ cost, turns });
  const labels = Object.fromEntries(
    text("labels").split(/\s+/).filter((label) => label.includes("=")).map((label) => {
      const at = label.indexOf("=");
      return [label.slice(0, at), label.slice(at + 1)];
    }),
  );
  return {
    prompt: text("prompt"),
    workdir: text("workdir"),
    workspace: text("workspace"),
    timeout_ms: minutes === undefined ? undefined : minutes * 60_000,
    ...(Object.keys(budget).length === 0 ? {} : { budget, best_effort: true }),
    ...omitEmpty({ approval: text("approval"), labels }),
  };
}
