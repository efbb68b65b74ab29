import { waitOf } from "../../../core/sessions/host/talk/empty-session.ts";
import type { WorkerPlace } from "../../../core/walls/pool/plugin-pool.ts";
import type { EntryEnd, EntryOptions } from "../../../core/walls/pool/lane-entry.ts";
import { rightsTo } from "../../../core/packages/permissions/decide.ts";
import { defaultLimits, type Limits } from "../../../core/ground/config/limits.ts";
import { createMemoryJournal } from "../../records/journal/memory-journal.ts";
import { SharedLooks } from "../../../core/records/git/shared-looks.ts";
import type { Plugin } from "../../../core/packages/manifest/plugin.ts";
import { MergedLog } from "../../../core/sessions/session/merged-log.ts";
import { RunningSession } from "../../../core/sessions/session/running-session.ts";
import type { Admitted, Candidate, RunningSessionDeps, SessionPlace } from "../../../core/sessions/session/admitted.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError, type ErrorCode, type ErrorData } from "../../../plugin-sdk/errors.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { StandInAddresses } from "../../../core/walls/broker/stand-in-addresses.ts";
import { fakePlugin } from "../../doors/cli/fake-host.ts";

/** What an attempt's script can do. */
export interface Stage {
  say(...events: AdapterEvent[]): void;
  /** The answer to a permission request or question of this attempt. */
  answer(requestId: string): Promise<unknown>;
  /** Asks for the next turn, having seen these messages. */
  next(...seen: string[]): Promise<{ number: number; prompt: string; kept: boolean } | null>;
  /** Waits for a message into a turn, or for its stop. */
  wait(turn: number, what: "message" | "stop"): Promise<unknown>;
  /** What the adapter was opened with. */
  opened: EntryOptions;
  /** Settles with the reason when the host cuts it off. */
  cancelled: Promise<ErrorData>;
}

/** One attempt: gives what it fails with, or nothing. */
export type Script = (stage: Stage) => Promise<ErrorData | void> | ErrorData | void;

/** An adapter in this process. Each attempt takes the next script; the last one is taken again. */
export interface ScriptedAdapter {
  id: string;
  scripts: (Script | BulkheadError)[];
  manifest?: Partial<Manifest>;
  accessMode?: Candidate["accessMode"];
  limits?: Partial<Limits>;
  /** Its script is never made. */
  neverMade?: boolean;
}

/** The last event of an adapter that did its work. */
export const done: AdapterEvent = {
  type: "completed",
  success: true,
  files_changed: [],
  tokens_used: null,
  cost: null,
};

/** An attempt that does its work and says this. */
export function says(...events: AdapterEvent[]): Script {
  return (stage) => stage.say(...events, done);
}

/** An attempt whose adapter ends with this error as its last word. */
export function failsWith(code: string, changes: { recoverable?: boolean; before?: AdapterEvent[] } = {}): Script {
  const { recoverable = true, before = [] } = changes;
  return (stage) => stage.say(...before, { type: "error", code, message: `It said ${code}.`, recoverable });
}

/** An attempt whose worker fails with this code. */
export function breaksWith(code: ErrorCode): Script {
  return () => ({ code, message: `It broke with ${code}.` });
}

/** An attempt that ends only when it is told to. */
export const hangs: Script = async ({ cancelled }) => await cancelled;

/** Options of {@link ScriptedSession}: what differs from a plain session in a folder that does not exist. */
export interface ScriptedSessionOptions extends Partial<Omit<Admitted, "request" | "place"> & RunningSessionDeps> {
  request?: Partial<SessionRequest>;
  /** Resets its worktree; default: it works in place. */
  reset?: SessionPlace["reset"];
}

/** A session of scripted adapters, without a host, workers or files. */
export class ScriptedSession {
  readonly session: RunningSession;
  readonly events: Envelope[] = [];
  readonly #log = new MergedLog(createMemoryJournal());
  readonly #reading: Promise<void>;

