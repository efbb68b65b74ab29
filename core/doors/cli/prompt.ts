import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readFile } from "../../ground/runtime/files.ts";
import { resolve } from "../../ground/runtime/paths.ts";
import { meantId } from "../../packages/registry/unknown-plugin.ts";
import type { Terminal } from "../../ground/runtime/terminal.ts";

/** Options of {@link readPrompt}: arguments and flags of the command line. */
interface ReadPromptOptions {
  /** Positional arguments: `[adapter] [prompt]`, or one of them. */
  args: readonly (string | undefined)[];
  /** The adapter that a flag names: then the only argument is the prompt. */
  agent?: string | undefined;
  prompt: string | undefined;
  promptFile: string | undefined;
  /** Ids of all adapters; decide the meaning of a lone argument. */
  adapters: readonly string[];
  maxBytes: number;
}

/** An adapter's id, if given, and the prompt. */
interface AdapterAndPrompt {
  adapter: string | undefined;
  prompt: string;
}

/**
 * Finds adapter and prompt: `-` or a pipe is standard input, two arguments are adapter and prompt, and one argument is
 * the adapter only where the prompt comes from elsewhere.
 * @throws {BulkheadError} `invalid_config` without a prompt or with two prompts, `unknown_adapter` for a lone word that
 * is almost an adapter's id, `not_found`, `too_large`
 */
export async function readPrompt(source: ReadPromptOptions, terminal: Terminal): Promise<AdapterAndPrompt> {
  const [first, second] = source.args;
  const elsewhere = source.prompt ?? source.promptFile;
  if (source.agent !== undefined) {
    const { agent, ...rest } = source;
    if (second !== undefined || (elsewhere !== undefined && first !== undefined)) throw twoAdapters();
    return { ...await readPrompt({ ...rest, adapters: [] }, terminal), adapter: agent };
  }
  if (source.prompt !== undefined && source.promptFile !== undefined) throw twoPrompts();
  if (elsewhere !== undefined) {
    if (second !== undefined) throw twoPrompts();
    return { adapter: first, prompt: source.prompt ?? await readPromptFile(source, terminal) };
  }
  if (second !== undefined) return { adapter: first, prompt: await textOf(second, { source, terminal }) };
  if (first !== undefined && !source.adapters.includes(first)) {
    refuseMistypedAdapter(first, source.adapters);
    return { adapter: undefined, prompt: await textOf(first, { source, terminal }) };
  }
  if (terminal.stdin.isTty) {
    throw new BulkheadError("invalid_config", "There is no prompt.", {
      hint: "Give it as the last argument, with --prompt-file <file>, or on standard input.",
    });
  }
  return { adapter: first, prompt: await textOf("-", { source, terminal }) };
}

/** Refuses a lone word that is likely a mistyped id: as a prompt it would go to another agent. */
function refuseMistypedAdapter(word: string, adapters: readonly string[]): void {
  if (!/^[\w-]+$/.test(word)) return;
  const meant = meantId(word, adapters);
  if (meant === null && !/\w-\w/.test(word)) return;
  throw new BulkheadError("unknown_adapter", `There is no adapter "${word}".`, {
    hint: `${meant === null ? "" : `Did you mean "${meant}"? `}To send the word as the prompt: --prompt ${word}`,
  });
}

function textOf(word: string, from: { source: ReadPromptOptions; terminal: Terminal }): Promise<string> {
  return word === "-" ? readStdin(from.terminal, from.source.maxBytes) : Promise.resolve(word);
}

async function readStdin(terminal: Terminal, maxBytes: number): Promise<string> {
  const text = await terminal.stdin.readAll(maxBytes);
  if (text.trim() === "") throw new BulkheadError("invalid_config", "The prompt on standard input is empty.");
  return text;
}

async function readPromptFile({ promptFile = "", maxBytes }: ReadPromptOptions, terminal: Terminal): Promise<string> {
  if (promptFile === "-") return await readStdin(terminal, maxBytes);
  const path = resolve(terminal.cwd, promptFile);
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new BulkheadError("not_found", `Cannot read the prompt file ${path}: it is missing or not a readable file.`, {
      cause,
    });
  });
  if (bytes.byteLength > maxBytes) {
    throw new BulkheadError("too_large", `The prompt file ${path} is larger than ${maxBytes} bytes.`);
  }
  return new TextDecoder().decode(bytes);
}

function twoAdapters(): BulkheadError {
  return new BulkheadError("invalid_config", "There are two adapters, or two prompts.", {
    hint: "With --agent the only argument is the prompt.",
  });
}

function twoPrompts(): BulkheadError {
  return new BulkheadError("invalid_config", "There are two prompts.", {
    hint: "Give the prompt once: as the last argument, with --prompt, or with --prompt-file.",
  });
}
