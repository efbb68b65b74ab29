import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { AgentReport } from "../../../../../plugin-sdk/agent-report.ts";
import { omitEmpty, omitUndefined } from "../../../../../plugin-sdk/optional-fields.ts";
import { efforts, type SessionRequest } from "../../../../../plugin-sdk/request.ts";
import { RefusedCall } from "../api.ts";
import { noticeOf, useConsole } from "../console-context.ts";
import { sendKey } from "../keys.ts";
import { Failure, Screen, toggled } from "../parts.tsx";
import { goTo } from "../route.ts";
import { AgentOptions, optionsIn } from "./agent-options.tsx";
import { Agents, isOn, useStartAgents } from "./start-agents.tsx";
import { Folder } from "./start-folder.tsx";
import { type Preset, Presets, RecentPrompts, usePreset } from "./start-preset.tsx";

/** The form that starts a session, or the same prompt on several agents. */
export function Start({ as: first }: {
  /** Id of the session whose terms it begins with. */
  as?: string | undefined;
}) {
  const [several, setSeveral] = useState<ReadonlySet<string>>(new Set());
  const known = useStartAgents();
  const { preset, take } = usePreset(first, ({ adapter_id }) => setSeveral(new Set([adapter_id])));
  const on = known.agents?.filter(isOn) ?? null;
  const chosen = on?.filter(({ id }) => several.has(id)) ?? [];
  const { send, isBusy, failure } = useStart({ chosen, preset });
  const prompt = useRef<HTMLTextAreaElement>(null);
  return (
    <Screen title="Start a session" lead="An agent, a folder and a prompt. Choose several agents to compare them.">
      <form
        class="form start-form"
        onSubmit={(event) => (event.preventDefault(), void send(event.currentTarget))}
        onKeyDown={sendOnEnter}
      >
        <label>
          Prompt<textarea name="prompt" rows={6} required placeholder="What should be done?" ref={prompt} />
        </label>
        <RefusedField name="prompt" failure={failure} />
        <RecentPrompts into={prompt} />
        <Presets of={preset} take={take} hasAgent={on && preset && on.some(({ id }) => id === preset.adapter_id)} />
        <Fields key={preset?.session_id ?? ""} of={preset?.fields ?? {}} chosen={chosen} failure={failure}>
          <Agents of={known} chosen={several} toggle={(id) => setSeveral(toggled(several, id))} />
        </Fields>
        <RefusedField name={null} failure={failure} />
        <div class="dialog-actions">
          <span class="quiet-line start-key">{sendKey} starts it</span>
          <button type="submit" class="primary" disabled={isBusy}>
            {chosen.length > 1 ? `Start ${chosen.length} sessions` : "Start"}
          </button>
        </div>
      </form>
    </Screen>
  );
}

interface FieldsProps {
  /** Values that the fields have at first. */
  of: Partial<SessionRequest>;
  chosen: readonly AgentReport[];
  failure: unknown;
  /** The agents to choose from. */
  children: ComponentChildren;
}

/** Fields below the prompt; each preset has its own. */
function Fields({ of: given, chosen, failure, children }: FieldsProps) {
  const [only, ...others] = chosen;
  const takesEffort = chosen.length > 0 && chosen.every(({ accepts }) => accepts?.includes("effort"));
  return (
    <>
      <Folder of={given.workdir} />
      <RefusedField name="workdir" failure={failure} />
      {children}
      <Model of={chosen} given={given.model} />
      {takesEffort && <Choose name="effort" label="Effort" choices={effortChoices} given={given.effort} />}
      {only !== undefined && others.length === 0 && <AgentOptions key={only.id} of={only} given={given.params ?? {}} />}
      <Terms of={given} />
    </>
  );
}

/** A refusal of the host, at the field that it is about. */
function RefusedField({ name, failure }: { name: FieldName; failure: unknown }) {
  return failure !== null && fieldOf(failure) === name ? <Failure {...noticeOf(failure)} /> : null;
}

