import { InvalidArgumentError } from "commander";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { DaemonRecord } from "../../daemon/daemon-record.ts";
import { hostVersion } from "../../../ground/config/version.ts";
import type { Daemon } from "../../daemon/daemon.ts";
import { readHostManifest } from "../../../packages/manifest/find-host-manifest.ts";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import type { DemoScreen } from "../demo/serve-demo.ts";
import { demoManifest } from "../demo/demo-sessions.ts";
import { daemonPlace, noSocket } from "../daemon-place.ts";
import { type DaemonSignals, watchSignals } from "../daemon-signals.ts";
import { knownDir } from "../open-host.ts";
import { safeLine } from "../render/agent-text.ts";
import { logText } from "../render/log-text.ts";
import { createPaint } from "../render/paint.ts";
import { untilToldToEnd } from "../until-told-to-end.ts";
import { asTyped } from "../render/as-typed.ts";

/** `bulkhead up`. */
export const defineUp: DefineCommand = (command, bind) => {
  command
    .option("--port <number>", "TCP port on 127.0.0.1, 0 for any that is free; default: daemon.port", readPort)
    .option("--demo", "on the first start of a state folder run three sessions at once, one of them hostile")
    .option("--once", "with --demo: run them in any case, then stop; exits with 0 only if all checks hold")
    .addHelpText(...examples(
      ["bulkhead up", "the daemon in this terminal; Ctrl-C stops it"],
      [
        "bulkhead up --demo",
        "the same with something to see; without a bulkhead.yaml the demo's plugins are enabled",
      ],
      ["bulkhead up --port 0 --state-dir /tmp/try", "another daemon, with a state of its own"],
    ))
    .action(bind(up));
};

async function up(call: Invocation): Promise<number> {
  const { terminal, options } = call;
  using signals = watchSignals(terminal);
  const screen: DemoScreen = { isBusy: options["demo"] === true };
  const daemon = await openDaemon(call, screen);
  const demo = options["demo"] === true ? await import("../demo/serve-demo.ts") : null;
  const stage = await demo?.prepareDemo(daemon, call);
  await tell(call, { daemon: daemon.record }, daemonText(daemon.record, call));
  while (signals.takeReload()) await daemon.reload().catch(() => undefined);
  if (demo !== null && stage !== undefined) return await demo.serveDemo(daemon, call, { stage, screen, signals });
  await keepUp(daemon, call, { signals, again: () => openDaemon(call, screen) });
  return 0;
}

/** Keeps a daemon up; where its cluster has given its sessions away, another one takes its place and joins again. */
async function keepUp(
  first: Daemon,
  call: Invocation,
  { signals, again }: { signals: DaemonSignals; again(): Promise<Daemon> },
): Promise<void> {
  for (let daemon = first;;) {
    const { lost } = daemon;
    await untilToldToEnd(daemon, call, { signals, signal: lost, drainMs: () => lost.aborted ? 0 : undefined });
    if (!lost.aborted || signals.isTold) return;
    if (!(lost.reason instanceof BulkheadError) || lost.reason.code !== "machine_lost") throw lost.reason;
    daemon = await again();
  }
}

/**
 * Starts the daemon that a command's flags and host manifest describe; shows its log on a terminal that is not busy.
 * @throws {BulkheadError} as `startDaemon`
 */
async function openDaemon(call: Invocation, screen: DemoScreen): Promise<Daemon> {
  const { startDaemon } = await import("../../daemon/daemon.ts");
  const { terminal, json, options, createHost } = call;
  const { stateDir, root, configFile, problem } = await daemonPlace(call);
  if (problem !== null) throw problem;
  const paint = createPaint(terminal.colours.stderr);
  const { port } = options;
  return await startDaemon({
    createHost,
    readManifest: async () => {
      if (configFile !== undefined) return await readHostManifest(configFile, { stateDir: knownDir(call) });
      return options["demo"] === true ? demoManifest() : undefined;
    },
    root,
    stateDir,
    port: port as number | undefined,
    echo: terminal.stderr.isTty && !json
      ? (line) => screen.isBusy ? undefined : void terminal.stderr.write(`${logText(line.trimEnd(), paint)}\n`)
      : undefined,
  });
}

/** Describes for people where a daemon is and how to use it. */
export function daemonText(record: DaemonRecord, { terminal }: Pick<Invocation, "terminal">): string {
  const paint = createPaint(terminal.colours.stdout);
  const rows = [
    ["socket", record.socket ?? noSocket],
    ["token", record.token_file],
    ["log", record.log_file],
    ["manifest", record.config_file ?? asTyped('none; write one with "bulkhead init"')],
  ] as const;
  return [
    ` ${paint("bold", "Bulkhead")} ${paint("dim", hostVersion)} is up at ${paint("bold", record.address)} ${
      paint("dim", `· process ${record.pid}`)
    }`,
    ...rows.map(([name, value]) => `   ${paint("dim", name.padEnd(8))}  ${safeLine(value)}`),
  ].join("\n");
}

/** Reads a typed port. */
export function readPort(typed: string): number {
  if (/^\d{1,5}$/.test(typed) && Number(typed) <= 65_535) return Number(typed);
  throw new InvalidArgumentError("It is not a port: a number from 0 to 65535.");
}
