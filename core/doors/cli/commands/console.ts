import { Option } from "commander";
import { openBrowser } from "../../../ground/platform/processes/open-browser.ts";
import { scopes, type TokenScope } from "../../http/scopes.ts";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { daemonPlace } from "../daemon-place.ts";
import { runningDaemon } from "../ask-daemon.ts";

/** `bulkhead console`. */
export const defineConsole: DefineCommand = (command, bind) => {
  command
    .option("--no-open", "print the address and open no browser")
    .addOption(new Option("--scope <scope>", "what the page may do").choices([...scopes]).default("admin"))
    .addHelpText(...examples(
      ["bulkhead console", "opens the page in your browser; the daemon must run"],
      ["bulkhead console --scope read", "a page that can look, and change nothing"],
      ["ssh -L 7717:127.0.0.1:7717 box bulkhead console --no-open", "the page of another machine, in your browser"],
    ))
    .action(bind(openConsole));
};

async function openConsole(call: Invocation): Promise<number> {
  const { terminal, json, options } = call;
  const { stateDir } = await daemonPlace(call);
  const record = await runningDaemon(stateDir, "open the console");
  const { connectDaemon, ours } = await import("../remote-sessions.ts");
  const remote = await connectDaemon(record);
  const { code, expires_at } = await ours(remote.consoleCode(options["scope"] as TokenScope));
  // A browser sends no fragment to the server, and the page removes it at once.
  const url = `${record.address}/console#code=${code}`;
  const wanted = options["open"] !== false && terminal.stdin.isTty && terminal.stderr.isTty && !json;
  const opened = wanted && await openBrowser(url);
  const text = `${opened ? "It opens" : "Open it"} in your browser. The address works once, within a minute.`;
  return await tell(call, { url, expires_at }, `${url}\n\n${text}`);
}
