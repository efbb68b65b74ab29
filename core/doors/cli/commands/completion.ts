import { Argument, type Command } from "commander";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";

/** A command's path and the words that may follow it. */
interface CompletionRow {
  /** `""` for the program, `"plugin list"` for a sub-command. */
  path: string;
  words: string[];
}

/** `bulkhead completion <shell>`. */
export const defineCompletion: DefineCommand = (command, bind) => {
  command
    .addArgument(new Argument("<shell>", "whose script").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      examples(
        ["source <(bulkhead completion bash)", "for this shell"],
        ["bulkhead completion fish > ~/.config/fish/completions/bulkhead.fish", "for good"],
      ),
    )
    .action(bind(completion));
};

async function completion({ terminal, args, wholeProgram }: Invocation): Promise<number> {
  const program = await wholeProgram();
  await terminal.stdout.write(completionScript(args[0] ?? "", completionRows(program)));
  return 0;
}

/** The words that complete each command of a program. */
function completionRows(program: Command, path = ""): CompletionRow[] {
  const flags = program.options.flatMap((option) => [option.long, option.short]).filter((flag) =>
    typeof flag === "string"
  );
  const children = program.commands;
  return [
    { path, words: [...children.map((child) => child.name()), ...flags, "--help"] },
    ...children.flatMap((child) => completionRows(child, `${path} ${child.name()}`.trim())),
  ];
}

/** The script that makes a shell complete those words. */
function completionScript(shell: string, rows: readonly CompletionRow[]): string {
  switch (shell) {
    case "bash":
      return bash(rows);
    case "zsh":
      return `#compdef bulkhead\nautoload -U +X bashcompinit && bashcompinit\n${bash(rows)}`;
    case "fish":
      return fish(rows);
    default:
      throw new BulkheadError("invalid_config", `There is no completion for the shell "${shell}".`);
  }
}

function bash(rows: readonly CompletionRow[]): string {
  const cases = rows.map(({ path, words }) => `    "${path}") words="${words.join(" ")}" ;;`);
  const paths = rows.map(({ path }) => `"${path}"`).filter((path) => path !== '""').join("|");
  return [
    "_bulkhead() {",
    '  local path="" next word words=""',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    next="${path:+$path }$word"',
    `    case "$next" in ${paths}) path="$next" ;; esac`,
    "  done",
    '  case "$path" in',
    ...cases,
    "  esac",
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    "}",
    "complete -o default -F _bulkhead bulkhead",
    "",
  ].join("\n");
}

function fish(rows: readonly CompletionRow[]): string {
  const lines = rows.flatMap(({ path, words }) => {
    const seen = path.split(" ").filter((word) => word !== "");
    const condition = seen.length === 0
      ? "__fish_use_subcommand"
      : seen.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    return words.map((word) => `complete -c bulkhead -n "${condition}" -a "${word}"`);
  });
  return `${lines.join("\n")}\n`;
}
