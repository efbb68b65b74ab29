import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { toBulkheadError } from "../../ground/errors/to-error-data.ts";

/** Creates a refusal for an error of the client. */
export function invalid(message: string, data?: Record<string, unknown>): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, data);
}

/** Creates the protocol's error for one of the host's. Returns a fault of the host itself as it is. */
export function refusal(error: unknown, data: Record<string, unknown>): unknown {
  const { code, message, hint } = toBulkheadError(error);
  return code === "internal"
    ? error
    : invalid(message, { ...data, error_type: code, ...omitUndefined({ recovery_guidance: hint }) });
}
