import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEveryTest } from "../../clean-up.ts";
import { createSessionBroker } from "../../../core/walls/broker/broker.ts";
import type { SessionBroker, SessionBrokerOptions } from "../../../core/walls/broker/session-broker.ts";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import type { CapabilityEvent, HostEvent } from "../../../plugin-sdk/envelope.ts";
import { rightsOf, rightsTo } from "../../../core/packages/permissions/decide.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { BulkheadError, type ErrorCode } from "../../../plugin-sdk/errors.ts";

/** A broker over real folders, and what it told. */
export interface BrokerFixture {
  broker: SessionBroker;
  options: SessionBrokerOptions;
  /** Holds all of the fixture's folders. */
  root: string;
  workdir: string;
  events: HostEvent[];
  logs: { level: string; message: string; fields: unknown }[];
}

/** Options of a broker, what the operator denies, and the most that a person may allow. */
export type BrokerChanges = Partial<SessionBrokerOptions> & { deny?: Permissions; ceiling?: Permissions | undefined };

const open: BrokerFixture[] = [];

afterEveryTest(async () => {
  for (const { broker, root } of open.splice(0)) {
    await broker.close();
    await rm(root, { recursive: true, force: true, maxRetries: 3 });
  }
});

/** Makes a broker whose folders and children are gone after the test. */
export async function makeBroker({ ceiling, deny = {}, ...changes }: BrokerChanges = {}): Promise<BrokerFixture> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-broker-")));
  for (const name of ["workdir", "plugin"]) await mkdir(join(root, name));
  const events: HostEvent[] = [];
  const logs: BrokerFixture["logs"] = [];
  const { permissions = {}, spelledRoots } = changes;
  const grant = spelledRoots === undefined ? permissions : { ...permissions, write: spelledRoots };
  const options: SessionBrokerOptions = {
    sessionId: "session-1",
    pluginId: "acme",
    workdir: join(root, "workdir"),
    pluginDir: join(root, "plugin"),
    dataDir: join(root, "state", "data"),
    tempDir: join(root, "state", "temp"),
    permissions: {},
    requestEnv: {},
    limits: { ...defaultLimits, agent_grace_ms: 300 },
    emit: (event) => void events.push(event),
    writeLog: (record) => void logs.push(record),
    waitForAnswer: () => Promise.resolve(null),
    ...changes,
    rights: {
      decide: rightsOf({ requested: permissions, grant, deny }).decide,
      reach: ceiling && rightsTo(ceiling).decide,
      rowOf: rightsOf({ requested: ceiling ?? permissions, grant, deny }).rowOf,
      roots: rightsOf({ requested: permissions, grant, deny, request: ceiling }).roots,
    },
  };
  const fixture = { broker: createSessionBroker(options), options, root, workdir: options.workdir, events, logs };
  open.push(fixture);
  return fixture;
}

/** The error a call fails with; fails itself when the call does not. */
export async function errorOf(call: Promise<unknown>): Promise<BulkheadError> {
  const settled = await call.then((value) => ({ value }), (error: unknown) => ({ error }));
  if ("value" in settled) throw new Error(`expected an error, got ${JSON.stringify(settled.value)?.slice(0, 200)}`);
  if (settled.error instanceof BulkheadError) return settled.error;
  throw new Error("expected a BulkheadError", { cause: settled.error });
}

/** The code of {@link errorOf}. */
export async function codeOf(call: Promise<unknown>): Promise<ErrorCode> {
  return (await errorOf(call)).code;
}

/** What was told of allowed and denied uses. */
export function capabilities(events: HostEvent[]): CapabilityEvent[] {
  return events.filter((event) => event.type === "capability");
}

/** Starts `/bin/sh -c script`; the broker must allow it. */
export async function runShell(broker: SessionBroker, script: string, options: object = {}) {
  const value = await broker.call("run", { binary: "sh", args: ["-c", script], options });
  return value as { process_id: number; stdout: number; stderr: number };
}

/** A permission for any shell script. */
export const anyShell = { binary: "sh", args: ["-c {*}"] };

/** Reads a stream to its end. */
export async function readAll(broker: SessionBroker, streamId: number): Promise<string> {
  let text = "";
  for (;;) {
    const piece = await broker.call("stream_read", { stream_id: streamId });
    if (piece === null) return text;
    text += piece;
  }
}
