import { expect, test } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { defaultOsWallUses } from "../../../core/ground/platform/os-walls/os-wall.ts";
import { hostQuestions } from "../../../core/sessions/session/ask-host.ts";
import { EventRules } from "../../../core/sessions/session/event-rules.ts";
import { OpenRequests } from "../../../core/sessions/session/open-requests.ts";
import type { MissingGrant } from "../../../core/walls/broker/session-broker.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

const missing = {
  plugin_id: "acme",
  permission: "net" as const,
  target: "git.example.com:443",
  grant_command: "bulkhead plugin grant acme net:git.example.com:443",
};

function makeQuestions(
  { answerTimeoutMs = 60_000, unknown_hosts = "ask" as "ask" | "deny", origin = "folder" as "folder" | "inline" } = {},
) {
  const denied: MissingGrant[] = [];
  const keepDenial = async (one: MissingGrant) => void denied.push(one);
  const events: Envelope["event"][] = [];
  const rules = new EventRules();
  const stream = { host: (event: Envelope["event"]) => void events.push(event) };
  const requests = new OpenRequests({ rules, stream });
  const ask = hostQuestions({ session: { answerTimeoutMs }, host: { keepDenial }, stream, rules, requests }, {
    os_walls: { ...defaultOsWallUses, unknown_hosts },
    limits: defaultLimits,
    origin,
  });
  return { events, rules, requests, ask, denied };
}

test("a question about a host is a permission request of the host, and its answer is the client's", async () => {
  const { events, rules, requests, ask, denied } = makeQuestions();
  for (const [choice, allowed] of [["allow", true], ["deny", false], ["never", false]] as const) {
    expect(denied).toEqual([]);
    const answer = ask!(missing);
    const [waiting] = requests.waiting;
    expect(waiting).toMatchObject({ type: "permission_request", choices: ["allow", "deny", "never"] });
    expect(events.at(-1)).toMatchObject({
      type: "permission_request",
      title: "Let a program of this session reach git.example.com:443?",
      input: {
        host: missing.target,
        always: missing.grant_command,
        undo_never: "bulkhead plugin revoke acme net:git.example.com:443",
      },
    });
    expect(requests.answer(waiting!.request_id, choice)).toBe(true);
    expect(await answer).toBe(allowed);
  }
  expect(rules.finish()).toEqual([]);
  expect(denied).toEqual([missing]);
});

test("never is not offered for a tool of the host manifest, which has no denials", async () => {
  const { requests, ask } = makeQuestions({ origin: "inline" });
  const answer = ask!(missing);
  const [waiting] = requests.waiting;
  expect(waiting!.choices).toEqual(["allow", "deny"]);
  expect(requests.answer(waiting!.request_id, "never")).toBe(false);
  requests.closeAll();
  expect(await answer).toBe(false);
});

test("a question that nobody answers in time is a no, and the session goes on", async () => {
  const { events, ask } = makeQuestions({ answerTimeoutMs: 1 });
  expect(await ask!(missing)).toBe(false);
  expect(events.at(-1)).toMatchObject({ type: "permission_resolved", choice: null, by: "deadline" });
});

test("nobody is asked where the operator does not want it, or no client answers", () => {
  expect(makeQuestions({ unknown_hosts: "deny" }).ask).toBeUndefined();
  expect(makeQuestions({ answerTimeoutMs: 0 }).ask).toBeUndefined();
});
