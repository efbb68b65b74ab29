import type { ExplainedPermission } from "../../../../plugin-sdk/plugin-report.ts";
import type { BroadPermission } from "../../../packages/permissions/explain-permissions.ts";
import type { OptionChoice } from "../../../packages/manifest/option-choices.ts";
import { safeLine } from "./agent-text.ts";
import { wrapText } from "./text-width.ts";
import type { WallLineOptions } from "./wall-lines.ts";

type Asked =
  & Pick<ExplainedPermission, "permission" | "target" | "breadth">
  & Partial<Pick<ExplainedPermission, "binary" | "broad_because">>;

/** Names of programs that mean the host's own runtime. */
const programNames: Readonly<Record<string, string>> = { "@runtime": "the host's own JavaScript runtime" };

/** Says in plain words what a permission allows. Text that the plugin wrote stands in quotes. */
export function permissionWords({ permission, target, binary }: Asked): string {
  const quoted = JSON.stringify(safeLine(target));
  switch (permission) {
    case "run": {
      // Without its name told apart, the target is the name alone, as in a grant.
      const line = binary === undefined ? "" : target.slice(binary.length).trim();
      const name = binary ?? target;
      const program = programNames[name] ?? `the program ${JSON.stringify(safeLine(name))}`;
      return line === "" ? `start ${program}` : `start ${program} with ${safeLine(line)}`;
    }
    case "run_env":
      return `set an environment variable for a program: ${quoted}`;
    case "read":
      return `read files in ${place(target)}`;
    case "write":
      return `write and remove files in ${place(target)}`;
    case "net":
      return `send anything it knows to ${quoted}`;
    case "env":
      return `read the environment variable ${quoted}`;
    case "secrets":
      return `use a secret without seeing it: ${quoted}`;
    case "mcp_servers":
      return `hand a session's MCP servers, with their secrets, to the program ${quoted}`;
    case "kv":
      return "keep a small store of its own";
    case "limits":
      return `have a ceiling: ${quoted}`;
  }
}

/** A line for each, the riskiest first, as they come. */
export function askedLines(rows: readonly Asked[], options: WallLineOptions): string[] {
  return rows.flatMap((row) => {
    const { breadth, broad_because = "" } = row;
    return weighedLines(permissionWords(row), {
      ...options,
      breadth,
      reasons: broad_because === "" ? [] : [broad_because],
    });
  });
}

interface WeighedOptions extends WallLineOptions {
  breadth: Asked["breadth"];
  /** Why it allows more than it seems to. */
  reasons: readonly string[];
}

/** A permission in words, and where it allows more than it seems to that, and why below. */
export function weighedLines(words: string, { breadth, reasons, paint, columns }: WeighedOptions): string[] {
  if (breadth === "bounded") return indented(words, { indent: 4, columns });
  const weight = breadth === "everything" ? "amounts to everything" : "more than it seems";
  const [first = "", ...rest] = indented(`${words}: ${weight}.`, { indent: 4, columns });
  const marked = [`  ${paint("red", "!")} ${first.slice(4)}`, ...rest];
  const tone = breadth === "everything" ? "red" : "yellow";
  return [
    ...marked.map((line, index) =>
      index < marked.length - 1 ? line : line.replace(/[^:!]*\.$/, (end) => paint(tone, end))
    ),
    ...reasons.flatMap((reason) =>
      indented(safeLine(reason), { indent: 6, columns }).map((line) => paint("dim", line))
    ),
  ];
}

function indented(text: string, { indent, columns }: { indent: number; columns: number }): string[] {
  return wrapText(text, columns - indent, mostLines).map((line) => " ".repeat(indent) + line);
}

const mostLines = 50;

/** Lists the permissions that depend on the operator's options, a line for each option. */
export function choiceLines(id: string, choices: readonly OptionChoice[]): string[] {
  if (choices.length === 0) return [];
  const lines = choices.map(({ option, decides, value, hidden }) => {
    const now = value === null ? "not set" : hidden ? "hidden" : safeLine(JSON.stringify(value));
    return `    ${safeLine(option)} (now ${now}): ${decides.join(", ")}`;
  });
  return [
    `It asks for what these options say, under plugins.${id}.config in bulkhead.yaml; nothing where one is not set:`,
    ...lines,
  ];
}

function place(target: string): string {
  const names: Readonly<Record<string, string>> = {
    workdir: "the working directory",
    data: "its own data folder",
    plugin: "its own package",
  };
  if (target.startsWith("config:")) return `the settings of ${JSON.stringify(safeLine(target.slice(7)))}`;
  return names[target] ?? JSON.stringify(safeLine(target));
}

/** Lists the permissions that allow more than they seem to; no lines when there are none. */
export function broadLines(permissions: readonly BroadPermission[], options: WallLineOptions): string[] {
  const lines = permissions.flatMap(({ permission, target, breadth, broad_because }) => {
    if (breadth === "bounded") return [];
    const reasons = broad_because === undefined ? [] : [broad_because];
    return weighedLines(safeLine(`${permission} ${target}`), { ...options, breadth, reasons });
  });
  return lines.length === 0 ? [] : ["", "Look twice at:", ...lines];
}
