import { Errors } from "@sinclair/typebox/errors";
import { Check } from "@sinclair/typebox/value";
import { BulkheadError, errorFromData } from "../../../plugin-sdk/errors.ts";
import type { PermissionUses } from "../../../plugin-sdk/result.ts";
import type { OperationName } from "../channel/operations.ts";
import { toBulkheadError } from "../../ground/errors/to-error-data.ts";
import { cleanLine } from "../../ground/log/terminal-text.ts";
import { attachmentOperations } from "./attachments.ts";
import { Authority } from "./authority.ts";
import { fetchOperations } from "./fetch.ts";
import { fileOperations } from "./files.ts";
import { kvOperations } from "./kv.ts";
import { LogGate } from "./log-gate.ts";
import { removeMcpConfig } from "./mcp-config.ts";
import type { BrokerScope, Operation } from "./operation.ts";
import { runOperations } from "./run.ts";
import { discard, type SessionBroker, type SessionBrokerOptions } from "./session-broker.ts";
import { SessionSecrets } from "./session-secrets.ts";
import { SessionProcesses } from "./session-processes.ts";
import { SessionSockets } from "./session-sockets.ts";
import { SessionWalls } from "./session-walls.ts";
import { socketOperations } from "./sockets.ts";
import { smallOperations } from "./small-operations.ts";
import { StreamTable } from "./stream-table.ts";
import { tempOperations } from "./temp.ts";
import { diskTurns } from "./call-turns.ts";

/** Makes the broker of one session. Nothing is touched before the first call, or before it is told to prepare. */
export function createSessionBroker(options: SessionBrokerOptions): SessionBroker {
  const { redactor } = options;
  if (!redactor) return new Broker(options);
  return new Broker({
    ...options,
    emit: (event) => options.emit(redactor.value(event)),
    writeLog: (record) => options.writeLog(redactor.value(record)),
  });
}

/** A `Map`, so that no name sent by a guest can reach a member of an object. */
const operations: ReadonlyMap<string, Operation> = new Map(
  [
    ...runOperations,
    ...fetchOperations,
    ...socketOperations,
    ...fileOperations,
    ...tempOperations,
    ...attachmentOperations,
    ...kvOperations,
    ...smallOperations,
  ].map((entry) => [entry.name, entry]),
);

/** A variable that the operator granted by name is no secret to the adapter, and an image is what the client gave. */
const unredacted: ReadonlySet<OperationName> = new Set(["env_get", "stream_read", "attachment_read"]);

class Broker implements SessionBroker {
  #scope: BrokerScope;
  #ending = new AbortController();
  #pending = new Set<(error: BulkheadError) => void>();
  #closed: Promise<void> | null = null;

  constructor(options: SessionBrokerOptions) {
    const streams = new StreamTable({ most: options.limits.streams, redactor: options.redactor ?? null });
    const authority = new Authority(options, this.#ending.signal);
    const walls = new SessionWalls(options);
    this.#scope = {
      options,
      authority,
      secrets: new SessionSecrets({ options, authority }),
      streams,
      processes: new SessionProcesses({ options, streams, authority, sockets: walls.sockets }),
      walls,
      sockets: new SessionSockets({ most: options.limits.sockets }),
      log: new LogGate(options),
      signal: this.#ending.signal,
      held: { openFetches: 0, temporaryBytes: new Map(), attachment: null, mcpConfig: null },
      onDisk: (act) =>
        diskTurns.take(options.dataDir, () => {
          this.#ending.signal.throwIfAborted();
          return act();
        }),
    };
  }

