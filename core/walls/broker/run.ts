import { parseJson } from "../../../plugin-sdk/json-fields.ts";
import { Type } from "@sinclair/typebox";
import { formatArgumentPattern, looksLikeOption } from "../../../plugin-sdk/argument-pattern.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { RunPermission } from "../../../plugin-sdk/permissions.ts";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import type { Operations } from "../channel/operations.ts";
import { redact, type Secret } from "../../ground/log/redact.ts";
import { mkdir, realpath } from "../../ground/platform/files/files.ts";
import { isInside, resolve } from "../../ground/platform/files/paths.ts";
import { buildChildEnv, type EnvRefusal } from "./child-env.ts";
import { containRun } from "./contain-run.ts";
import { writableRoots } from "./granted-roots.ts";
import { modelAddresses } from "./model-address.ts";
import { demandMcpServers, placeMcpConfig } from "./mcp-config.ts";
import { type BrokerScope, type Operation, operation } from "./operation.ts";
import { resolveBinary, type ResolvedBinary } from "./resolve-binary.ts";
import { mcpServerList } from "../../../plugin-sdk/mcp-config.ts";

type RunArgs = Operations["run"]["args"];

/** UTF-16 units of one argument in the journal. */
const maxShownArgument = 8192;

/** Longest argument that is named literally in a permission to ask for. */
const maxLiteralArgument = 64;

const process = exactly<{ process_id: number }>()(Type.Object({ process_id: Type.Integer({ minimum: 1 }) }, closed));

/** Child processes. */
export const runOperations: readonly Operation[] = [
  operation("run", {
    args: exactly<RunArgs>()(
      Type.Object({
        binary: Type.String({ minLength: 1, maxLength: 1024 }),
        args: Type.Array(Type.String(), { maxItems: 4096 }),
        options: Type.Object({
          env: Type.Optional(Type.Record(Type.String({ maxLength: 256 }), Type.String())),
          cwd: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
          stdin: Type.Optional(Type.Union([Type.Literal("open"), Type.Literal("closed")])),
          streams: Type.Optional(Type.Union([Type.Literal("pipes"), Type.Literal("sockets")])),
        }, closed),
      }, closed),
    ),
    waits: true,
    perform: run,
  }),
  operation("which", {
    args: exactly<Operations["which"]["args"]>()(
      Type.Object({ program: Type.String({ minLength: 1, maxLength: 1024 }) }, closed),
    ),
    async perform(scope, { program }) {
      const { permissions: { run = [] } } = scope.options;
      if (run.some(({ binary }) => binary === program)) return (await findProgram(scope, program)).file;
      throw scope.authority.forbid("run", program, { because: "no permission names it", grantable: true });
    },
  }),
  operation("process_write", {
    args: exactly<Operations["process_write"]["args"]>()(
      Type.Object({ process_id: Type.Integer({ minimum: 1 }), text: Type.String() }, closed),
    ),
    waits: true,
    async perform(scope, { process_id, text }) {
      const child = scope.processes.get(process_id);
      const placed = placeMcpServers(scope, text);
      if (placed !== null) await demandMcpServers(scope, scope.processes.binaryOf(process_id));
      await child.writeStdin(placed ?? text);
      return null;
    },
  }),
  operation("process_close_stdin", {
    args: process,
    perform({ processes }, { process_id }) {
      processes.get(process_id).closeStdin();
      return Promise.resolve(null);
    },
  }),
  operation("process_wait", {
    args: process,
    waits: true,
    perform: ({ processes }, { process_id }) => processes.wait(process_id),
  }),
  operation("process_kill", {
    args: process,
    waits: true,
    async perform({ processes }, { process_id }) {
      await processes.kill(process_id);
      return null;
    },
  }),
];

