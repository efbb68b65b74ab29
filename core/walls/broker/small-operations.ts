import { Type } from "@sinclair/typebox";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import type { Operations } from "../channel/operations.ts";
import { type Operation, operation } from "./operation.ts";

const stream = exactly<{ stream_id: number }>()(Type.Object({ stream_id: Type.Integer({ minimum: 1 }) }, closed));

const variable = exactly<{ name: string }>()(
  Type.Object({ name: Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]*$", maxLength: 256 }) }, closed),
);

const logLine = exactly<Operations["log"]["args"]>()(
  Type.Object({
    level: Type.Union([Type.Literal("debug"), Type.Literal("info"), Type.Literal("warn"), Type.Literal("error")]),
    message: Type.String(),
    fields: Type.Unknown(),
  }, closed),
);

const request = exactly<{ request_id: string }>()(
  Type.Object({ request_id: Type.String({ minLength: 1, maxLength: 256 }) }, closed),
);

/** Reading streams, granted variables and secrets, writing to the log, and waiting for a client's answer. */
export const smallOperations: readonly Operation[] = [
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
  operation("env_get", {
    args: variable,
    async perform({ options, authority }, { name }) {
      await authority.demand({
        permission: "env",
        target: name,
        call: { kind: "env", name },
      });
      if (Object.hasOwn(options.requestEnv, name)) return options.requestEnv[name] ?? null;
      return hostEnv(name) ?? null;
    },
  }),
  operation("secret_use", { args: variable, perform: ({ secrets }, { name }) => secrets.use(name) }),
  operation("log", {
    args: logLine,
    perform({ log, options: { redactor } }, args) {
      // Before it is cut: half a secret would be known no more.
      log.write(redactor?.value(args) ?? args);
      return Promise.resolve(null);
    },
  }),
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
