import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { ErrorCode } from "../../../plugin-sdk/errors.ts";
import { type AttackCase, breach } from "../../../core/kit/attack/attack-case.ts";

/** One use of authority that must come to nothing. */
export interface Try {
  /** JavaScript expression, with `ctx`, `request`, `stage` and `await`. */
  act: string;
  /** Error codes that are right; default: `permission_denied`. */
  codes?: ErrorCode[];
  /** Succeeding is right too: what matters is what it did, which the stage looks at. */
  mayPass?: true;
}

/** An attack that tries many things, each of which must fail with a typed error. */
type TriesAttack = Omit<AttackCase, "expected" | "withinMs" | "body" | "check"> & {
  tries: readonly (Try | string)[];
  /** Statements before the tries. */
  prepare?: string;
  withinMs?: number;
  check?: AttackCase["check"];
};

/**
 * The case of an attack that must be refused piece by piece while its session goes on. Every refusal must tell the
 * adapter a code, and a denial must tell the operator how to allow it, or that nothing does.
 */
export function refusedTries({ tries, prepare = "", check, withinMs = 20_000, ...attack }: TriesAttack): AttackCase {
  const all = tries.map((one): Try => (typeof one === "string" ? { act: one } : one));
  const acts = all.map(({ act }) => `async () => ${act},`);
  return {
    ...attack,
    top: `${attack.top ?? ""}\n${probe}`,
    body: `${prepare}\nyield* tried([\n${acts.join("\n")}\n]);`,
    expected: { kind: "harmless" },
    check: (seen) => problemOf(all, seen.events) ?? check?.(seen) ?? null,
    withinMs,
  };
}

const probe = `
async function* tried(acts) {
  for (const [index, act] of acts.entries()) {
    let said;
    try {
      const got = await act();
      said = { index, code: null, got: String(got).slice(0, 100) };
    } catch (error) {
      said = { index, code: String(error.code), hint: error.hint ?? null, message: String(error.message).slice(0, 300) };
    }
    yield { type: "progress", message: JSON.stringify(said) };
  }
}`;

interface Said {
  index: number;
  code: string | null;
  hint?: string | null;
  message?: string;
  got?: string;
}

function problemOf(tries: readonly Try[], events: readonly Envelope[]): string | null {
  const said = new Map<number, Said>();
  for (const { event } of events) {
    if (event.type !== "progress" || !event.message.startsWith('{"index":')) continue;
    // Made by the probe above; an attack that writes its own fails its own case.
    const one = JSON.parse(event.message) as Said;
    said.set(one.index, one);
  }
  for (const [index, one] of tries.entries()) {
    const problem = problemWith(one, said.get(index));
    if (problem !== null) return `${problem} It was: ${one.act}`;
  }
  const denials = [...said.values()].filter(({ code }) => code === "permission_denied");
  return denials.length > 0 ? silentDenial(denials, events) : null;
}

function problemWith({ codes = ["permission_denied"], mayPass }: Try, said: Said | undefined): string | null {
  if (said === undefined) return "A try was not made.";
  if (said.code === null) return mayPass ? null : `${breach}: a try succeeded and gave "${said.got}".`;
  return (codes as string[]).includes(said.code) ? null : `A try failed with ${said.code}: ${said.message}.`;
}

/** A denial must be an event as well, and either name the grant or say why none helps. */
function silentDenial(denials: readonly Said[], events: readonly Envelope[]): string | null {
  const told = events.flatMap(({ event }) => event.type === "capability" && event.decision === "denied" ? [event] : []);
  if (told.length === 0) return "Nothing was reported of the denials.";
  const commands = new Set(told.map(({ grant_command }) => grant_command));
  for (const { hint, message } of denials) {
    const helps = typeof hint === "string" && (commands.has(hint) || !hint.startsWith("bulkhead plugin grant "));
    if (!helps && !/: .{8,}\.$/s.test(message ?? "")) return `A denial does not say why or how to allow it: ${message}`;
  }
  return null;
}