async function run(scope: BrokerScope, { binary, args, options }: RunArgs): Promise<Operations["run"]["value"]> {
  const { workdir, tempDir, requestEnv } = scope.options;
  if ([binary, ...args].some((text) => text.includes("\0"))) {
    throw new BulkheadError("invalid_request", "Cannot run a program: an argument holds a NUL character.");
  }
  const permission = await demandRun(scope, { binary, args });
  const { file, real, prefix } = await findProgram(scope, binary);
  const cwd = await containCwd(scope, options.cwd);
  const adapterEnv = await scope.secrets.fillEnv(options.env ?? {});
  const refuse = (name: string, refusal: EnvRefusal) => scope.authority.forbid("env", name, { ...refusal, at: "run" });
  const addresses = modelAddresses(permission, scope.options);
  const { env, granted } = buildChildEnv({ permission, requestEnv, adapterEnv, addresses, workdir, tempDir, refuse });
  const temporary = mkdir(tempDir, { recursive: true, mode: 0o700 });
  temporary.catch(() => {});
  const allArgs = [...prefix, ...args];
  const placed = await placeMcpConfig(scope, { binary, args: allArgs });
  const plain = { file, args: placed.args, cwd, env };
  const shown = [file, real, ...(placed.file === null ? [] : [placed.file])];
  const demandArgs = (more: readonly string[]) => demandAdded(scope, { binary, args, more });
  const command = await containRun(scope, plain, { permission, shown, demandArgs });
  await temporary;
  scope.signal.throwIfAborted();
  const mayRun = scope.options.workMayBegin?.then(() => scope.signal.throwIfAborted());
  mayRun?.catch(() => {});
  return scope.processes.start({
    ...command,
    mayRun,
    binary,
    argv: [real, ...allArgs.map((text) => shownArgument(text, granted))],
    stdin: options.stdin ?? "closed",
    streams: options.streams ?? "pipes",
  });
}

/** The program, as it is pinned; nothing that the session could have put there itself. */
async function findProgram({ options, authority }: BrokerScope, binary: string): Promise<ResolvedBinary> {
  const { workdir, pluginDir, dataDir, tempDir, pins, install, writeLog } = options;
  const roots = await writableRoots(options);
  return await resolveBinary(binary, {
    workdir,
    pluginDir,
    writable: [workdir, dataDir, tempDir, ...roots],
    pins,
    install,
    refuse({ because, change }) {
      if (change === null) return authority.forbid("run", binary, { because });
      const details = { pinned: change.pin.real, found: change.now.real };
      return authority.deny({ permission: "run", target: binary, because, details });
    },
    onUpgrade({ from, to }) {
      const message = `Program "${binary}" is a newer version now: ${to.real} instead of ${from.real}.`;
      writeLog({ level: "info", message, fields: null });
    },
  });
}

/** How the program runs, where this is allowed; with another binary or other arguments it is another call. */
async function demandRun(
  { options: { permissions, rights }, authority }: BrokerScope,
  { binary, args }: { binary: string; args: readonly string[] },
): Promise<RunPermission> {
  const call = { kind: "run", binary, args } as const;
  const named = (permissions.run ?? []).filter((entry) => entry.binary === binary);
  const against = [rights.decide, ...(rights.reach ? [rights.reach] : [])].map((decide) => decide(call)).filter((one) =>
    !one.allowed && one.against !== "denial"
  );
  if (named.length > 0 && against.length === (rights.reach ? 2 : 1)) {
    const patterns = named.flatMap((entry) => entry.args ?? []);
    const list = patterns.length === 0 ? "none" : patterns.map((pattern) => `"${pattern}"`).join(", ");
    const because = `its arguments fit none of those granted (${list})`;
    throw authority.forbid("run", binary, { because, grantable: true });
  }
  const decided = await authority.demand({
    permission: "run",
    target: rights.rowOf(call),
    subject: binary,
    exactly: JSON.stringify([binary, ...args]),
    entry: { binary, ...(args.length === 0 ? {} : { args: [argumentsLine(args)] }) },
    call,
  });
  return decided.allowed && decided.run ? decided.run : { binary };
}

