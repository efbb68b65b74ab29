import type { ErrorCode } from "../../../plugin-sdk/errors.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { NewMessage } from "../../../plugin-sdk/conversation.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** Text that an attack yields when it got what it wanted; wherever it is seen the wall has failed. */
export const breach = "BREACH";

/** Name of the MCP server that an attack may ask for; its definition holds {@link breach} where a secret would stand. */
export const baitServer = "bait";

/** The right outcome of an attack. */
export type Expectation =
  /** The session completes and nothing came of it. */
  | { kind: "harmless" }
  /** The plugin is refused before any session runs: at its manifest, its bundle or its load. */
  | { kind: "refused"; codes: readonly ErrorCode[] }
  /** The session ends with a typed error; its worker lives on. */
  | { kind: "error"; codes: readonly ErrorCode[] }
  /** The worker or its process is ended, and the session with it. */
  | { kind: "killed"; codes: readonly ErrorCode[] }
  /** Which of several is right depends on the engine; each is safe. */
  | { kind: "any"; of: readonly Exclude<Expectation, { kind: "any" }>[] };

/** Folders of one attack, made fresh and removed after it. All real absolute paths. */
export interface AttackPlace {
  package: string;
  workdir: string;
  /** Something the attack must not reach; holds `secret.txt`. */
  outside: string;
}

/** Preparations for an attack, and how to remove them. */
export interface AttackStage {
  /** Handed to the adapter as `request.params.stage`; the manifest of every attack allows that option. */
  params?: Record<string, string>;
  /** `permissions:` of the manifest, for those that name a port or folder that was just made. */
  permissions?: Permissions;
  grant?: Permissions;
  /** Says in a sentence what the attack reached; null: nothing. Throws if it was not tried. Called when the session is over. */
  reached?(): Promise<string | null> | string | null;
  close?(): Promise<void> | void;
}

/** One attack of the corpus. Its code is data: it is only ever evaluated behind the walls. */
export interface AttackCase {
  /** Row of the corpus, such as `A1`. */
  id: string;
  /** Name that is unique in its row: lowercase words with hyphens. */
  name: string;
  /** The attempt, in a sentence. */
  attack: string;
  /** Statements of the adapter's `runSession`, an async generator with `request` and `ctx`. */
  body?: string;
  /** Statements before the adapter, at the top of its module. */
  top?: string;
  /** Further members of the adapter's definition. */
  members?: string;
  /** More files of the package, or others instead of `mod.js` and `plugin.yaml`. */
  files?: Record<string, string>;
  /** `accepts:` of the manifest. A request may name the MCP server {@link baitServer}. */
  accepts?: Manifest["accepts"];
  permissions?: Permissions;
  /** The operator's grants; default: all that the manifest asks for. */
  grant?: Permissions;
  request?: Partial<SessionRequest>;
  /** Messages of a client, given while the session waits for its worker. */
  messages?: readonly NewMessage[];
  /** A session of the same plugin with this request runs to its end first: nothing that it leaves behind may remain. */
  before?: Partial<SessionRequest>;
  /** Limits that differ from those of all attacks, which are small. */
  limits?: Partial<Limits>;
  /** Interrupts the session when the adapter has run that long. */
  interruptAfterMs?: number;
  /** Stops the turn under way, and not the session, when the adapter has run that long. */
  stopTurnAfterMs?: number;
  stage?(place: AttackPlace): Promise<AttackStage>;
  expected: Expectation;
  /** Checks the stream beyond the outcome; returns a sentence that says what is wrong. */
  check?(seen: { events: Envelope[]; result: SessionResult | null }): string | null;
  /** Time within which the outcome must arrive. */
  withinMs: number;
  /** Which runtime's quirk makes this attack meaningless there, and why. */
  notOn?: { runtime: "node" | "deno"; reason: string };
  /**
   * Why a worker thread inside the host cannot stop this attack; such a case runs in process isolation only. On Deno no
   * case whose worker must be killed runs in a thread: do not repeat that here.
   */
  notInThread?: string | { runtime: "node" | "deno"; reason: string };
}

/** Result of one attack. */
export interface AttackReport {
  id: string;
  name: string;
  passed: boolean;
  /** `harmless`, `refused invalid_manifest`, `killed out_of_memory`…; `skipped` with the reason. */
  outcome: string;
  /** Why it did not pass. */
  problem?: string;
  /** It got what it wanted: no machine is too busy to be blamed for that. */
  through?: true;
  /** Problem of its first run, beside other attacks, if it was run again alone. */
  first_problem?: string;
  duration_ms: number;
}
