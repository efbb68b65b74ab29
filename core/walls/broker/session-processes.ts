import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import {
  type ChildProcess,
  containerEnd,
  type ExitStatus,
  preparePrograms,
  spawnChild,
  type SpawnChildOptions,
} from "../../ground/platform/processes/child-process.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { processIdentity } from "../../ground/platform/processes/system-id.ts";
import { memoryOf, type ProcessFamily } from "../../ground/platform/processes/process-watch.ts";
import { killTrees, type TreeRoot } from "../../ground/platform/processes/process-tree.ts";
import { within } from "../../ground/platform/engine/within.ts";
import type { LateSockets } from "../agent/late-sockets.ts";
import type { SeenSockets } from "../agent/program-view.ts";
import { type Overuse, watchBounds } from "./agent-bounds.ts";
import type { Authority } from "./authority.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";
import type { StreamTable } from "./stream-table.ts";

/** A program to start. */
interface StartProcessOptions
  extends Pick<SpawnChildOptions, "cwd" | "env" | "enters" | "filter" | "openFiles" | "view" | "stdin" | "mayRun"> {
  /** Name used by the adapter and the grant. */
  binary: string;
  file: string;
  args: readonly string[];
  /** Arguments that the journal shows. */
  argv: string[];
  streams: "pipes" | "sockets";
  /** True when `file` is a program that contains the real one. */
  contained: boolean;
  /** Unix sockets as its view has them; absent: its walls hide none. */
  sockets?: SeenSockets | undefined;
}

interface Entry {
  binary: string;
  child: ChildProcess;
  mark: string;
  started: number;
  contained: boolean;
  reported: boolean;
  exit: Promise<ExitStatus>;
}

/** Timeout for the exits of killed programs at the end of a session. Milliseconds. */
const exitWaitMs = 2000;

/** The child processes of one session. */
export class SessionProcesses {
  #options: SessionBrokerOptions;
  #streams: StreamTable;
  #entries = new Map<number, Entry>();
  readonly #mark: string;
  #lastId: number;
  #alive = 0;
  #minute = -Infinity;
  #starts = 0;
  #starting = new Set<Promise<unknown>>();
  #closed = false;
  #stopWatch: (() => void) | null = null;
  /** Set when its programs used too much; nothing more is started. */
  #overrun: BulkheadError | null = null;
  readonly #deny: Authority["forbid"];
  readonly #sockets: LateSockets;

  constructor({ options, streams, authority, sockets }: {
    options: SessionBrokerOptions;
    streams: StreamTable;
    authority: Authority;
    sockets: LateSockets;
  }) {
    this.#sockets = sockets;
    this.#options = options;
    this.#deny = (...denial) => authority.forbid(...denial);
    this.#streams = streams;
    const { children } = options;
    this.#lastId = options.lastProcessId ?? 0;
    if (options.permissions.run !== undefined) preparePrograms();
    this.#mark = children ? `${children.mark}.${randomId()}` : randomId();
  }

