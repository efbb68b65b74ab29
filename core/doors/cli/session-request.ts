import { Check } from "@sinclair/typebox/value";
import { Option } from "commander";
import type { ConfigSchema, OptionSchema } from "../../../plugin-sdk/manifest.ts";
import { fieldsOrNone } from "../../../plugin-sdk/json-fields.ts";
import { type SessionRequest, sessionRequestSchema } from "../../../plugin-sdk/request.ts";
import { readTraceparent } from "../../ground/checks/trace-context.ts";
import { inputError } from "../../ground/config/input-error.ts";
import { resolve } from "../../ground/platform/files/paths.ts";
import { requestFlags } from "./request-flags.ts";

/** Flags of a command that runs sessions. */
interface RequestFlagValues {
  /** Flags by commander's names. */
  options: Readonly<Record<string, unknown>>;
  /** Folder that `--workdir` is relative to, and its default. */
  cwd: string;
  /** Options that the adapter's manifest declares for `--param`. */
  config: ConfigSchema | undefined;
}

/** Input of {@link buildRequest}. */
interface RequestOptions extends RequestFlagValues {
  prompt: string;
}

/**
 * Builds the session request that the flags describe.
 * @throws {BulkheadError} `invalid_request` naming the field that does not fit
 */
export function buildRequest({ prompt, ...flags }: RequestOptions): SessionRequest {
  return checked({ workdir: resolve(flags.cwd, "."), ...givenFields(flags), prompt });
}

/**
 * Changes what the flags name in a request; labels, params and the parts of a budget and a place one by one.
 * @throws {BulkheadError} as {@link buildRequest}
 */
export function changedRequest(request: SessionRequest, flags: RequestFlagValues): SessionRequest {
  const { labels, params, budget, place, ...fields } = givenFields(flags);
  const merged = Object.entries({ labels, params, budget, place }).flatMap(([name, value]) => {
    const before = request[name as "labels" | "params" | "budget" | "place"];
    return value === undefined ? [] : [[name, { ...before, ...value }] as const];
  });
  return checked({ ...request, ...fields, ...Object.fromEntries(merged) });
}

/** Adds the span that the command itself is part of, as its environment tells, where no flag names one. */
export function inTrace(
  options: RequestFlagValues["options"],
  { env }: { env(name: string): string | undefined },
): RequestFlagValues["options"] {
  const traceparent = readTraceparent(env("TRACEPARENT"));
  return traceparent === undefined ? options : { traceparent, ...options };
}

/** Returns the fields of a request that the flags give, not checked yet. */
export function givenFields({ options, cwd, config }: RequestFlagValues): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const flag of requestFlags) {
    const value = options[new Option(flag.flags).attributeName()];
    // Uploaded by those who have a host.
    if (value === undefined || flag.field.startsWith("content.")) continue;
    const [field = "", inner] = flag.field.split(".");
    if (inner === undefined) fields[field] = value;
    else fields[field] = { ...(fields[field] as Record<string, unknown> | undefined), [inner]: value };
  }
  const isCloned = fieldsOrNone(fields["place"])["repository"] !== undefined;
  if (isCloned) fields["workdir"] ??= ".";
  else if (typeof fields["workdir"] === "string") fields["workdir"] = resolve(cwd, fields["workdir"]);
  if (fields["params"] !== undefined) fields["params"] = typedParams(fields["params"], config);
  return fields;
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
