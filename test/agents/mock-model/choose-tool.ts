import type { JsonSchema, ModelCall, OfferedTool } from "./exchange.ts";

/** What the model wants done. */
export type Wish = { write: string; content: string } | Command;

interface Command {
  run: string;
  /** Outside of the agent's own sandbox, where its tool can ask for that. */
  unboxed?: true;
}

const pathName = /^(file_?path|path|absolute_path|target_file|filename)$/i;
const contentName = /^(contents?|text|file_text)$/i;
const commandName = /^(cmd|command)$/i;
/** A list of whole commands. */
const commandsName = /^commands$/i;
/** Arguments by which a command leaves the sandbox of Codex, which then asks. */
const unboxing: Record<string, string> = { sandbox_permissions: "require_escalated", justification: "May it run?" };

/**
 * A call of an offered tool that does what is wished; null where none can. What a tool does is read from the names of
 * its arguments: a file is written by one that takes a path and a content, else by a patch, else by a command.
 */
export function chooseCall(wish: Wish, tools: readonly OfferedTool[]): ModelCall | null {
  const id = callId();
  const runner = tools.find(({ schema }) => has(schema, commandName)) ??
    tools.find(({ schema }) => has(schema, commandsName));
  if ("write" in wish) {
    const writer = tools.find(({ schema }) => has(schema, pathName) && has(schema, contentName));
    if (writer) return { id, tool: writer, input: fill(writer.schema, wish) };
    const patcher = tools.find(({ name }) => name === "apply_patch");
    if (patcher?.schema === null) return { id, tool: patcher, input: patchOf(wish) };
    if (patcher) return { id, tool: patcher, input: { input: patchOf(wish) } };
  }
  return runner ? { id, tool: runner, input: fill(runner.schema, wish) } : null;
}

function patchOf({ write, content }: { write: string; content: string }): string {
  const lines = content.split("\n").map((line) => `+${line}`);
  return ["*** Begin Patch", `*** Add File: ${write}`, ...lines, "*** End Patch", ""].join("\n");
}

/** An id as models give them to their calls. */
export function callId(): string {
  return `call_${crypto.randomUUID().replaceAll("-", "")}`;
}

/** Whether a tool takes an argument of that name. */
export function has(schema: JsonSchema | null, name: RegExp): boolean {
  return Object.keys(schema?.properties ?? {}).some((key) => name.test(key));
}

function fill(schema: JsonSchema | null, wish: Wish): Record<string, unknown> {
  const { properties = {}, required = [] } = schema ?? {};
  const command = "run" in wish ? wish.run : `printf '%s' '${wish.content}' > '${wish.write}'`;
  const entries = Object.entries(properties).flatMap(([key, schema]) => {
    if ("write" in wish && pathName.test(key)) return [[key, wish.write]];
    if ("write" in wish && contentName.test(key)) return [[key, wish.content]];
    if (commandsName.test(key)) return [[key, [command]]];
    if (commandName.test(key)) return [[key, typeOf(schema) === "array" ? ["sh", "-c", command] : command]];
    if ("unboxed" in wish && key in unboxing) return [[key, unboxing[key]]];
    return required.includes(key) ? [[key, anything(schema)]] : [];
  });
  return Object.fromEntries(entries);
}

function anything(schema: JsonSchema): unknown {
  if (schema.enum) return schema.enum[0];
  switch (typeOf(schema)) {
    case "boolean":
      return false;
    case "number":
    case "integer":
      return 0;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return "as the test says";
  }
}

function typeOf({ type }: JsonSchema): string | undefined {
  return Array.isArray(type) ? type[0] : type;
}
