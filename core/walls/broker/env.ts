import { Type } from "@sinclair/typebox";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { hostEnv } from "../../ground/runtime/platform.ts";
import { type Operation, operation } from "./operation.ts";

/** Reading granted environment variables. */
export const envOperations: readonly Operation[] = [
  operation("env_get", {
    args: exactly<{ name: string }>()(
      Type.Object({ name: Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]*$", maxLength: 256 }) }, closed),
    ),
    async perform({ options, authority }, { name }) {
      await authority.demand({
        permission: "env",
        target: name,
        grantedBy: (permissions) => permissions.env?.includes(name) ?? false,
      });
      if (Object.hasOwn(options.requestEnv, name)) return options.requestEnv[name] ?? null;
      return hostEnv(name) ?? null;
    },
  }),
];
