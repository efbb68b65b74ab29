import { type CliCommand, mcpConfigFile, requestIn, type SessionRequest } from "bulkhead/plugin-sdk";
import { toolsThatAsk } from "./asking.ts";
import { openingLines } from "./control-requests.ts";
import { checked } from "./output-schema.ts";
import { toolsOption } from "./tool-names.ts";

/** The program, as the run permission names it. */
export const binary = "claude";

const protocol = [
  "-p",
  "--input-format",
  "stream-json",
  "--output-format",
  "stream-json",
  "--verbose",
  "--include-partial-messages",
  "--permission-prompt-tool",
  "stdio",
];

/** Options of the plugin, as its manifest declares them. */
export interface Options {
  /** Which of the program's own settings it reads. */
  setting_sources: string;
  /** How often the program itself tries a request again. */
  max_retries: number;
}

/**
 * The command of one session, in the one order of arguments that the manifest asks for. Every value is a part of its
 * option's argument, so that none can be taken for an option; prompts go to standard input.
 */
export function sessionCommand(request: SessionRequest, options: Options, memory: string | null): CliCommand {
  const { model, allowed_tools, system_prompt, max_turns, continue_from, fork, mcp_servers = [] } = request;
  const { output_schema: schema } = requestIn(request, checked);
  return {
    binary,
    args: [
      ...protocol,
      `--setting-sources=${options.setting_sources}`,
      `--model=${model ?? "default"}`,
      `--tools=${toolsOption(allowed_tools)}`,
      `--append-system-prompt=${system_prompt ?? ""}`,
      ...(max_turns === undefined ? [] : [`--max-turns=${max_turns}`]),
      ...(continue_from === undefined ? [] : [`--resume=${continue_from}`, ...copyOf(fork)]),
      ...(mcp_servers.length === 0 ? [] : [`--mcp-config=${mcpConfigFile}`]),
    ],
    env: {
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: String(options.max_retries),
      DISABLE_AUTOUPDATER: "1",
    },
    stdin: openingLines({
      schema: schema ?? null,
      ask: toolsThatAsk(request),
      system: memory === null ? null : [memory, system_prompt ?? ""].join("\n\n").trim(),
    }),
    keep_stdin_open: true,
  };
}

/** Without the first of them, the last would cut the session itself. */
function copyOf(fork: SessionRequest["fork"]): string[] {
  if (fork === undefined) return [];
  return ["--fork-session", ...(fork.at === undefined ? [] : [`--resume-session-at=${fork.at}`])];
}
