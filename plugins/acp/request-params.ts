import { type JsonFields, rpcCodes, RpcError } from "bulkhead/plugin-sdk";

/**
 * The text in a field of an agent's request.
 * @throws {RpcError} without one
 */
export function textParam(params: JsonFields, name: string): string {
  const value = params[name];
  if (typeof value === "string") return value;
  throw new RpcError(rpcCodes.invalidParams, `Invalid params: "${name}" must be a text.`);
}

/**
 * The whole number in a field of an agent's request; undefined without one.
 * @throws {RpcError} for any other value
 */
export function countParam(params: JsonFields, name: string): number | undefined {
  const value = params[name] ?? undefined;
  if (value === undefined || (typeof value === "number" && Number.isSafeInteger(value) && value >= 0)) return value;
  throw new RpcError(rpcCodes.invalidParams, `Invalid params: "${name}" must be a whole number.`);
}
