import { Argument } from "commander";
import { type DefineCommand, examples, type Invocation } from "../command.ts";

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

async function completion({ terminal, args }: Invocation): Promise<number> {
  await terminal.stdout.write(scripts[args[0] as keyof typeof scripts]);
  return 0;
}

const bash = `_bulkhead() {
  local IFS=$'\\n'
  COMPREPLY=($(bulkhead complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null))
}
complete -o default -F _bulkhead bulkhead
`;

/** Scripts that ask "bulkhead complete" for the words: ids of plugins and sessions are not the same tomorrow. */
const scripts = {
  bash,
  zsh: `#compdef bulkhead
autoload -U +X bashcompinit && bashcompinit
${bash}`,
  fish: `complete -c bulkhead -a '(bulkhead complete -- (commandline -opc)[2..] (commandline -ct) 2> /dev/null)'
`,
};
