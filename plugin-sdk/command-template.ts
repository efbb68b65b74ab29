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
  "continue_from",
  "system_prompt",
  "allowed_tools",
  "max_turns",
  "output_schema",
] as const;

/** A member of {@link templatePlaceholders}. */
export type TemplatePlaceholder = (typeof templatePlaceholders)[number];

/** A piece of one argument: literal text, or a placeholder's name, such as `prompt` or `params.depth`. */
export type TemplatePiece = { literal: string } | { placeholder: string };

/** Indexes of the arguments in one group: from the first up to, but not including, `to`. */
export interface ArgumentGroup {
  readonly from: number;
  readonly to: number;
}

/** A parsed command template. */
export interface CommandTemplate {
  /** The arguments that follow the binary, each in its pieces. */
  readonly args: readonly (readonly TemplatePiece[])[];
  /** Groups of arguments that are left out where a placeholder in them has no value. */
  readonly groups: readonly ArgumentGroup[];
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
export interface TemplateValues extends Partial<Record<Exclude<TemplatePlaceholder, NoText>, string | undefined>> {
  /** Filled in as one argument, joined with commas; so are lists under `params`, and objects there are JSON. */
  allowed_tools?: readonly string[] | undefined;
  max_turns?: number | undefined;
  /** Filled in as one argument of JSON. */
  output_schema?: Readonly<Record<string, unknown>> | undefined;
  binary: string;
  params?: Readonly<Record<string, unknown>> | undefined;
}

type NoText = "binary" | "allowed_tools" | "max_turns" | "output_schema";

/** A command that is ready to start. */
export interface FilledCommand {
  binary: string;
  args: string[];
  /** Path of the file that feeds standard input; absent: standard input is closed. */
  stdin_file?: string | undefined;
}

const templateName = "command template";
const shellSigns = ["|", "&", ";", ">", "<", "`", "$("];

/** Fields that only some requests set: only a group can be left out for the others. */
const askedFor: readonly string[] = ["continue_from", "system_prompt", "allowed_tools", "max_turns", "output_schema"];

/** Most groups in one template: the run permission has a line for each of their combinations. */
const maxGroups = 4;

const bracketHint = "Brackets hold arguments that are left out where a placeholder in them has no value: " +
  "[-m {model}]. Write \\[ for a bracket as such.";

/**
 * Parses a command template to an argument list, once. No shell ever sees it: unquoted characters that a shell would
 * interpret are refused. Quotes group, a backslash makes the next character literal, `< {prompt_file}` feeds that file
 * on standard input, and `[-m {model}]` is left out where `{model}` has no value.
 * @throws {BulkheadError} `invalid_manifest` with `details.position`, from 1
 */
export function parseCommandTemplate(template: string, options: CommandTemplateOptions = {}): CommandTemplate {
  const [binary, ...words] = splitWords(template, { name: templateName, signs: shellSigns, groups: true });
  if (!binary || !isSlot(binary, "binary")) {
    throw lineFault(templateName, "it does not begin with {binary}", { at: binary?.at ?? 0 });
  }
  return new TemplateReader(words, options).read();
}

/**
 * Whether the program may take the prompt for an option: it begins an argument, and no `--` before it ends the options.
 * After a flag of its own it may be that flag's value, which only the program knows.
 */
export function exposesPrompt({ args }: CommandTemplate): boolean {
  const at = args.findIndex(([first]) =>
    first !== undefined && "placeholder" in first && first.placeholder === "prompt"
  );
  const ends = args.findIndex((pieces) => pieces.length === 1 && "literal" in pieces[0]! && pieces[0].literal === "--");
  return at !== -1 && (ends === -1 || ends > at);
}

/** Advice on a template that {@link exposesPrompt}. */
export const exposedPromptNote: string =
  'A prompt that begins with "-" may be taken for an option of the program. Write -- {prompt}, --flag={prompt} or ' +
  "< {prompt_file} in the command_template.";

/** Reads the words after the binary. */
class TemplateReader {
  readonly #words: readonly Word[];
  readonly #options: CommandTemplateOptions;
  readonly #args: TemplatePiece[][] = [];
  readonly #groups: ArgumentGroup[] = [];
  #open: { at: number; from: number } | null = null;
  #stdinAt: number | null = null;
  #next = 0;

  constructor(words: readonly Word[], options: CommandTemplateOptions) {
    this.#words = words;
    this.#options = options;
  }

