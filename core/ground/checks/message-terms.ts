import { Type } from "@sinclair/typebox";
import type { MessageTerms } from "../../../plugin-sdk/conversation.ts";
import { sessionRequestSchema } from "../../../plugin-sdk/request.ts";
import { closed, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { propertiesOf } from "./properties-of.ts";

const {
  workdir: _workdir,
  prompt: _prompt,
  content: _parts,
  continue_from: _from,
  output_schema: _schema,
  idempotency_key: _key,
  place: _place,
  traceparent: _span,
  fork: _copy,
  ...termFields
} = propertiesOf(sessionRequestSchema);

/** Checks {@link MessageTerms}, at every door. */
export const termsSchema: SchemaOf<MessageTerms> = Type.Unsafe<MessageTerms>(
  Type.Object({ agent: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })), ...termFields }, closed),
);
