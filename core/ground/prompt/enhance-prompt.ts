import { wordsForSchema } from "../../../plugin-sdk/output-schema.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { instructionsFor } from "./instructions.ts";
import { isEnhanced, type PromptSettings } from "./prompt-settings.ts";

/** Content of a request's context file. */
export interface ContextFile {
  /** Relative to the working directory, with `/`. */
  path: string;
  text: string;
}

/** Options of {@link enhancePrompt}. */
export interface PromptOptions {
  settings: PromptSettings;
  /** Absolute path, as the agent will see it. */
  workdir: string;
  contextFiles: readonly ContextFile[];
  /** Earlier turns for an agent that does not remember them; default: none. */
  briefing?: string | undefined;
  /** The agent takes a separate system prompt; else the prompt begins with it. */
  takesSystemPrompt: boolean;
  /** The agent takes an output schema; else the prompt asks for it. */
  takesOutputSchema: boolean;
}

/**
 * Builds the prompt for an adapter, the same for every adapter: the system prompt where the agent takes none, the
 * instructions, the working directory, the signal of completion, the scratchpad, the iteration, the context files, the
 * briefing, the request's prompt, and an output schema that the agent does not take.
 */
export function enhancePrompt(request: SessionRequest, parts: PromptOptions): string {
  const sections = [
    ...(request.system_prompt === undefined || parts.takesSystemPrompt ? [] : [request.system_prompt]),
    ...(isEnhanced(request, parts.settings) ? instructions(request, parts) : []),
    ...(parts.contextFiles.length > 0 ? [contextSection(parts.contextFiles)] : []),
    ...(parts.briefing === undefined ? [] : [parts.briefing]),
  ];
  const { output_schema: schema } = request;
  const asked = schema === undefined || parts.takesOutputSchema ? [] : [wordsForSchema(schema)];
  return [...sections, request.prompt, ...asked].join("\n\n");
}

function instructions(request: SessionRequest, { settings, workdir }: PromptOptions): string[] {
  const { role = "implementor", iteration = 1, max_iterations } = request;
  const kind = iteration <= settings.full_iterations ? "full" : "condensed";
  const text = settings.instructions[role]?.[kind] ?? instructionsFor(role)[kind];
  const facts = [
    `Working Directory: ${workdir}`,
    `Signal completion with ${settings.signal}`,
    `Read ${settings.scratchpad}`,
    max_iterations === undefined ? `Iteration ${iteration}` : `Iteration ${iteration} of ${max_iterations}`,
  ];
  return [text, facts.join("\n")];
}

/** Fences are longer than any run of backticks in the file, so that no file can end its own. */
function contextSection(files: readonly ContextFile[]): string {
  return files.map(({ path, text }) => {
    const runs = text.match(/`+/g) ?? [];
    const fence = "`".repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
    return `Context file ${JSON.stringify(path)}:\n${fence}\n${text.endsWith("\n") ? text : `${text}\n`}${fence}`;
  }).join("\n\n");
}
