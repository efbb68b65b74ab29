import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readFile } from "../../ground/platform/files/files.ts";
import { resolve } from "../../ground/platform/files/paths.ts";
import { meantId } from "../../packages/registry/unknown-plugin.ts";
import type { Terminal } from "../../ground/platform/terminal/terminal.ts";

/** Options of {@link readPrompt}: arguments and flags of the command line. */
interface ReadPromptOptions {
  /** Positional arguments: `[adapter] [prompt]`, or one of them. */
  args: readonly (string | undefined)[];
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
 * Finds adapter and prompt: two arguments are adapter and prompt, and one argument is the adapter only where it is the
 * id of one, or several with commas, and the prompt comes from a file or a pipe.
 * @throws {BulkheadError} `invalid_config` without a prompt or with two prompts, `unknown_adapter` for a lone word that
 * is almost an adapter's id, `not_found`, `too_large`
 */
export async function readPrompt(source: ReadPromptOptions, terminal: Terminal): Promise<AdapterAndPrompt> {
  const [first, second] = source.args;
  refuseDash([first, second, source.promptFile]);
  if (source.promptFile !== undefined) {
    if (second !== undefined) throw twoPrompts();
    return { adapter: first, prompt: await readPromptFile(source.promptFile, { source, terminal }) };
  }
  if (second !== undefined) return { adapter: first, prompt: second };
  if (first !== undefined && !first.split(",").every((id) => source.adapters.includes(id))) {
    refuseMistypedAdapter(first, source.adapters);
    return { adapter: undefined, prompt: first };
  }
  if (terminal.stdin.isTty) {
    throw new BulkheadError("invalid_config", "There is no prompt.", {
      hint: "Give it as the last argument, with --prompt-file <file>, or on standard input.",
    });
  }
  return { adapter: first, prompt: await readStdin(terminal, source.maxBytes) };
}

/** Refuses a lone word that is likely a mistyped id: as a prompt it would go to another agent. */
function refuseMistypedAdapter(word: string, adapters: readonly string[]): void {
  if (!/^[\w-]+$/.test(word)) return;
  const meant = meantId(word, adapters);
  if (meant === null && !/\w-\w/.test(word)) return;
  throw new BulkheadError("unknown_adapter", `There is no adapter "${word}".`, {
    hint: `${
      meant === null ? "" : `Did you mean "${meant}"? `
    }To send the word as the prompt, name the adapter before it.`,
  });
}

/** Refuses the dash by which other programs read standard input: here a prompt that is left out does. */
function refuseDash(words: readonly (string | undefined)[]): void {
  if (!words.includes("-")) return;
  throw new BulkheadError("invalid_config", '"-" is no prompt.', {
    hint: "Leave it out: the prompt is then read from standard input, where that is a pipe.",
  });
}

async function readStdin(terminal: Terminal, maxBytes: number): Promise<string> {
  const text = await terminal.stdin.readAll(maxBytes);
  if (text.trim() === "") throw new BulkheadError("invalid_config", "The prompt on standard input is empty.");
  return text;
}

async function readPromptFile(
  file: string,
  { source: { maxBytes }, terminal }: { source: ReadPromptOptions; terminal: Terminal },
): Promise<string> {
  const path = resolve(terminal.cwd, file);
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

function twoPrompts(): BulkheadError {
  return new BulkheadError("invalid_config", "There are two prompts.", {
    hint: "Give the prompt once: as the last argument, or with --prompt-file.",
  });
}
