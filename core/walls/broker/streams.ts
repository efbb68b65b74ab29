import { Type } from "@sinclair/typebox";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { type Operation, operation } from "./operation.ts";

const stream = exactly<{ stream_id: number }>()(Type.Object({ stream_id: Type.Integer({ minimum: 1 }) }, closed));

/** Reading streams. */
export const streamOperations: readonly Operation[] = [
  operation("stream_read", {
    args: stream,
    waits: true,
    perform: ({ streams }, { stream_id }) => streams.read(stream_id),
  }),
  operation("stream_close", {
    args: stream,
    perform({ streams }, { stream_id }) {
      streams.close(stream_id);
      return Promise.resolve(null);
    },
  }),
];
