import { Check } from "@sinclair/typebox/value";
import { Option } from "commander";
import type { ConfigSchema, OptionSchema } from "../../../plugin-sdk/manifest.ts";
import { type SessionRequest, sessionRequestSchema } from "../../../plugin-sdk/request.ts";
import { inputError } from "../../ground/config/input-error.ts";
import { resolve } from "../../ground/runtime/paths.ts";
import { requestFlags } from "./request-flags.ts";

/** Input of {@link buildRequest}. */
export interface RequestParts {
  /** Flags by commander's names. */
  options: Readonly<Record<string, unknown>>;
  prompt: string;
  /** Folder that `--workdir` is relative to, and its default. */
  cwd: string;
  /** Options that the adapter's manifest declares for `--param`. */
  config: ConfigSchema | undefined;
}

/**
 * Builds the session request that the flags describe.
 * @throws {BulkheadError} `invalid_request` naming the field that does not fit
 */
export function buildRequest({ options, prompt, cwd, config }: RequestParts): SessionRequest {
  const request: Record<string, unknown> = {};
  for (const flag of requestFlags) {
    const value = options[new Option(flag.flags).attributeName()];
    if (value === undefined) continue;
    const [field = "", inner] = flag.field.split(".");
    if (inner === undefined) request[field] = value;
    else request[field] = { ...(request[field] as Record<string, unknown> | undefined), [inner]: value };
  }
  request["prompt"] = prompt;
  request["workdir"] = resolve(cwd, typeof options["workdir"] === "string" ? options["workdir"] : ".");
  if (request["params"] !== undefined) request["params"] = typedParams(request["params"], config);
  return checked(request);
}

function checked(request: Record<string, unknown>): SessionRequest {
  if (Check(sessionRequestSchema, request)) return request;
  throw inputError("The request", sessionRequestSchema, request);
}

/** Converts typed values of a plugin's options to the types that its manifest declares. */
export function typedParams(params: unknown, config: ConfigSchema | undefined): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(params ?? {}).map(([key, typed]) => [key, typedParam(String(typed), config?.properties[key]?.type)]),
  );
}

/** Converts a typed word to the type that the manifest declares; without a declaration it is JSON where it parses. */
function typedParam(typed: string, type: OptionSchema["type"] | undefined): unknown {
  if (type === "string") return typed;
  if (type === "array" && !typed.startsWith("[")) return typed === "" ? [] : typed.split(",");
  try {
    return JSON.parse(typed) as unknown;
  } catch {
    return typed;
  }
}
