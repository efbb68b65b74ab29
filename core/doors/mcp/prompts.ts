import type { SessionHost } from "../../sessions/host/session-host.ts";
import type { McpPrompt } from "./surface.ts";

const workdirArgument = { name: "workdir", description: "Absolute path of the folder to work in.", required: true };
const adapterArgument = { name: "adapter", description: "Id of the adapter; default: the host chooses." };

/** Prompts that guide a model to the tools. */
export const prompts: readonly McpPrompt[] = [
  {
    name: "delegate_task",
    title: "Delegate a task to an agent",
    description: "Has an agent do a task in a folder, and reports what it changed.",
    arguments: [{ name: "task", description: "The task.", required: true }, workdirArgument, adapterArgument],
    get: async ({ task, workdir, adapter }) =>
      user(
        `Use the tool run_session${on(adapter)} with workdir ${JSON.stringify(workdir)} and this task as its prompt. ` +
          "If it answers with state waiting, decide from the task whether to allow what is asked, and use the tool " +
          "answer. Then say what changed, from data.artifacts alone, and what is left to do. On failure follow " +
          `recovery_guidance.\n\nTask:\n${task}`,
      ),
  },
  {
    name: "review_session",
    title: "Review what a session did",
    description: "Reads a session's events and judges its work.",
    arguments: [{ name: "session_id", description: "The session.", required: true }],
    get: async ({ session_id }) =>
      user(
        `Read the session ${session_id} with the tool read_session, page by page until complete is true, and its ` +
          `result at bulkhead://sessions/${session_id}/result. Say in short sentences what was asked, what the agent ` +
          "did, which files git shows as changed, what it claimed and git does not show (claimed_only), what the " +
          "operator's grants denied, and whether the task is done.",
      ),
  },
];

/** Completes the arguments of prompts and resource templates. */
export function createCompletion(sessions: SessionHost) {
  return async ({ argument: { name, value } }: { argument: { name: string; value: string } }): Promise<string[]> => {
    const candidates = name === "adapter"
      ? ["auto", ...(await sessions.agents()).map(({ id }) => id)]
      : name === "session_id"
      ? (await sessions.list({ limit: 100 })).map(({ session_id }) => session_id)
      : [];
    return candidates.filter((one) => one.startsWith(value));
  };
}

function on(adapter: string | undefined): string {
  return adapter ? ` with adapter ${JSON.stringify(adapter)}` : "";
}

function user(text: string) {
  return { messages: [{ role: "user" as const, content: { type: "text" as const, text } }] };
}
