import { isFields, type JsonFields } from "../../../plugin-sdk/json-fields.ts";
import { cliToolSchema } from "../../../plugin-sdk/manifest.ts";
import { propertiesOf } from "../../ground/checks/properties-of.ts";

/** A map of tools in this host's words. */
interface PlainToolMap {
  value: unknown;
  /** Parts of the file that were left out, each a sentence. */
  notes: string[];
  toolNotes: Map<string, string[]>;
}

const known = Object.keys(propertiesOf(cliToolSchema));

/** Puts a map of tools into this host's words. Other forms stay, so that their check says why they are wrong. */
export function plainToolMap(value: unknown): PlainToolMap {
  const toolNotes = new Map<string, string[]>();
  if (!isFields(value)) return { value, notes: [], toolNotes };
  const { tools = alone(value), ...others } = value;
  const unused = Object.keys(others).filter((key) => value["tools"] !== undefined || key !== "cli");
  const notes = unused.length === 0 || tools === undefined ? [] : [`Left out of the file: ${unused.join(", ")}.`];
  if (!isFields(tools)) return { value: { tools }, notes, toolNotes };
  const plain = Object.entries(tools).map(([id, tool]) => {
    if (!isFields(tool)) return [id, tool] as const;
    const { fields, left } = plainTool(tool);
    if (left.length > 0) toolNotes.set(id, [`Left out of the tool: ${left.join(", ")}.`]);
    return [id, fields] as const;
  });
  return { value: { tools: Object.fromEntries(plain) }, notes, toolNotes };
}

/** The tool that a file describes as `cli`, called as its program. */
function alone({ cli }: JsonFields): JsonFields | undefined {
  if (!isFields(cli) || typeof cli["command"] !== "string") return undefined;
  const name = cli["command"].split(/[\s/\\]+/).filter((part) => part !== "").at(-1) ?? "tool";
  return { [name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "")]: cli };
}

function plainTool(tool: JsonFields): { fields: JsonFields; left: string[] } {
  const { command, args, prompt_mode, env, ...rest } = tool;
  const renamed = {
    ...rest,
    ...(rest["binary"] === undefined && typeof command === "string" ? { binary: command } : {}),
    ...(rest["command_template"] === undefined && typeof command === "string"
      ? { command_template: templateOf(args, prompt_mode) }
      : {}),
    ...(rest["env_vars"] === undefined && env !== undefined ? { env_vars: env } : {}),
  };
  const fields = Object.entries(renamed).filter(([key]) => known.includes(key)).map(([key, held]) => {
    if (key === "models" && isNames(held)) return [key, Object.fromEntries(held.map((name) => [name, name]))];
    if (key === "env_vars" && isNames(held)) {
      return [key, Object.fromEntries(held.map((name) => [name, `\${${name}}`]))];
    }
    return [key, held];
  });
  return { fields: Object.fromEntries(fields), left: Object.keys(renamed).filter((key) => !known.includes(key)) };
}

/** The command template of a program with plain arguments: the prompt comes last, or from its input. */
function templateOf(args: unknown, promptMode: unknown): string {
  const words = isNames(args) ? args.map(templateWord) : typeof args === "string" ? [args] : [];
  const holdsPrompt = words.some((word) => /\{prompt(?:_file)?\}/.test(word));
  const prompt = holdsPrompt ? [] : [promptMode === "stdin" ? "< {prompt_file}" : "{prompt}"];
  return ["{binary}", ...words, ...prompt].join(" ");
}

function templateWord(argument: string): string {
  const escaped = argument.replace(/[\\"'{}<>|;&]/g, "\\$&");
  const text = escaped.replace(/\\\{(prompt|prompt_file|model|workdir)\\\}/g, "{$1}");
  return /\s/.test(text) || text === "" ? `"${text}"` : text;
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
