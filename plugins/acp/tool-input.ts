import {
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  listOf,
  objectsOf,
  parseJson,
  stringOf,
  textOf,
} from "bulkhead/plugin-sdk";

/** A tool's arguments, and all else that an agent shows of a call before it does its work. */
export interface ToolInput {
  /** The call's fields as they are now. */
  fields: JsonFields;
  /** The arguments as they were last told; undefined where the agent never told them. */
  args: unknown;
}

/** Returns the arguments that an update tells; undefined where it tells none, or not all of them. */
export function argumentsOf({ rawInput, content }: JsonFields, inText: boolean): unknown {
  const fields = fieldsOf(rawInput);
  if (fields ? Object.keys(fields).length > 0 : rawInput !== undefined && rawInput !== null) return rawInput;
  if (!inText) return undefined;
  const written = textsOf(content);
  return written === null ? undefined : fieldsOf(parseJson(written)) ?? undefined;
}

/** Whether it is known what the call is for. */
export function isKnown({ args, fields }: ToolInput): boolean {
  return args !== undefined || objectsOf(fields["content"]).some(({ type }) => type === "diff");
}

/** Returns the input as an event tells it: the arguments, or as much as the agent shows. */
export function inputOf({ fields, args }: ToolInput): unknown {
  if (args !== undefined) return args;
  const { title, locations, content } = fields;
  const paths = pathsOf(locations);
  const shown = shownOf(content);
  return {
    title: stringOf(title) ?? "",
    ...(paths.length > 0 ? { locations: paths } : {}),
    ...(shown === null ? {} : { content: shown }),
  };
}

/** Returns the input that a request for permission shows: the arguments, and what the request itself adds to them. */
export function inputAsked(input: ToolInput, { content, rawInput }: JsonFields): unknown {
  const args = fieldsOf(input.args);
  const shown = shownOf(content);
  if (!args || "content" in args || shown === null || fieldsOf(rawInput)) return inputOf(input);
  return { ...args, content: shown };
}

/** The title of a request, with the command or the files that it is about where the agent's own title leaves them out. */
export function titleAsked({ fields, args }: ToolInput, tool: string): string {
  const title = textOf(fields["title"]) ?? tool;
  const about = [commandOf(args) ?? filesOf(fields, title) ?? sentenceOf(fields, title)].flatMap((one) => one ?? []);
  return [title, ...about.filter((one) => !title.includes(one))].join(": ").slice(0, 1024);
}

/** Texts of a call's content as one; null when there are none, or other things beside them. */
export function textsOf(content: unknown): string | null {
  const items = listOf(content).map(fieldsOrNone);
  const texts = items.flatMap((item) => {
    const text = item["type"] === "content" ? stringOf(fieldsOrNone(item["content"])["text"]) : null;
    return text === null ? [] : [text];
  });
  return texts.length === 0 || texts.length < items.length ? null : texts.join("\n");
}

/** Paths of a call's locations. */
export function pathsOf(locations: unknown): string[] {
  return objectsOf(locations).flatMap(({ path }) => textOf(path) ?? []);
}

/** Content that says what a call will do: texts and differences. */
function shownOf(content: unknown): unknown {
  const text = textsOf(content);
  if (text !== null) return text === "" ? null : text;
  const others = objectsOf(content).filter(({ type }) => type !== "terminal");
  return others.length === 0 ? null : others;
}

function commandOf(args: unknown): string | undefined {
  const { command } = fieldsOrNone(args);
  return Array.isArray(command) ? command.map(String).join(" ") : textOf(command);
}

/** Files of the differences, unless the title has their names. */
function filesOf({ content }: JsonFields, title: string): string | undefined {
  const paths = objectsOf(content).flatMap(({ type, path }) => (type === "diff" ? textOf(path) ?? [] : []));
  const unsaid = paths.filter((path) => !title.includes(path.split(/[/\\]/).at(-1) ?? path));
  return unsaid.length === 0 ? undefined : unsaid.join(", ");
}

/** Text of the content, where the title is no more than the tool's name. */
function sentenceOf({ content }: JsonFields, title: string): string | undefined {
  return /\s/.test(title) ? undefined : textsOf(content)?.trim() || undefined;
}
