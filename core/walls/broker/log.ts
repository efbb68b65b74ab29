import { Type } from "@sinclair/typebox";
import type { Operations } from "../channel/operations.ts";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { type Operation, operation } from "./operation.ts";

type LogArgs = Operations["log"]["args"];

/** Logging. */
export const logOperations: readonly Operation[] = [
  operation("log", {
    args: exactly<LogArgs>()(
      Type.Object({
        level: Type.Union([
          Type.Literal("debug"),
          Type.Literal("info"),
          Type.Literal("warn"),
          Type.Literal("error"),
        ]),
        message: Type.String(),
        fields: Type.Unknown(),
      }, closed),
    ),
    perform({ log, options: { redactor } }, args) {
      // Before it is cut: half a secret would be known no more.
      log.write(redactor?.value(args) ?? args);
      return Promise.resolve(null);
    },
  }),
];
