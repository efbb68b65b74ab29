import type { ExplainedPermission } from "../../../packages/registry/explain-permissions.ts";
import type { OptionChoice } from "../../../packages/registry/option-choices.ts";
import { safeLine } from "./agent-text.ts";
import type { Paint } from "./paint.ts";

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
      const line = binary === undefined ? target : target.slice(binary.length).trim();
      const name = binary ?? target;
      const program = programNames[name] ?? JSON.stringify(safeLine(name));
      return line === "" ? `start the program ${program}` : `start the program ${program} with ${safeLine(line)}`;
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
export function askedLines(rows: readonly Asked[], paint: Paint): string[] {
  return rows.flatMap((row) => {
    const words = permissionWords(row);
    if (row.breadth === "bounded") return [`    ${words}`];
    const weight = row.breadth === "everything"
      ? paint("red", "amounts to everything")
      : paint("yellow", "more than it seems");
    return [`  ${paint("red", "!")} ${words}: ${weight}. ${paint("dim", safeLine(row.broad_because ?? ""))}`];
  });
}

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
