import {
  type AdapterContext,
  errorDataOf,
  type JsonFields,
  listOf,
  objectsOf,
  type ProcessExit,
  type RunningProcess,
} from "bulkhead/plugin-sdk";
import { type AgentConnection, countParam, RequestError, rpcCodes, textParam } from "./agent-connection.ts";
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
export function offerTerminals(agent: AgentConnection, ctx: AdapterContext): FindOutcome {
  const terminals = new Map<string, Terminal>();
  const released = new Map<string, Terminal>();
  let last = 0;
  const find = (id: string): Terminal => {
    const terminal = terminals.get(id);
    if (terminal) return terminal;
    throw new RequestError(rpcCodes.notFound, `There is no terminal "${id}".`);
  };
  agent.onRequest("terminal/create", async ({ params }) => {
    if (terminals.size >= maxTerminals) {
      throw new RequestError(rpcCodes.internal, `${maxTerminals} terminals are open.`);
    }
    const limit = Math.min(countParam(params, "outputByteLimit") ?? defaultLimit, maxLimit);
    const cwd = typeof params["cwd"] === "string" ? params["cwd"] : undefined;
    const child = await start(orderOf(params), cwd, ctx);
    const terminalId = `terminal-${++last}`;
    terminals.set(terminalId, collect(child, limit));
    return { terminalId };
  });
  agent.onRequest("terminal/output", ({ params }) => {
    const { output, truncated, exit } = find(textParam(params, "terminalId"));
    return { output, truncated, ...(exit ? { exitStatus: statusOf(exit) } : {}) };
  });
  agent.onRequest(
    "terminal/wait_for_exit",
    async ({ params }) => statusOf(await find(textParam(params, "terminalId")).over),
  );
  agent.onRequest("terminal/kill", async ({ params }) => {
    await find(textParam(params, "terminalId")).child.kill();
    return {};
  });
  agent.onRequest("terminal/release", async ({ params }) => {
    const terminalId = textParam(params, "terminalId");
    const terminal = find(terminalId);
    terminals.delete(terminalId);
    released.set(terminalId, terminal);
    if (released.size > maxTerminals) released.delete(released.keys().next().value ?? "");
    if (!terminal.exit) await terminal.child.kill();
    return {};
  });
  return (id) => {
    const terminal = terminals.get(id) ?? released.get(id);
    return terminal && outcomeOf(terminal.exit ?? none, terminal.output);
  };
}

function orderOf(params: JsonFields): Order {
  return {
    command: textParam(params, "command"),
    args: listOf(params["args"]).map((argument) => textParam({ argument }, "argument")),
    env: objectsOf(params["env"]).map((one) => ({ name: textParam(one, "name"), value: textParam(one, "value") })),
  };
}

async function start(order: Order, cwd: string | undefined, ctx: AdapterContext): Promise<RunningProcess> {
  try {
    return await ctx.run("sh", ["-c", commandLine(order)], cwd === undefined ? {} : { cwd });
  } catch (thrown) {
    throw new RequestError(rpcCodes.internal, errorDataOf(thrown)?.message ?? "The command could not be started.");
  }
}

/** One line for a shell: a command without arguments is such a line already. */
export function commandLine({ command, args = [], env = [] }: Order): string {
  const set = env.map(({ name, value }) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new RequestError(rpcCodes.invalidParams, `"${name}" is not the name of an environment variable.`);
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