  /**
   * Starts a program and reports it; resolves when it may run.
   * @throws {BulkheadError} `limit_exceeded`, `interrupted`, and what `spawnChild` and `mayRun` throw
   */
  async start(options: StartProcessOptions): Promise<{ process_id: number; stdout: number; stderr: number }> {
    const { limits, permissions } = this.#options;
    const most = Math.min(limits.children, permissions.limits?.children ?? Infinity);
    if (this.#closed) throw new BulkheadError("interrupted", "Cannot start a program: the session is over.");
    if (this.#overrun !== null) throw this.#overrun;
    if (this.#alive >= most) {
      throw new BulkheadError("limit_exceeded", `Cannot start another program: ${most} of the session are running.`, {
        details: { children: most },
      });
    }
    this.#countStart(limits.child_starts_per_minute);
    this.#alive += 1;
    const process_id = ++this.#lastId;
    const mark = `${this.#mark}.${process_id}`;
    const starting = spawnChild(options.file, options.args, { ...options, mark, name: options.binary });
    this.#starting.add(starting);
    try {
      const child = await starting;
      this.#watch(child, { process_id, mark, options });
      await options.mayRun;
      return { process_id, stdout: this.#streams.add(child.stdout), stderr: this.#streams.add(child.stderr) };
    } catch (error) {
      if (this.#entries.has(process_id)) void this.kill(process_id);
      else this.#alive -= 1;
      throw error;
    } finally {
      this.#starting.delete(starting);
    }
  }

  /** @throws {BulkheadError} `not_found` */
  get(processId: number): ChildProcess {
    return this.#entry(processId).child;
  }

  /**
   * The program's name in the grant.
   * @throws {BulkheadError} `not_found`
   */
  binaryOf(processId: number): string {
    return this.#entry(processId).binary;
  }

  wait(processId: number): Promise<ExitStatus> {
    return this.#entry(processId).exit;
  }

  /** Ends one program with its whole tree; resolves when all of it is gone. */
  kill(processId: number): Promise<void> {
    const entry = this.#entry(processId);
    const { mark } = entry;
    return killTrees({ roots: rootOf(entry), mark, graceMs: this.#options.limits.agent_grace_ms, allRoots: true });
  }

  /** Ends everything that the session ever started, also the remains of its programs. Starts nothing more. */
  async sweep(): Promise<void> {
    this.#closed = true;
    this.#stopWatch?.();
    await Promise.allSettled([...this.#starting]);
    if (this.#lastId === (this.#options.lastProcessId ?? 0)) return;
    const entries = [...this.#entries];
    const roots = entries.flatMap(([, entry]) => rootOf(entry));
    const allRoots = roots.length === entries.length;
    await killTrees({ roots, mark: this.#mark, graceMs: this.#options.limits.agent_grace_ms, allRoots });
    await within(Promise.all(entries.map(([, { exit }]) => exit)), exitWaitMs);
    // The stream must show the end of every program, even of one that hangs in the kernel.
    for (const [process_id, entry] of entries) {
      this.#report(process_id, entry, { exit_code: null, signal: null });
    }
  }

  /** Returns the memory of its programs with all their descendants, in bytes; null where it cannot be measured. */
  heldBytes(): Promise<number | null> {
    return memoryOf(this.#family);
  }

  get #family(): ProcessFamily {
    return { mark: this.#mark, roots: () => [...this.#entries.values()].flatMap(rootOf) };
  }

  #watchUse(): void {
    this.#stopWatch ??= watchBounds({
      ...this.#family,
      options: this.#options,
      onOver: (overuse) => void this.#endAll(overuse),
      onLook: () => this.#sockets.look(),
    });
  }

  async #endAll({ target, because, details, endsSession }: Overuse): Promise<void> {
    if (this.#overrun === null) {
      this.#deny("run", target, { because });
      this.#overrun = new BulkheadError("limit_exceeded", `Cannot start another program: ${because}.`, { details });
    }
    if (endsSession) {
      const message = `Cannot go on: ${because}.`;
      this.#options.endSession?.({ code: "limit_exceeded", message, details });
    }
    const roots = [...this.#entries.values()].flatMap(rootOf);
    await killTrees({ roots, mark: this.#mark, graceMs: 0, allRoots: roots.length === this.#entries.size });
  }

  /** Programs that end at once never pile up, and still wear the machine down. */
  #countStart(most: number): void {
    const now = Date.now();
    if (now - this.#minute >= 60_000) {
      this.#minute = now;
      this.#starts = 0;
    }
    if (this.#starts >= most) {
      const message = `Cannot start another program: ${most} were started within a minute.`;
      throw new BulkheadError("limit_exceeded", message, { details: { child_starts_per_minute: most } });
    }
    this.#starts += 1;
  }

  #watch(
    child: ChildProcess,
    { process_id, mark, options }: { process_id: number; mark: string; options: StartProcessOptions },
  ): void {
    const { binary, argv, contained } = options;
    const entry: Entry = { binary, child, mark, started: Date.now(), contained, reported: false, exit: child.exited };
    this.#entries.set(process_id, entry);
    this.#watchUse();
    const left = options.sockets && this.#sockets.began(options.sockets);
    const { children, sessionId } = this.#options;
    const { pid, startTime: start } = child;
    const forget = children?.add({ pid, start, role: "agent", session_id: sessionId });
    const identity = processIdentity(pid, start);
    this.#options.emit({ type: "process_spawned", process_id, pid, ...(identity === null ? {} : { identity }), argv });
    entry.exit = child.exited.then((end) => {
      const exit = contained ? containerEnd(end) : end;
      this.#alive -= 1;
      left?.();
      forget?.();
      this.#report(process_id, entry, exit);
      return exit;
    });
  }

  #report(process_id: number, entry: Entry, exit: ExitStatus): void {
    if (entry.reported) return;
    entry.reported = true;
    const duration_ms = Date.now() - entry.started;
    this.#options.emit({ type: "process_exited", process_id, pid: entry.child.pid, ...exit, duration_ms });
  }

  #entry(processId: number): Entry {
    const entry = this.#entries.get(processId);
    if (entry !== undefined) return entry;
    throw new BulkheadError("not_found", `Cannot find process ${processId}: the session has not started it.`);
  }
}

/** Without a start time the pid of a program that is gone may have been reused: its tree is found by the mark alone. */
function rootOf({ child, contained, reported }: Entry): TreeRoot[] {
  if (reported && child.startTime === null) return [];
  return [{ pid: child.pid, startTime: child.startTime, container: contained, first: child.first() }];
}
