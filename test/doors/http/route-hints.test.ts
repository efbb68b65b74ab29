import { expect, test } from "vitest";
import { problem, withRoutes } from "../../../core/doors/http/problem.ts";
import { routes } from "../../../core/doors/http/routes/all.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { grantCommand } from "../../../core/ground/config/grant-command.ts";

const cases: [hint: string, routed: string, path: string][] = [
  ["List the sessions: bulkhead session list.", "List the sessions: GET /v1/sessions.", "/v1/sessions"],
  ['"bulkhead agents" shows all of them.', '"GET /v1/agents" shows all of them.', "/v1/agents"],
  [
    "Interrupt it first: bulkhead session interrupt 0a-1.",
    "Interrupt it first: POST /v1/sessions/0a-1/interrupt.",
    "/v1/sessions/{id}/interrupt",
  ],
  ["or delete it: bulkhead session delete 0a.", "or delete it: DELETE /v1/sessions/0a.", "/v1/sessions/{id}"],
  [
    "take the patch that bulkhead session diff prints.",
    "take the patch that GET /v1/sessions/{id}/diff prints.",
    "/v1/sessions/{id}/diff",
  ],
  ["See: bulkhead plugin explain alpha", "See: GET /v1/plugins/alpha", "/v1/plugins/{id}"],
  [
    grantCommand("alpha", "run", { target: "git log" }),
    'POST /v1/plugins/alpha/grants {"permission":"run","target":"git log"}',
    "/v1/plugins/{id}/grants",
  ],
  [
    grantCommand("alpha", "kv", { target: "kv" }),
    'POST /v1/plugins/alpha/grants {"permission":"kv","target":"kv"}',
    "/v1/plugins/{id}/grants",
  ],
  [
    grantCommand("alpha", "net", { target: "example.com:443" }),
    'POST /v1/plugins/alpha/grants {"permission":"net","target":"example.com:443"}',
    "/v1/plugins/{id}/grants",
  ],
];

test.each(cases)("withRoutes names the route of a command: %s", (hint, routed, path) => {
  expect(withRoutes(hint)).toBe(routed);
  expect(routes.map((one) => one.path)).toContain(path);
});

test("withRoutes leaves what only the operator can run", () => {
  const hint = 'Revoke unused ones: "bulkhead token list".';
  expect(withRoutes(hint)).toBe(hint);
});

test("problem names routes, and commands for a client that prefers them", async () => {
  const error = new BulkheadError("not_found", "No such session.", { hint: "bulkhead session list" });
  const hintFor = async (headers: Record<string, string>) => {
    const request = new Request("http://localhost/v1/sessions/x", { headers });
    const answer = await problem(error, { writeLog: () => {}, request }).json() as { hint: string };
    return answer.hint;
  };
  expect(await hintFor({})).toBe("GET /v1/sessions");
  expect(await hintFor({ prefer: "hints=commands" })).toBe("bulkhead session list");
});
