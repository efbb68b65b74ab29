import { type ArgumentPiece, formatArgumentPattern, looksLikeOption } from "./argument-pattern.ts";
import { BulkheadError } from "./errors.ts";
import { lineFault, type Piece, splitWords, type Word } from "./words.ts";

/** Placeholders every template may use, in addition to `{params.<name>}`. */
export const templatePlaceholders = [
  "binary",
  "model",
  "prompt",
  "prompt_file",
  "output_file",
  "workdir",
  "plugin_dir",
] as const;

/** A member of {@link templatePlaceholders}. */
export type TemplatePlaceholder = (typeof templatePlaceholders)[number];

/** A piece of one argument: literal text, or a placeholder's name, such as `prompt` or `params.depth`. */
export type TemplatePiece = { literal: string } | { placeholder: string };

/** A parsed command template. */
export interface CommandTemplate {
  /** The arguments that follow the binary, each in its pieces. */
  readonly args: readonly (readonly TemplatePiece[])[];
  /** True if `< {prompt_file}` feeds standard input. */
  readonly prompt_on_stdin: boolean;
  /** Names of all placeholders used, each once. */
  readonly placeholders: readonly string[];
}

/** Options of {@link parseCommandTemplate}. */
export interface CommandTemplateOptions {
  /** Names that may follow `params.`; absent: any. */
  params?: readonly string[];
}

/** Values for the placeholders of a template. */
export interface TemplateValues extends Partial<Record<Exclude<TemplatePlaceholder, "binary">, string>> {
  binary: string;
  /** A list is filled in as one argument, joined with commas. */
  params?: Readonly<Record<string, unknown>>;
}

/** A command that is ready to start. */
export interface FilledCommand {
  binary: string;
  args: string[];
  /** Path of the file that feeds standard input; absent: standard input is closed. */
  stdin_file?: string;
}

const templateName = "command template";
const shellSigns = ["|", "&", ";", ">", "<", "`", "$("];

/**
 * Parses a command template to an argument list, once. No shell ever sees it: unquoted characters that a shell would
 * interpret are refused. Quotes group, a backslash makes the next character literal, and `< {prompt_file}` feeds that
 * file on standard input.
 * @throws {BulkheadError} `invalid_manifest` with `details.position`, from 1
 */
export function parseCommandTemplate(template: string, options: CommandTemplateOptions = {}): CommandTemplate {
  const words = splitWords(template, { name: templateName, signs: shellSigns });
  const [binary, ...rest] = words;
  if (!binary || !isSlot(binary, "binary")) {
    throw lineFault(templateName, "it does not begin with {binary}", { at: binary?.at ?? 0 });
  }
  const args: TemplatePiece[][] = [];
  let stdinAt: number | null = null;
  for (let index = 0; index < rest.length; index++) {
    const word = rest[index]!;
    if ("pieces" in word) {
      args.push(word.pieces.map((piece) => readPiece(piece, options)));
    } else {
      if (word.sign !== "<") throw shellFault(word.sign, word);
      if (stdinAt !== null) throw lineFault(templateName, 'a second "<" stands', { at: word.at });
      stdinAt = word.at;
      const file = rest[++index];
      if (!file || !isSlot(file, "prompt_file")) {
        throw lineFault(templateName, '{prompt_file} does not follow the "<"', { at: word.at });
      }
    }
  }
  const used = args.flat().flatMap((piece) => ("placeholder" in piece ? [piece.placeholder] : []));
  if (stdinAt !== null) used.push("prompt_file");
  return { args, prompt_on_stdin: stdinAt !== null, placeholders: [...new Set(["binary", ...used])] };
}

/**
 * Fills a template, argument by argument: a value never leaves its argument.
 * @throws {BulkheadError} `invalid_request` for a placeholder without a value, and for a value other than the prompt
 * that would turn its argument into an option
 */
export function fillCommandTemplate(template: CommandTemplate, values: TemplateValues): FilledCommand {
  const args = template.args.map((pieces) => {
    const argument = pieces.map((piece) => ("literal" in piece ? piece.literal : valueOf(piece.placeholder, values)))
      .join("");
    const first = pieces[0];
    if (first && "placeholder" in first && first.placeholder !== "prompt" && looksLikeOption(argument)) {
      throw new BulkheadError(
        "invalid_request",
        `Cannot fill {${first.placeholder}}: its value "${argument.slice(0, 64)}" would be read as an option.`,
      );
    }
    return argument;
  });
  return {
    binary: values.binary,
    args,
    ...(template.prompt_on_stdin ? { stdin_file: valueOf("prompt_file", values) } : {}),
  };
}

/** Returns the lines of a run permission's `args` that allow everything this template can become, and nothing else. */
export function argumentPatterns(template: CommandTemplate): string[] {
  const pattern = template.args.map((pieces) =>
    pieces.map((piece): ArgumentPiece => {
      if ("literal" in piece) return piece;
      return { slot: piece.placeholder === "prompt" ? "any" : "value" };
    })
  );
  return [formatArgumentPattern(pattern)];
}

/**
 * Splits a line of arguments without placeholders, such as that of a probe.
 * @throws {BulkheadError} `invalid_manifest` with `details.position`, from 1
 */
export function parseArguments(line: string): string[] {
  const name = "argument line";
  return splitWords(line, { name, signs: shellSigns }).map((word) => {
    if ("sign" in word) throw shellFault(word.sign, word);
    return word.pieces.map((piece) => {
      if ("literal" in piece) return piece.literal;
      throw lineFault(name, `{${piece.slot}} cannot be filled in`, { at: piece.at });
    }).join("");
  });
}

function readPiece(piece: Piece, options: CommandTemplateOptions): TemplatePiece {
  if ("literal" in piece) return piece;
  const name = piece.slot;
  const parameter = name.startsWith("params.") ? name.slice("params.".length) : null;
  if (parameter) {
    if (!options.params || options.params.includes(parameter)) return { placeholder: name };
    throw lineFault(templateName, `{${name}} names no option declared under "config"`, { at: piece.at });
  }
  if (name === "binary") throw lineFault(templateName, "a second {binary} stands", { at: piece.at });
  if ((templatePlaceholders as readonly string[]).includes(name)) return { placeholder: name };
  throw lineFault(templateName, `unknown placeholder {${name}}`, {
    at: piece.at,
    hint: `The placeholders are ${templatePlaceholders.map((known) => `{${known}}`).join(" ")} and {params.<name>}; ` +
      "write \\{ for a brace as such.",
  });
}

function valueOf(placeholder: string, values: TemplateValues): string {
  const key = placeholder.startsWith("params.") ? placeholder.slice("params.".length) : null;
  const source: object = key === null ? values : values.params ?? {};
  const name = key ?? placeholder;
  const value: unknown = Object.hasOwn(source, name) ? Reflect.get(source, name) : undefined;
  if (Array.isArray(value)) return value.join(",");
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return String(value);
  throw new BulkheadError("invalid_request", `Cannot fill {${placeholder}}: the request gives no value for it.`, {
    details: { placeholder },
  });
}

function isSlot(word: Word, slot: string): boolean {
  const piece = "pieces" in word && word.pieces.length === 1 ? word.pieces[0] : undefined;
  return piece !== undefined && "slot" in piece && piece.slot === slot;
}

function shellFault(sign: string, where: { at: number }): BulkheadError {
  return lineFault(templateName, `"${sign}" stands outside quotes`, {
    at: where.at,
    hint: "A template is an argument list and no shell reads it: put what a shell should do into a script, " +
      "or quote the sign to pass it on as text.",
  });
}
