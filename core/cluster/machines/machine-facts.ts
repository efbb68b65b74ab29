import { Type } from "@sinclair/typebox";
import { exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import type { Host } from "../../sessions/host/host.ts";
import { lazyCheck, parseChecked } from "../../ground/checks/lazy-check.ts";
import type { MachineFacts, OfferedAgent } from "./machine.ts";

/** The enabled agents of a host that is made later, each with the digest of its code. */
export class OfferedAgents {
  readonly #host: () => Pick<Host, "registry" | "codeOf"> | null;
  /** As they were when they were looked at last. */
  last: OfferedAgent[] = [];

  constructor(host: () => Pick<Host, "registry" | "codeOf"> | null) {
    this.#host = host;
  }

  /** Looks at the code as it is now. Never rejects. */
  async look(): Promise<readonly OfferedAgent[]> {
    const host = this.#host();
    return host === null ? [] : this.last = await offeredBy(host);
  }
}

async function offeredBy(host: Pick<Host, "registry" | "codeOf">): Promise<OfferedAgent[]> {
  const enabled = host.registry.list().filter((plugin) => plugin.enabled);
  return await Promise.all(enabled.map(async ({ id, manifest: { version } }) => {
    // One that a reload has just taken out is the same as no other.
    return { id, version, sha256: await host.codeOf(id).catch(() => null) };
  }));
}

/** Whether two machines have the same code under an agent's id. */
export function isSameAgent(one: OfferedAgent, other: OfferedAgent): boolean {
  return one.id === other.id && one.version === other.version && one.sha256 !== null && one.sha256 === other.sha256;
}

const text = Type.String({ maxLength: 256 });
const time = Type.String({ pattern: "^\\d{4}-\\d\\d-\\d\\dT[0-9:.]{8,16}Z$" });
const whole = Type.Integer({ minimum: 0 });

/** Checks {@link OfferedAgent}. */
export const offeredAgentSchema: SchemaOf<OfferedAgent> = exactly<OfferedAgent>()(
  Type.Object({ id: text, version: text, sha256: Type.Union([text, Type.Null()]) }),
);

/** Characters of a heartbeat, at most. */
const mostText = 1024 * 1024;

// Fields that a newer version adds are let through: machines are upgraded one at a time.
const factsSchema = exactly<MachineFacts>()(Type.Object({
  name: Type.String({ pattern: "^[a-z0-9][a-z0-9-]{0,31}$" }),
  run: text,
  version: text,
  runtime: text,
  started_at: time,
  said_at: time,
  labels: Type.Record(text, text, { maxProperties: 64 }),
  agents: Type.Array(offeredAgentSchema, { maxItems: 1024 }),
  sessions: whole,
  slots: whole,
  seq: whole,
  gseq: whole,
  copies: Type.Record(text, whole, { maxProperties: 1024 }),
  attachments: Type.Optional(Type.Boolean()),
  leaving: Type.Boolean(),
  gone: Type.Boolean(),
}));

const check = lazyCheck(factsSchema);

/** Parses a heartbeat; null for anything else. */
export function parseFacts(said: string): MachineFacts | null {
  if (said.length > mostText) return null;
  const facts = parseChecked(said, check);
  return facts !== null && Number.isFinite(Date.parse(facts.said_at)) ? facts : null;
}
