import type { MissingGrant } from "../../walls/broker/session-broker.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import type { EventRules } from "./event-rules.ts";
import type { OpenRequests } from "./open-requests.ts";
import type { Admitted } from "./admitted.ts";
import type { SessionStream } from "./session-stream.ts";

/** Collaborators of {@link hostQuestions}. */
interface HostQuestionDeps {
  session: Pick<Admitted, "answerTimeoutMs">;
  stream: Pick<SessionStream, "host">;
  rules: EventRules;
  requests: OpenRequests;
}

const allow = "allow";
const options = [
  { id: allow, label: "Allow for this session", kind: "allow_once" as const },
  { id: "deny", label: "Deny", kind: "reject_once" as const },
];

/**
 * Makes a function that puts a host which a program calls, and no grant names, to the session's client as a permission
 * request. It resolves with false when no answer comes in time, and the session goes on. Undefined unless the operator
 * set `os_walls.unknown_hosts: ask`.
 */
export function hostQuestions(
  { session: { answerTimeoutMs }, stream, rules, requests }: HostQuestionDeps,
  { os_walls, limits }: Pick<Plugin, "os_walls" | "limits">,
): ((missing: MissingGrant) => Promise<boolean>) | undefined {
  if (os_walls.unknown_hosts !== "ask" || answerTimeoutMs === 0) return undefined;
  return async ({ target, grant_command }) => {
    const title = `Let a program of this session reach ${target}?`;
    const event = rules.accept({
      type: "permission_request",
      // An id that no adapter can foresee.
      request_id: `host-${randomId()}`,
      tool: "network",
      title,
      kind: "fetch",
      input: { host: target, always: grant_command },
      options,
    }, limits);
    if (event.type !== "permission_request") return false;
    const { request_id } = event;
    const choices = options.map(({ id }) => id);
    stream.host(event);
    const asked = { type: "permission_request" as const, text: title, choices };
    requests.add(request_id, { asked, offered: choices, refusal: "deny", ms: answerTimeoutMs });
    return await requests.wait(request_id) === allow;
  };
}