  constructor(
    adapters: readonly ScriptedAdapter[],
    { request = {}, reset = null, ...given }: ScriptedSessionOptions = {},
  ) {
    const asked: SessionRequest = { workdir: "/w", prompt: "go", ...request };
    const subscription = this.#log.subscribe({ sessionId: "s" });
    this.#reading = (async () => {
      for await (const envelope of subscription) this.events.push(envelope);
    })();
    const [first, ...others] = adapters.map((adapter) => candidate(adapter, asked));
    this.session = new RunningSession({
      sessionId: "s",
      request: asked,
      resumed: null,
      follows: null,
      firstTurn: 1,
      account: null,
      share: null,
      box: null,
      ...waitOf(asked, { follows: null, limits: { keep_ms: asked.keep_ms ?? 0 } }),
      candidates: [first!, ...others],
      passedOver: [],
      replaced: [],
      place: {
        workdir: "/w",
        workspaceDir: undefined,
        copied: null,
        noteHeld: null,
        reset,
        leave: (result) => result,
        abandon: () => Promise.resolve(),
      },
      artifacts: "none",
      redactor: null,
      loopSignal: null,
      answerTimeoutMs: asked.answer_timeout_ms ?? 300_000,
      ...given,
    }, {
      log: this.#log,
      readAttachment: () => Promise.reject(new Error("There are none.")),
      scratchDir: "/nowhere",
      gitDir: "/nowhere",
      stateDir: "/nowhere",
      secretPaths: [],
      looks: new SharedLooks("/nowhere"),
      watchOwnFiles: () => Promise.resolve((artifacts) => Promise.resolve([...artifacts])),
      watchHeld: () => Promise.resolve(),
      keepHeld: () => Promise.resolve(),
      keepEnd: () => {},
      openCheckpoints: () => Promise.reject(new Error("It has no place for them.")),
      sharedWith: () => Promise.resolve([]),
      termsChanged: () => Promise.resolve(false),
      moveMessages: () => "s2",
      keep: () => () => {},
      guarded: () => ({}),
      deniedNow: () => ({}),
      makeBroker: ({ waitForAnswer }) => ({
        call: (operation, args) => {
          const { request_id } = args as { request_id: string };
          return waitForAnswer(operation === "permission_wait" ? "permission" : "question", request_id);
        },
        addresses: new StandInAddresses(),
        uses: { allowed: 1, denied: 0, by: { run: { allowed: 1, denied: 0 } } },
        prepare: () => {},
        guardsChanged: () => Promise.resolve(false),
        heldBytes: () => Promise.resolve(0),
        close: () => Promise.resolve(),
      }),
      ...given,
    });
    this.session.result.finally(() => subscription.settle()).catch(() => {});
  }

  /** Resolves when all events have been read. */
  async ended(): Promise<RunningSession["result"] extends Promise<infer R> ? R : never> {
    const result = await this.session.result;
    await this.#log.settled();
    this.#log.close();
    await this.#reading;
    return result;
  }

  /** Types of the events so far. */
  get types(): string[] {
    return this.events.map(({ event }) => event.type);
  }
}

function candidate(adapter: ScriptedAdapter, request: SessionRequest): Candidate {
  const { id, scripts, manifest, accessMode = null, limits, neverMade = false } = adapter;
  const fake = fakePlugin(id);
  const plugin: Plugin = {
    ...fake,
    manifest: { ...fake.manifest, ...manifest },
    limits: { ...defaultLimits, ...limits },
  };
  let attempts = 0;
  return {
    plugin,
    request,
    briefedRequest: null,
    furtherRequest: ({ text, outputSchema, agentSession, earlier }) => ({
      ...request,
      prompt: [...earlier.map(({ prompt, output }) => `${prompt} -> ${output}`), text].join("; "),
      ...omitUndefined({ output_schema: outputSchema, continue_from: agentSession ?? undefined }),
    }),
    accessMode,
    endpoints: [],
    limitedUntil: null,
    started: () => {},
    ended: () => {},
    unenforced: [],
    seesCalls: true,
    rights: rightsTo({}),
    effective: {},
    approval: {
      approval: request.approval ?? "ask",
      ...(request.allowed_tools ? { allowed_tools: request.allowed_tools } : {}),
      ...(request.tool_approvals ? { tool_approvals: request.tool_approvals } : {}),
    },
    secrets: new Map(),
    grantPlace: () => null,
    requestEnv: {},
    dataDir: "/nowhere",
    load: { sessions: 0 },
    script: () =>
      neverMade
        ? new Promise(() => {})
        : Promise.resolve({ text: "", sha256: id, mapStack: (stack) => stack, sources: () => [] }),
    acquire: async () => {
      const script = scripts[Math.min(attempts++, scripts.length - 1)]!;
      if (script instanceof BulkheadError) throw script;
      return placeOf(script);
    },
    projectMemory: null,
    mcpConfig: null,
    writeLog: () => {},
  };
}

function placeOf(script: Script): WorkerPlace {
  const open = (opened: EntryOptions) => {
    let cancel!: (error: ErrorData) => void;
    const cancelled = new Promise<ErrorData>((resolve) => (cancel = resolve));
    const stage: Stage = {
      say: (...events) => opened.onEvents(events, { bytes: 1, credit: events.length }),
      answer: (request_id) => opened.onCall("permission_wait", { request_id }),
      next: async (...seen) => await opened.onCall("turn_next", { seen }) as Awaited<ReturnType<Stage["next"]>>,
      wait: (turn, what) => opened.onCall("turn_wait", { turn, for: what }),
      opened,
      cancelled,
    };
    const ended = (async (): Promise<EntryEnd> => {
      await Promise.resolve();
      const error = await script(stage);
      return error ? { error } : { value: null };
    })();
    return { ended, addCredit: () => {}, beginTurn: () => {}, cancel };
  };
  return { lane: { open } as unknown as WorkerPlace["lane"], release: () => {} };
}
