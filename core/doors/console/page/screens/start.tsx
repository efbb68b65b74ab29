import { useRef, useState } from "preact/hooks";
import type { AgentReport } from "../../../../../plugin-sdk/agent-report.ts";
import type { Envelope } from "../../../../../plugin-sdk/envelope.ts";
import { omitEmpty, omitUndefined } from "../../../../../plugin-sdk/optional-fields.ts";
import { lineGroups, RefusedCall } from "../api.ts";
import { attempt, noticeOf, useConsole } from "../console-context.ts";
import { Failure, Screen, toggled } from "../parts.tsx";
import { goTo } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { AgentOptions, optionsIn } from "./agent-options.tsx";
import { Agents, useStartAgents } from "./start-agents.tsx";

/** The form that starts a session, or the same prompt on several agents. */
export function Start() {
  const [several, setSeveral] = useState<ReadonlySet<string>>(new Set());
  const known = useStartAgents();
  const chosen = (known.agents ?? []).filter(({ id }) => several.has(id));
  const { send, isBusy, failure } = useStart(several, chosen);
  const prompt = useRef<HTMLTextAreaElement>(null);
  return (
    <Screen title="Start a session" lead="An agent, a folder and a prompt. Choose several agents to compare them.">
      <form class="form start-form" onSubmit={(event) => (event.preventDefault(), void send(event.currentTarget))}>
        <label>
          Prompt<textarea
            name="prompt"
            rows={6}
            required
            placeholder="What should be done?"
            ref={prompt}
            onKeyDown={sendOnEnter}
          />
        </label>
        {failure !== null && fieldOf(failure) === "prompt" && <Failure {...noticeOf(failure)} />}
        <RecentPrompts into={prompt} />
        <Folder />
        {failure !== null && fieldOf(failure) === "workdir" && <Failure {...noticeOf(failure)} />}
        <Agents of={known} chosen={several} toggle={(id) => setSeveral(toggled(several, id))} />
        <Model of={chosen} />
        {chosen[0] !== undefined && chosen.length === 1 && <AgentOptions key={chosen[0].id} of={chosen[0]} />}
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
function useStart(several: ReadonlySet<string>, chosen: readonly AgentReport[]) {
  const { api, sessions } = useConsole();
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const send = async (form: HTMLFormElement) => {
    setIsBusy(true);
    const start = async () => {
      const data = new FormData(form);
      const params = chosen.length === 1 ? optionsIn(data, chosen[0]?.config?.properties ?? {}) : {};
      const request = { ...requestOf(data), ...omitEmpty({ params }) };
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

/** Sends the form at Ctrl-Enter. */
function sendOnEnter(event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }): void {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
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

/** Sessions whose prompts can be taken again. */
const mostRecent = 30;

/** Prompts of the latest sessions: one that is chosen is read whole, and goes into the field. */
function RecentPrompts({ into }: { into: { current: HTMLTextAreaElement | null } }) {
  const found = useConsole();
  const named = new Map(found.sessions.all.value.map(({ title, session_id }) => [title, session_id]));
  const titles = [...named.keys()].filter((title) => title !== "").slice(0, mostRecent);
  if (titles.length === 0) return null;
  const take = async (title: string) => {
    const id = named.get(title);
    if (id === undefined) return;
    const path = `/v1/sessions/${encodeURIComponent(id)}/events`;
    await attempt(found, null, async () => {
      for await (const [line] of lineGroups(await found.api.open(path, { limit: 1, follow: false }))) {
        if (line === undefined || into.current === null) continue;
        const { event } = JSON.parse(line) as Envelope;
        if (event.type === "session_started") into.current.value = event.requested.prompt;
        into.current.focus();
      }
    });
  };
  return (
    <label>
      Recent prompts
      <select onChange={({ currentTarget }) => void take(currentTarget.value)}>
        <option value="">Take one again …</option>
        {titles.map((title) => <option value={title}>{plainText(title, 100)}</option>)}
      </select>
    </label>
  );
}

/** The model, with those of the chosen agents to choose from. */
function Model({ of: agents }: { of: readonly AgentReport[] }) {
  const models = new Set(agents.flatMap((agent) => agent.models));
  return (
    <label>
      Model<input type="text" name="model" list="models" maxLength={256} placeholder="the agent's own" />
      <datalist id="models">{[...models].map((name) => <option value={name} />)}</datalist>
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
    ...omitEmpty({ model: text("model") }),
    timeout_ms: minutes === undefined ? undefined : minutes * 60_000,
    ...(Object.keys(budget).length === 0 ? {} : { budget, best_effort: true }),
    ...omitEmpty({ approval: text("approval"), labels }),
  };
}