  call(name: string, args: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#closed !== null) return reject(sessionOver(name));
      const limit = this.#scope.options.limits.call_timeout_ms;
      const settle = (act: () => void) => {
        if (!this.#pending.delete(refuse)) return;
        clearTimeout(timer);
        act();
      };
      const refuse = (error: BulkheadError) => settle(() => reject(error));
      const deadline = () => {
        // The time that a person takes to decide about a grant does not count.
        if (this.#scope.authority.askedWithin(limit)) timer = setTimeout(deadline, limit);
        else refuse(new BulkheadError("timeout", `The call "${shown(name)}" took too long and was given up.`));
      };
      let timer: ReturnType<typeof setTimeout> | undefined;
      this.#pending.add(refuse);
      try {
        const found = this.#find(name, args);
        if (!found.waits) timer = setTimeout(deadline, limit);
        this.#scope.secrets.refuseStray(name, args);
        found.perform(this.#scope, args).then(
          (value) => settle(() => resolve(this.#redacted(found.name, value))),
          (error) => refuse(this.#withoutSecrets(this.#scope.authority.noted(toBulkheadError(error)))),
        );
      } catch (error) {
        refuse(toBulkheadError(error));
      }
    });
  }

  guardsChanged(): Promise<boolean> {
    return this.#scope.walls.guardsChanged();
  }

  heldBytes(): Promise<number | null> {
    return this.#scope.processes.heldBytes();
  }

  prepare(): void {
    if (this.#closed === null) this.#scope.walls.prepare();
  }

  close(): Promise<void> {
    return this.#closed ??= this.#end();
  }

  get addresses(): SessionBroker["addresses"] {
    return this.#scope.walls.addresses;
  }

  get uses(): PermissionUses {
    return this.#scope.authority.uses;
  }

  /**
   * Redacts results: a file written by a program may hold a secret too. Streams are redacted as they are read, across
   * their pieces.
   */
  #redacted(name: OperationName, value: unknown): unknown {
    const { redactor } = this.#scope.options;
    if (!redactor || unredacted.has(name)) return value;
    return redactor.value(value);
  }

  #withoutSecrets(error: BulkheadError): BulkheadError {
    const { redactor } = this.#scope.options;
    if (!redactor) return error;
    const data = error.toJSON();
    const safe = redactor.value(data);
    return safe === data ? error : errorFromData(safe);
  }

  #find(name: string, args: unknown): Operation {
    const found = operations.get(name);
    if (found === undefined) {
      throw new BulkheadError("invalid_request", `Cannot do "${shown(name)}": the broker has no such operation.`);
    }
    const fault = Check(found.args, args) ? undefined : Errors(found.args, args).First();
    if (fault !== undefined) {
      const path = cleanLine(fault.path, 256);
      const message = `Cannot do "${name}": its argument "${path}" is wrong: ${fault.message}.`;
      throw new BulkheadError("invalid_request", message, { details: { path } });
    }
    return found;
  }

  /** Each step separately: a failed one must not prevent the others. */
  async #end(): Promise<void> {
    const { streams, sockets, processes, walls, log, options } = this.#scope;
    // Let the field that marks the end get its value before other code learns of the end.
    await null;
    this.#ending.abort(sessionOver("call"));
    for (const refuse of [...this.#pending]) refuse(sessionOver("call"));
    const take = async (step: () => unknown): Promise<void> => {
      try {
        await step();
      } catch (error) {
        const message = `Cannot clean up after session "${options.sessionId}": ${toBulkheadError(error).message}`;
        options.writeLog({ level: "warn", message, fields: null });
      }
    };
    const steps = [() => log.flush(), () => streams.closeAll(), () => sockets.closeAll(), () => processes.sweep()];
    for (const step of steps) await take(step);
    // No program is left that could write there.
    const places = [() => walls.close(), () => discard(options, options.tempDir), () => removeMcpConfig(this.#scope)];
    await Promise.all(places.map(take));
  }
}

function sessionOver(name: string): BulkheadError {
  return new BulkheadError("interrupted", `The call "${shown(name)}" was not finished: the session is over.`);
}

function shown(name: string): string {
  return /^\w{1,64}$/.test(name) ? name : "?";
}