/** Refuses arguments of an endpoint that no grant allows: they are the manifest's, as those of its adapter are. */
function demandAdded(
  { options: { rights }, authority }: BrokerScope,
  { binary, args, more }: { binary: string; args: readonly string[]; more: readonly string[] },
): void {
  if (more.length === 0 || rights.decide({ kind: "run", binary, args: [...args, ...more] }).allowed) return;
  const because = `no grant allows the arguments that tell it the address of its model (${argumentsLine(more)})`;
  throw authority.forbid("run", binary, { because, grantable: true });
}

/** Writes arguments as a pattern that allows them; text such as a prompt becomes a placeholder. */
function argumentsLine(args: readonly string[]): string {
  return formatArgumentPattern(args.map((argument) => {
    const isText = argument.length > maxLiteralArgument || /\s/.test(argument);
    return [isText && !looksLikeOption(argument) ? { slot: "value" } : { literal: argument }];
  }));
}

async function containCwd({ options, authority }: BrokerScope, cwd: string | undefined): Promise<string> {
  const { workdir } = options;
  if (cwd === undefined) return workdir;
  if (cwd.includes("\0")) throw new BulkheadError("invalid_request", "The folder to run in holds a NUL character.");
  const wanted = resolve(workdir, cwd);
  const real = await realpath(wanted).catch(() => null);
  if (isInside(workdir, real ?? wanted)) {
    if (real !== null) return real;
    throw new BulkheadError("not_found", `Cannot run a program in "${cwd}": the folder does not exist.`);
  }
  throw authority.forbid("run", cwd, { because: "programs run inside the working directory only" });
}

function shownArgument(text: string, secrets: readonly Secret[]): string {
  const safe = redact(text, secrets);
  if (safe.length <= maxShownArgument) return safe;
  return `${safe.slice(0, maxShownArgument)}… (${safe.length - maxShownArgument} more)`;
}

/** A server in the file of a session's MCP servers. */
type Server =
  | { command: string; args: string[]; env: Record<string, string> }
  | { type: "http"; url: string; headers: Record<string, string> };

/**
 * Replaces the stand-in with the session's MCP servers in a message to a program; null for text that is not a JSON
 * object or names no stand-in. The program must be asked for with `demandMcpServers` before it gets the message.
 * @throws {BulkheadError} `unsupported` for a server that the program says it cannot reach
 */
function placeMcpServers({ options }: Pick<BrokerScope, "options">, text: string): string | null {
  const { mcpConfig } = options;
  if (!mcpConfig || !text.includes(mcpServerList)) return null;
  const message = parseJson(text);
  if (typeof message !== "object" || message === null) return null;
  // Written by the host itself, from what its manifest's schema has let through.
  const { mcpServers } = JSON.parse(mcpConfig) as { mcpServers: Record<string, Server> };
  let found = false;
  const filled = JSON.stringify(message, (_key, value: unknown) => {
    if (!isStandIn(value)) return value;
    found = true;
    return listed(mcpServers, value);
  });
  if (!found) return null;
  return text.endsWith("\n") ? `${filled}\n` : filled;
}

function isStandIn(value: unknown): value is unknown[] {
  return Array.isArray(value) && value[0] === mcpServerList;
}

function listed(servers: Record<string, Server>, ways: readonly unknown[]): object[] {
  return Object.entries(servers).map(([name, server]) => {
    const way = "command" in server ? "command" : "http";
    if (!ways.includes(way)) {
      throw new BulkheadError(
        "unsupported",
        `Cannot give the agent MCP server "${name}": it takes none that are reached by ${way}.`,
        { hint: "Name other servers, or none.", details: { name } },
      );
    }
    if ("command" in server) return { name, command: server.command, args: server.args, env: pairs(server.env) };
    return { type: server.type, name, url: server.url, headers: pairs(server.headers) };
  });
}

function pairs(values: Record<string, string>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}
