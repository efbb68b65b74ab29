import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import type { ConfigSchema, OptionSchema } from "../../../plugin-sdk/manifest.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import { failure } from "./answers.ts";
import { followSession, resumeCall } from "./follow-session.ts";
import { startSession } from "./session-tools.ts";
import type { McpAnswer, McpTool } from "./surface.ts";

/** The fields of a request that each of these tools has; an option of the same name cannot be set through it. */
const fields = {
  prompt: { type: "string", description: "The task." },
  workdir: { type: "string", description: "Absolute path of the folder to work in." },
} as const;

/**
 * Returns a tool for each enabled plugin whose manifest says `expose: tool`. Asks no agent whether it is there.
 * @param taken names of other tools
 */
export async function pluginTools(
  sessions: SessionHost,
  { client, taken }: { client: string; taken: ReadonlySet<string> },
): Promise<McpTool[]> {
  const agents = await sessions.agents({ probe: false });
  return agents.filter(({ expose, availability }) => expose === "tool" && !stopped.includes(availability))
    .map((agent) => pluginTool(sessions, { agent, client, name: taken.has(agent.id) ? `run-${agent.id}` : agent.id }));
}

const stopped: readonly AgentReport["availability"][] = ["disabled", "unavailable"];

function pluginTool(
  sessions: SessionHost,
  { agent, client, name }: { agent: AgentReport; client: string; name: string },
): McpTool {
  const { name: title, description, config, output_schema } = agent;
  // The protocol knows objects only.
  const outputSchema = output_schema?.["type"] === "object" ? output_schema as McpTool["outputSchema"] : undefined;
  return {
    name,
    title,
    ...omitUndefined({ description, outputSchema }),
    inputSchema: inputOf(config),
    annotations: { title, readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    async call({ prompt, workdir, ...params }, call) {
      try {
        const resumed = await resumeCall(sessions, call);
        if (resumed !== null) return answerOf(resumed, outputSchema);
        // The host checks all of it, as at every door.
        const request = { prompt, workdir, params } as { prompt: string; workdir: string; params: typeof params };
        const handle = await startSession(sessions, request, {
          client,
          adapter: agent.id,
          signal: call.context.mcpReq.signal,
        });
        return answerOf(await followSession(handle, call), outputSchema);
      } catch (error) {
        return answerOf(failure(toErrorData(error)), outputSchema);
      }
    },
  };
}

/** With an output schema the structure of an answer is the plugin's data; everything else is told as text. */
function answerOf(answer: McpAnswer, outputSchema: unknown): McpAnswer {
  if (outputSchema === undefined || !("structuredContent" in answer)) return answer;
  const { structuredContent, ...told } = answer;
  const { data } = structuredContent as { data?: { state?: string; structured_output?: unknown; session_id?: string } };
  if (answer.isError || data?.state !== "ended") return { ...told, isError: true };
  const structured = data.structured_output as Record<string, unknown>;
  return {
    content: [{ type: "text", text: JSON.stringify(structured) }],
    structuredContent: structured,
    _meta: { "bulkhead/session_id": data.session_id },
  };
}

function inputOf(config: ConfigSchema | undefined): McpTool["inputSchema"] {
  const options = Object.entries(config?.properties ?? {}).map(([name, option]) => [name, schemaOf(option)]);
  return {
    type: "object",
    properties: { ...Object.fromEntries(options), ...fields },
    // The operator's settings fill in what a call leaves out.
    required: Object.keys(fields),
    additionalProperties: false,
  };
}

function schemaOf(option: OptionSchema): Record<string, unknown> {
  const { type, min_length, max_length, items: item = { type: "string" }, properties, ...same } = option;
  const items = type === "array";
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, schemaOf(field)]);
  return {
    type,
    ...same,
    ...(items ? { items: schemaOf(item) } : {}),
    ...(properties ? { properties: Object.fromEntries(fields), additionalProperties: false } : {}),
    ...omitUndefined({
      [items ? "minItems" : "minLength"]: min_length,
      [items ? "maxItems" : "maxLength"]: max_length,
    }),
  };
}
