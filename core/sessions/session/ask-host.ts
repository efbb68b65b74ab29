import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { PermissionOption } from "../../../plugin-sdk/events.ts";
import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import type { MissingGrant } from "../../walls/broker/session-broker.ts";
import { revokeCommand } from "../../ground/config/grant-command.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import type { EventRules } from "./event-rules.ts";
import type { OpenRequests } from "./open-requests.ts";
import type { Admitted, RunningSessionDeps } from "./admitted.ts";
import type { SessionStream } from "./session-stream.ts";

/** Collaborators of {@link hostQuestions}. */
interface HostQuestionDeps {
  session: Pick<Admitted, "answerTimeoutMs">;
  host: Pick<RunningSessionDeps, "keepDenial">;
  stream: Pick<SessionStream, "host">;
  rules: EventRules;
  requests: OpenRequests;
}

const allow = "allow";
const never = "never";
const options: readonly PermissionOption[] = [
  { id: allow, label: "Allow for this session", kind: "allow_once" },
  { id: "deny", label: "Deny", kind: "reject_once" },
];

/** Begins the ids of these requests; what follows, no adapter can foresee. */
const prefix = "host-";

/**
 * Makes a function that puts a host which a program calls, and no grant names, to the session's client as a permission
 * request. It resolves with false when no answer comes in time, and the session goes on. "Never" becomes a denial of
 * the plugin in the host manifest. Undefined unless the operator set `os_walls.unknown_hosts: ask`.
 */
export function hostQuestions(
  { session: { answerTimeoutMs }, host: { keepDenial }, stream, rules, requests }: HostQuestionDeps,
  { os_walls, limits, origin }: Pick<Plugin, "os_walls" | "limits" | "origin">,
): ((missing: MissingGrant) => Promise<boolean>) | undefined {
  if (os_walls.unknown_hosts !== "ask" || answerTimeoutMs === 0) return undefined;
  // An entry under tools has no denials.
  const keep = origin === "inline" ? undefined : keepDenial;
  return async (missing) => {
    const { plugin_id, permission, target, grant_command } = missing;
    const title = `Let a program of this session reach ${target}?`;
    const undo = revokeCommand(plugin_id, permission, { target });
    const label = `Never: deny it to ${plugin_id} in bulkhead.yaml`;
    const event = rules.accept({
      type: "permission_request",
      request_id: `${prefix}${randomId()}`,
      tool: "network",
      title,
      kind: "fetch",
      input: { host: target, always: grant_command, ...(keep && { undo_never: undo }) },
      options: keep ? [...options, { id: never, label, kind: "reject_always" }] : [...options],
    }, limits);
    if (event.type !== "permission_request") return false;
    const { request_id } = event;
    const choices = event.options.map(({ id }) => id);
    stream.host(event);
    const asked = { type: "permission_request" as const, text: title, choices };
    requests.add(request_id, { asked, offered: choices, refusal: "deny", ms: answerTimeoutMs });
    const answer = await requests.wait(request_id);
    if (answer === never) await keep?.(missing);
    return answer === allow;
  };
}

/** Whether an answer is kept as a denial: only a client that may change grants may give it. */
export function isKeptAnswer({ request_id, choice }: { request_id: string; choice: string | null }): boolean {
  return request_id.startsWith(prefix) && choice === never;
}

/** Takes the answer that is kept out of an event, for a client that may not give it. */
export function withoutKeptAnswer(envelope: Envelope): Envelope {
  const { event } = envelope;
  if (event.type !== "permission_request" || !event.request_id.startsWith(prefix)) return envelope;
  return { ...envelope, event: { ...event, options: event.options.filter(({ id }) => id !== never) } };
}

/** Takes it out of a summary's requests. */
export function waitingWithoutKeptAnswer(waiting: readonly WaitingRequest[]): WaitingRequest[] {
  return waiting.map((one) =>
    one.request_id.startsWith(prefix) ? { ...one, choices: one.choices.filter((id) => id !== never) } : one
  );
}
