import { Type } from "@sinclair/typebox";
import { exactly } from "../../../plugin-sdk/schema.ts";
import { fileList } from "../../packages/registry/installed-files.ts";
import type { Plugin } from "../../packages/registry/plugin.ts";
import { sha256Hex } from "../../ground/runtime/hash.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";

/** An agent that a machine offers to the others. */
export interface OfferedAgent {
  id: string;
  version: string;
  /** Hash of the plugin's files as they are locked; null for one that no lock file covers. */
  sha256: string | null;
}

/** Facts that a machine tells with each heartbeat. */
export interface MachineFacts {
  name: string;
  /** Differs for each start. */
  run: string;
  version: string;
  runtime: string;
  /** RFC 3339, UTC, by this machine's own clock. */
  started_at: string;
  said_at: string;
  labels: Record<string, string>;
  agents: OfferedAgent[];
  /** Sessions that run or wait, and the most that it takes. */
  sessions: number;
  slots: number;
  /** How far its own log is. */
  seq: number;
  gseq: number;
  /** How far its copies of the others' logs are, by machine: `gseq`. */
  copies: Record<string, number>;
  /** Whether it takes no more sessions; the others still run. */
  leaving: boolean;
  /** True for its last words. */
  gone: boolean;
}

/** Returns what a machine offers of a plugin. */
export function offered({ id, manifest: { version }, hashes }: Plugin): OfferedAgent {
  return { id, version, sha256: hashes === undefined ? null : sha256Hex(fileList(hashes)) };
}

/** Whether two machines have the same code under an agent's id. */
export function isSameAgent(one: OfferedAgent, other: OfferedAgent): boolean {
  return one.id === other.id && one.version === other.version && one.sha256 === other.sha256;
}

const text = Type.String({ maxLength: 256 });
const whole = Type.Integer({ minimum: 0 });

/** Characters of a heartbeat, at most. */
const mostText = 1024 * 1024;

// Fields that a newer version adds are let through: machines are upgraded one at a time.
const factsSchema = exactly<MachineFacts>()(Type.Object({
  name: Type.String({ pattern: "^[a-z0-9][a-z0-9-]{0,31}$" }),
  run: text,
  version: text,
  runtime: text,
  started_at: text,
  said_at: text,
  labels: Type.Record(text, text, { maxProperties: 64 }),
  agents: Type.Array(Type.Object({ id: text, version: text, sha256: Type.Union([text, Type.Null()]) }), {
    maxItems: 1024,
  }),
  sessions: whole,
  slots: whole,
  seq: whole,
  gseq: whole,
  copies: Type.Record(text, whole, { maxProperties: 1024 }),
  leaving: Type.Boolean(),
  gone: Type.Boolean(),
}));

const check = lazyCheck(factsSchema);

/** Parses a heartbeat; null for anything else. */
export function parseFacts(said: string): MachineFacts | null {
  if (said.length > mostText) return null;
  try {
    const value: unknown = JSON.parse(said);
    return check().Check(value) ? value : null;
  } catch {
    return null;
  }
}
