import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { closed } from "../../../../plugin-sdk/schema.ts";
import { type ApiRoute, json, route } from "../route.ts";
import { oneOf, text } from "../../../sessions/session/schemas/named.ts";
import { scopes } from "../scopes.ts";

/** Time for which a page's token is valid: a working day. Milliseconds. */
const tokenMs = 12 * 60 * 60_000;

const codeBody = Type.Object({
  scope: Type.Optional(oneOf(scopes, "of the token that the code is traded for; default: admin")),
}, closed);

const tokenBody = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 256, pattern: "^[\\w-]+$" }),
}, closed);

/** Routes by which the console's page gets a token of its own. */
export const consoleRoutes: readonly ApiRoute[] = [
  route({
    id: "createConsoleCode",
    at: "POST /v1/console/codes",
    summary: "make a code that opens the console once, within a minute",
    scope: "admin",
    body: codeBody,
    answers: { 201: { summary: "the code", schema: Type.Object({ code: text, expires_at: text }) } },
    handle: ({ caller, body: { scope = "admin" } }, { codes }) =>
      json(codes.create({ maker: caller, scope }), { status: 201 }),
  }),
  route({
    id: "createConsoleToken",
    at: "POST /v1/console/tokens",
    summary: "trade a code for the token of a console's page",
    scope: "public",
    body: tokenBody,
    answers: {
      201: {
        summary: "the token, which is listed and revoked as any other",
        schema: Type.Object({ token: text, id: text, scopes: Type.Array(oneOf(scopes)), expires_at: text }),
      },
    },
    async handle({ body: { code } }, { codes, tokens, meters }) {
      const granted = codes.take(code);
      if (granted === null) {
        meters.countRefusal("console");
        throw new BulkheadError("unauthorized", "Cannot open the console: the code is unknown, used or too old.", {
          hint: "Run: bulkhead console",
        });
      }
      const expires_at = new Date(Date.now() + tokenMs).toISOString();
      const { token, record } = await tokens.createForConsole({ ...granted, expires_at });
      const { id, scopes, expires_at: end } = record;
      return json({ token, id, scopes, expires_at: end }, { status: 201 });
    },
  }),
  route({
    id: "endConsoleToken",
    at: "DELETE /v1/console/tokens",
    summary: "sign a console's page out: its token ends",
    scope: "any",
    answers: { 204: { summary: "the token is worth nothing any more" } },
    async handle({ caller }, { tokens }) {
      if (caller.isPage !== true) {
        throw new BulkheadError("forbidden", "Cannot sign out: only a page of the console does so.", {
          hint: "Run: bulkhead token revoke NAME",
        });
      }
      await tokens.revoke(caller.id);
      return new Response(null, { status: 204 });
    },
  }),
];
