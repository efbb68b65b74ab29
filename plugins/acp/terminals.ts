import { type ClientApp, RequestError } from "@agentclientprotocol/sdk";
import { type AdapterContext, errorDataOf, type ProcessExit, type RunningProcess } from "bulkhead/plugin-sdk";
import { outcomeOf } from "./command-output.ts";
import type { FindOutcome } from "./tool-calls.ts";

/** UTF-16 units kept of a command's output where the agent sets no limit; the broker counts none. */
const defaultLimit = 64 * 1024;
const maxLimit = 1024 * 1024;
const maxTerminals = 16;

/** A command that runs for the agent. */
interface Terminal {
  child: RunningProcess;
  output: string;
  truncated: boolean;
  exit: ProcessExit | null;
  /** Resolves when the command has ended and all of its output is here. */
  over: Promise<ProcessExit>;
}

/** Command that the agent wants to run. */
interface Order {
  command: string;
  args?: readonly string[];
  env?: readonly { name: string; value: string }[];
}

/**
 * Runs commands for the agent, each as `sh -c`: what an agent calls a command is often a line for a shell. It needs the
 * grant of `sh`, which is one of everything. A released terminal can still be found: its tool's result names it.
 */
export function offerTerminals(app: ClientApp, ctx: AdapterContext): FindOutcome {
  const terminals = new Map<string, Terminal>();
  const released = new Map<string, Terminal>();
  let last = 0;
  const find = (id: string): Terminal => {
    const terminal = terminals.get(id);
    if (terminal) return terminal;
    throw new RequestError(-32002, `There is no terminal "${id}".`);
  };
  app.onRequest("terminal/create", async ({ params }) => {
    if (terminals.size >= maxTerminals) throw new RequestError(-32603, `${maxTerminals} terminals are open.`);
    const limit = Math.min(params.outputByteLimit ?? defaultLimit, maxLimit);
    const child = await start(params, params.cwd ?? undefined, ctx);
    const terminalId = `terminal-${++last}`;
    terminals.set(terminalId, collect(child, limit));
    return { terminalId };
  });
  app.onRequest("terminal/output", ({ params }) => {
    const { output, truncated, exit } = find(params.terminalId);
    return { output, truncated, ...(exit ? { exitStatus: statusOf(exit) } : {}) };
  });
  app.onRequest("terminal/wait_for_exit", async ({ params }) => statusOf(await find(params.terminalId).over));
  app.onRequest("terminal/kill", async ({ params }) => {
    await find(params.terminalId).child.kill();
    return {};
  });
  app.onRequest("terminal/release", async ({ params }) => {
    const terminal = find(params.terminalId);
    terminals.delete(params.terminalId);
    released.set(params.terminalId, terminal);
    if (released.size > maxTerminals) released.delete(released.keys().next().value ?? "");
    if (!terminal.exit) await terminal.child.kill();
    return {};
  });
  return (id) => {
    const terminal = terminals.get(id) ?? released.get(id);
    return terminal && outcomeOf(terminal.exit ?? none, terminal.output);
  };
}

async function start(order: Order, cwd: string | undefined, ctx: AdapterContext): Promise<RunningProcess> {
  try {
    return await ctx.run("sh", ["-c", commandLine(order)], cwd === undefined ? {} : { cwd });
  } catch (thrown) {
    throw new RequestError(-32603, errorDataOf(thrown)?.message ?? "The command could not be started.");
  }
}

/** One line for a shell: a command without arguments is such a line already. */
export function commandLine({ command, args = [], env = [] }: Order): string {
  const set = env.map(({ name, value }) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new RequestError(-32602, `"${name}" is not the name of an environment variable.`);
    }
    return `export ${name}=${quoted(value)}; `;
  });
  return set.join("") + (args.length === 0 ? command : [command, ...args].map(quoted).join(" "));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function collect(child: RunningProcess, limit: number): Terminal {
  const terminal: Terminal = { child, output: "", truncated: false, exit: null, over: Promise.resolve(none) };
  const keep = async (stream: AsyncIterable<string>): Promise<void> => {
    for await (const text of stream) {
      const whole = terminal.output + text;
      terminal.truncated ||= whole.length > limit;
      terminal.output = limit === 0 ? "" : whole.slice(-limit);
    }
  };
  terminal.over = Promise.allSettled([keep(child.stdout), keep(child.stderr)]).then(async () => {
    return terminal.exit = await child.exit.catch(() => none);
  });
  return terminal;
}

const none: ProcessExit = { exit_code: null, signal: null };

function statusOf({ exit_code, signal }: ProcessExit): { exitCode: number | null; signal: string | null } {
  return { exitCode: exit_code, signal };
}
