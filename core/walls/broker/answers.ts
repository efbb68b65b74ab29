import { Type } from "@sinclair/typebox";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { type Operation, operation } from "./operation.ts";

const request = exactly<{ request_id: string }>()(
  Type.Object({ request_id: Type.String({ minLength: 1, maxLength: 256 }) }, closed),
);

/** Waiting for a client's answer. */
export const answerOperations: readonly Operation[] = [
  operation("permission_wait", {
    args: request,
    waits: true,
    perform: ({ options }, { request_id }) => options.waitForAnswer("permission", request_id),
  }),
  operation("answer_wait", {
    args: request,
    waits: true,
    perform: ({ options }, { request_id }) => options.waitForAnswer("question", request_id),
  }),
];
