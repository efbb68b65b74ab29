import {
  type AdapterContext,
  errorDataOf,
  type JsonFields,
  type JsonRpcPeer,
  listOf,
  objectsOf,
  type ProcessExit,
  rpcCodes,
  RpcError,
  type RunningProcess,
  TextTail,
} from "bulkhead/plugin-sdk";
import { outcomeOf } from "./command-output.ts";
import { countParam, textParam } from "./request-params.ts";
import type { FindOutcome } from "./tool-calls.ts";

/** UTF-16 units kept of a command's output where the agent sets no limit; the broker counts none. */
const defaultLimit = 64 * 1024;
const maxLimit = 1024 * 1024;
const maxTerminals = 16;

/** A command that runs for the agent. */
interface Terminal {
  child: RunningProcess;
  output: TextTail;
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
 * grant of `sh`, which is one of everything.
 */
export function offerTerminals(agent: JsonRpcPeer, ctx: AdapterContext): FindOutcome {
  const terminals = new Terminals();
  const named = (params: JsonFields) => terminals.find(textParam(params, "terminalId"));
  agent.onRequest("terminal/create", async ({ params }) => {
    terminals.demandRoom();
    const limit = Math.min(countParam(params, "outputByteLimit") ?? defaultLimit, maxLimit);
    const cwd = typeof params["cwd"] === "string" ? params["cwd"] : undefined;
    return { terminalId: terminals.add(collect(await start(orderOf(params), cwd, ctx), limit)) };
  });
  agent.onRequest("terminal/output", ({ params }) => {
    const { output, exit } = named(params);
    return { output: output.text, truncated: output.isCut, ...(exit ? { exitStatus: statusOf(exit) } : {}) };
  });
  agent.onRequest("terminal/wait_for_exit", async ({ params }) => statusOf(await named(params).over));
  agent.onRequest("terminal/kill", async ({ params }) => {
    await named(params).child.kill();
    return {};
  });
  agent.onRequest("terminal/release", async ({ params }) => {
    const { exit, child } = terminals.release(textParam(params, "terminalId"));
    if (!exit) await child.kill();
    return {};
  });
  return (id) => terminals.outcome(id);
}

/** The open terminals, and some released ones: the result of a tool still names a terminal that was released. */
class Terminals {
  readonly #open = new Map<string, Terminal>();
  readonly #released = new Map<string, Terminal>();
  #last = 0;

  /** @throws {RpcError} when as many are open as may be */
  demandRoom(): void {
    if (this.#open.size < maxTerminals) return;
    throw new RpcError(rpcCodes.internal, `${maxTerminals} terminals are open.`);
  }

  /** Adds one and returns its id. */
  add(terminal: Terminal): string {
    const id = `terminal-${++this.#last}`;
    this.#open.set(id, terminal);
    return id;
  }

  /** @throws {RpcError} for one that is not open */
  find(id: string): Terminal {
    const terminal = this.#open.get(id);
    if (terminal) return terminal;
    throw new RpcError(rpcCodes.notFound, `There is no terminal "${id}".`);
  }

  release(id: string): Terminal {
    const terminal = this.find(id);
    this.#open.delete(id);
    this.#released.set(id, terminal);
    if (this.#released.size > maxTerminals) this.#released.delete(this.#released.keys().next().value ?? "");
    return terminal;
  }

  outcome(id: string): ReturnType<FindOutcome> {
    const terminal = this.#open.get(id) ?? this.#released.get(id);
    return terminal && outcomeOf(terminal.exit ?? none, terminal.output.text);
  }
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
    throw new RpcError(rpcCodes.internal, errorDataOf(thrown)?.message ?? "The command could not be started.");
  }
}

/** One line for a shell: a command without arguments is such a line already. */
export function commandLine({ command, args = [], env = [] }: Order): string {
  const set = env.map(({ name, value }) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new RpcError(rpcCodes.invalidParams, `"${name}" is not the name of an environment variable.`);
    }
    return `export ${name}=${quoted(value)}; `;
  });
  return set.join("") + (args.length === 0 ? command : [command, ...args].map(quoted).join(" "));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function collect(child: RunningProcess, limit: number): Terminal {
  const terminal: Terminal = { child, output: new TextTail(limit), exit: null, over: Promise.resolve(none) };
  const keep = async (stream: AsyncIterable<string>): Promise<void> => {
    for await (const text of stream) terminal.output.add(text);
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