/** Sends the form; a refusal goes to its field. */
function useStart({ chosen, preset }: { chosen: readonly AgentReport[]; preset: Preset | null }) {
  const { api, sessions } = useConsole();
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const send = async (form: HTMLFormElement) => {
    // A key may send it where the button cannot.
    if (isBusy) return;
    setIsBusy(true);
    const start = async () => {
      const request = requestOf(new FormData(form), { chosen, preset });
      const ids = chosen.map(({ id }) => id);
      if (ids.length > 1) {
        const { id } = await api.send<{ id: string }>("POST", "/v1/comparisons", { ...request, adapters: ids });
        return goTo("compare", id);
      }
      const asked = { ...request, adapter: ids[0] ?? "auto" };
      const { session_id } = await api.send<{ session_id: string }>("POST", "/v1/sessions", asked);
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

/** Sends the form at Ctrl-Enter, in any of its fields. */
function sendOnEnter(event: KeyboardEvent & { currentTarget: HTMLFormElement }): void {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
}

type FieldName = "prompt" | "workdir" | null;

/** Names the field that a refusal is about; null for none of this form. */
function fieldOf(error: unknown): FieldName {
  if (!(error instanceof RefusedCall)) return null;
  const words = `${String(error.details["path"] ?? "")} ${error.message}`;
  return /\bworkdir\b|\bfolder\b|working directory/i.test(words)
    ? "workdir"
    : /\bprompt\b/.test(words)
    ? "prompt"
    : null;
}

/** The model, with those of the chosen agents to choose from. */
function Model({ of: agents, given }: { of: readonly AgentReport[]; given: string | undefined }) {
  const models = new Set(agents.flatMap((agent) => agent.models));
  return (
    <label>
      Model<input
        type="text"
        name="model"
        list="models"
        maxLength={256}
        defaultValue={given ?? ""}
        placeholder="the agent's own"
      />
      <datalist id="models">{[...models].map((name) => <option value={name} />)}</datalist>
    </label>
  );
}

type Choices = readonly (readonly [value: string, text: string])[];

const effortChoices: Choices = [
  ["", "The agent's own"],
  ...efforts.map((one) => [one, `${one.slice(0, 1).toUpperCase()}${one.slice(1)}`] as const),
];
const approvalChoices: Choices = [
  ["", "As the agent is set up"],
  ["ask", "Ask me"],
  ["reads", "Allow reading"],
  ["edits", "Allow reading and edits"],
  ["all", "Allow all that the walls allow"],
  ["deny", "Deny all"],
];
const workspaceChoices: Choices = [
  ["worktree", "In a worktree, to review"],
  ["inplace", "In the folder itself"],
];

interface ChooseProps {
  name: string;
  label: string;
  choices: Choices;
  /** The choice at first; default: the first. */
  given: string | undefined;
}

function Choose({ name, label, choices, given }: ChooseProps) {
  return (
    <label>
      {label}
      <select name={name}>
        {choices.map(([value, text]) => <option value={value} selected={value === given}>{text}</option>)}
      </select>
    </label>
  );
}

function Terms({ of: { approval, workspace, ...limits } }: { of: Partial<SessionRequest> }) {
  return (
    <>
      <div class="form-row">
        <Choose name="approval" label="Approvals" choices={approvalChoices} given={approval} />
        <Choose name="workspace" label="Where" choices={workspaceChoices} given={workspace} />
      </div>
      <Limits of={limits} />
    </>
  );
}

function Limits({ of: { timeout_ms, budget, labels = {} } }: { of: Partial<SessionRequest> }) {
  const number = (name: string, label: string, given: { min: string; step: string; defaultValue: number | string }) => (
    <label>
      {label}
      <input type="number" name={name} placeholder="no limit" {...given} />
    </label>
  );
  const minutes = timeout_ms === undefined ? "" : timeout_ms / 60_000;
  return (
    <>
      <div class="form-row">
        {number("minutes", "Minutes at most", { min: "0.001", step: "any", defaultValue: minutes })}
        {number("cost", "Cost at most", { min: "0", step: "any", defaultValue: budget?.cost ?? "" })}
        {number("turns", "Turns at most", { min: "1", step: "1", defaultValue: budget?.turns ?? "" })}
      </div>
      <p class="quiet-line">Where the host does not see an agent's calls, these hold by the agent's own word.</p>
      <label>
        Labels<input type="text" name="labels" defaultValue={labelsText(labels)} placeholder="ticket=123 team=web" />
      </label>
    </>
  );
}

/** Writes labels as the field takes them. */
function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`).join(" ");
}

interface RequestParts {
  chosen: readonly AgentReport[];
  preset: Preset | null;
}

/** A request of the form's fields, and of a preset's other terms; empty fields are left out. */
function requestOf(data: FormData, { chosen, preset }: RequestParts): Record<string, unknown> {
  const text = (name: string): string => String(data.get(name) ?? "").trim();
  const number = (name: string): number | undefined => text(name) === "" ? undefined : Number(text(name));
  const minutes = number("minutes");
  const { cost: _, turns: _1, ...further } = preset?.fields.budget ?? {};
  const budget = omitUndefined({ ...further, cost: number("cost"), turns: number("turns") });
  const typed = Object.fromEntries(
    text("labels").split(/\s+/).filter((label) => label.includes("=")).map((label) => {
      const at = label.indexOf("=");
      return [label.slice(0, at), label.slice(at + 1)];
    }),
  );
  const labels = { ...preset?.others.labels, ...typed };
  const [only, ...others] = chosen;
  const params = only === undefined || others.length > 0
    ? {}
    : optionsIn(data, only.config?.properties ?? {}, only.id === preset?.adapter_id ? preset.fields.params : {});
  return {
    ...preset?.others,
    prompt: text("prompt"),
    workdir: text("workdir"),
    workspace: text("workspace"),
    ...omitEmpty({ model: text("model"), effort: text("effort") }),
    timeout_ms: minutes === undefined ? undefined : Math.round(minutes * 60_000),
    ...(Object.keys(budget).length === 0 ? {} : { budget, best_effort: true }),
    ...omitEmpty({ approval: text("approval"), labels, params }),
  };
}