  read(): CommandTemplate {
    for (let word = this.#take(); word; word = this.#take()) {
      if ("pieces" in word) this.#args.push(word.pieces.map((piece) => this.#piece(piece)));
      else if (word.sign === "[") this.#open = { at: word.at, from: this.#args.length };
      else if (word.sign === "]") this.#close(word.at);
      else this.#feed(word);
    }
    if (this.#open) {
      const { at } = this.#open;
      throw lineFault(templateName, 'the bracket "[" is not closed', { at, hint: bracketHint });
    }
    const used = namesIn(this.#args);
    if (this.#stdinAt !== null) used.push("prompt_file");
    return {
      args: this.#args,
      groups: this.#groups,
      prompt_on_stdin: this.#stdinAt !== null,
      placeholders: [...new Set(["binary", ...used])],
    };
  }

  #take(): Word | undefined {
    return this.#words[this.#next++];
  }

  #piece(piece: Piece): TemplatePiece {
    const read = readPiece(piece, this.#options);
    if ("slot" in piece && askedFor.includes(piece.slot) && !this.#open) {
      throw lineFault(templateName, `{${piece.slot}} stands outside brackets`, {
        at: piece.at,
        hint: `Put the arguments that a request without it must not have into brackets: [--option {${piece.slot}}].`,
      });
    }
    return read;
  }

  #close(at: number): void {
    const { from, at: openedAt } = this.#open!;
    this.#open = null;
    const group: ArgumentGroup = { from, to: this.#args.length };
    if (!namesIn(this.#args.slice(from)).some(canBeEmpty)) {
      throw lineFault(templateName, "no placeholder in the brackets can be without a value", {
        at: openedAt,
        hint: bracketHint,
      });
    }
    if (this.#words[this.#next]?.at === at + 1) {
      throw lineFault(templateName, 'no blank follows the "]"', { at: at + 1, hint: bracketHint });
    }
    if (this.#groups.push(group) > maxGroups) {
      throw lineFault(templateName, `group ${maxGroups + 1} in brackets stands, one too many,`, { at: openedAt });
    }
  }

  #feed({ sign, at }: { sign: string; at: number }): void {
    if (sign !== "<") throw shellFault(sign, { at });
    if (this.#open) throw lineFault(templateName, 'a "<" stands in brackets', { at });
    if (this.#stdinAt !== null) throw lineFault(templateName, 'a second "<" stands', { at });
    this.#stdinAt = at;
    const file = this.#take();
    if (!file || !isSlot(file, "prompt_file")) {
      throw lineFault(templateName, '{prompt_file} does not follow the "<"', { at });
    }
  }
}

/**
 * Fills a template, argument by argument: a value never leaves its argument.
 * @throws {BulkheadError} `invalid_request` for a placeholder without a value, and for a value other than the prompt
 * that would turn its argument into an option
 */
export function fillCommandTemplate(template: CommandTemplate, values: TemplateValues): FilledCommand {
  const wanted = template.groups.filter((group) =>
    namesIn(argumentsOf(template, group)).every((name) => isSet(name, values))
  );
  const args = withGroups(template, wanted).map((pieces) => {
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
    stdin_file: template.prompt_on_stdin ? valueOf("prompt_file", values) : undefined,
  };
}

/**
 * Returns the lines of a run permission's `args` that allow everything this template can become, and nothing else: one
 * for each combination of its groups.
 */
export function argumentPatterns(template: CommandTemplate): string[] {
  const combinations = template.groups.reduce<ArgumentGroup[][]>(
    (before, group) => [...before, ...before.map((groups) => [...groups, group])],
    [[]],
  );
  return combinations.map((groups) => formatArgumentPattern(withGroups(template, groups).map(patternOf)));
}

/** Returns the names of the placeholders that a command always needs: those outside groups. */
export function neededPlaceholders(template: CommandTemplate): string[] {
  return namesIn(withGroups(template, []));
}

function patternOf(pieces: readonly TemplatePiece[]): ArgumentPiece[] {
  return pieces.map((piece) => "literal" in piece ? piece : { slot: piece.placeholder === "prompt" ? "any" : "value" });
}

/** Returns the arguments outside groups and those of the given groups. */
function withGroups(template: CommandTemplate, groups: readonly ArgumentGroup[]): (readonly TemplatePiece[])[] {
  const left = template.groups.filter((group) => !groups.includes(group));
  return template.args.filter((_argument, index) => !left.some(({ from, to }) => from <= index && index < to));
}

function argumentsOf({ args }: CommandTemplate, { from, to }: ArgumentGroup): (readonly TemplatePiece[])[] {
  return args.slice(from, to);
}

function namesIn(args: readonly (readonly TemplatePiece[])[]): string[] {
  return args.flat().flatMap((piece) => ("placeholder" in piece ? [piece.placeholder] : []));
}

function canBeEmpty(placeholder: string): boolean {
  return placeholder === "model" || askedFor.includes(placeholder) || placeholder.startsWith("params.");
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

/** Returns true unless the placeholder has no value or an empty text; an empty list is a value: it names none. */
function isSet(placeholder: string, values: TemplateValues): boolean {
  const value = valueIn(placeholder, values);
  return value !== undefined && value !== null && value !== "";
}

function valueIn(placeholder: string, values: TemplateValues): unknown {
  const key = placeholder.startsWith("params.") ? placeholder.slice("params.".length) : null;
  const source: object = key === null ? values : values.params ?? {};
  const name = key ?? placeholder;
  return Object.hasOwn(source, name) ? Reflect.get(source, name) : undefined;
}

function valueOf(placeholder: string, values: TemplateValues): string {
  const value = valueIn(placeholder, values);
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.join(",");
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
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
