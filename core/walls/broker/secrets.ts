import { Type } from "@sinclair/typebox";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { type Operation, operation } from "./operation.ts";

/** Using granted secrets. */
export const secretOperations: readonly Operation[] = [
  operation("secret_use", {
    args: exactly<{ name: string }>()(
      Type.Object({ name: Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]*$", maxLength: 256 }) }, closed),
    ),
    perform: ({ secrets }, { name }) => secrets.use(name),
  }),
];
