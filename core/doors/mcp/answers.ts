import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Static, TObject, TProperties, TSchema } from "@sinclair/typebox";
import { type ErrorCode, errorCodes, type ErrorData } from "../../../plugin-sdk/errors.ts";
import { hostVersion } from "../../ground/config/version.ts";
import { inputError } from "../../ground/config/input-error.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { runtimeVersion } from "../../ground/platform/engine/platform.ts";
import type { McpAnswer, McpCall, McpTool } from "./surface.ts";

/** Answer of a tool that did its work. */
interface Success {
  data: Record<string, unknown>;
  /** 0 to 1, or null where it is not rated. */
  confidence?: number | null;
  metadata?: Record<string, unknown>;
  /** Origin of the data; default: this host. */
  provenance?: object;
}

/** Plan of a Bulkhead tool; {@link makeTool} puts its answers into the form that all tools share. */
interface ToolPlan<P extends TProperties> {
  name: string;
  title: string;
  description: string;
  /** Effects on the world, for clients that ask before they call. */
  hints: { reads_only: boolean; destroys?: boolean; repeatable?: boolean };
  input: TObject<P>;
  data: TSchema;
  call(args: Static<TObject<P>>, call: McpCall): Promise<McpAnswer>;
}

/** Creates a tool that checks its arguments and never throws: an error is an answer too. */
export function makeTool<P extends TProperties>(plan: ToolPlan<P>): McpTool {
  const { name, title, description, hints, input, data, call } = plan;
  const check = lazyCheck(input);
  return {
    name,
    title,
    description,
    inputSchema: input as McpTool["inputSchema"],
    outputSchema: answerSchema(data) as NonNullable<McpTool["outputSchema"]>,
    annotations: {
      title,
      readOnlyHint: hints.reads_only,
      destructiveHint: hints.destroys ?? false,
      idempotentHint: hints.repeatable ?? hints.reads_only,
      openWorldHint: !hints.reads_only,
    },
    async call(args, one) {
      if (!check().Check(args)) return failure(misfit(name, input, args));
      try {
        return await call(args, one);
      } catch (error) {
        return failure(toErrorData(error));
      }
    },
  };
}

/** Formats the answer of a tool that did its work: JSON, as structure and as text. */
export function success(
  { data, confidence = null, metadata = {}, provenance = hostProvenance }: Success,
): CallToolResult {
  return asResult({ success: true, data, confidence, metadata, provenance });
}

/** Formats the answer of a tool that failed; `more` holds the facts that are known all the same. */
export function failure({ code, message, hint, details }: ErrorData, more: Partial<Success> = {}): CallToolResult {
  const answer = {
    success: false,
    error: message,
    error_type: code,
    recovery_guidance: hint ?? guidance(code),
    ...(details === undefined ? {} : { details }),
    ...more,
  };
  return { ...asResult(answer), isError: true };
}

/** Origin of an answer without a session. */
export const hostProvenance: { host_version: string; runtime: string } = {
  host_version: hostVersion,
  runtime: runtimeVersion,
};

function asResult(answer: Record<string, unknown>): CallToolResult {
  // JSON has no undefined members.
  const text = JSON.stringify(answer);
  return { content: [{ type: "text", text }], structuredContent: JSON.parse(text) as Record<string, unknown> };
}

function answerSchema(data: TSchema): object {
  const nothing = { type: "object" };
  return {
    type: "object",
    properties: {
      success: { type: "boolean" },
      data: { ...data },
      confidence: { anyOf: [{ type: "number", minimum: 0, maximum: 1 }, { type: "null" }] },
      metadata: nothing,
      provenance: nothing,
      error: { type: "string" },
      error_type: { type: "string", enum: Object.keys(errorCodes) },
      recovery_guidance: { type: "string" },
      details: nothing,
    },
    required: ["success"],
    oneOf: [
      {
        properties: { success: { const: true } },
        required: ["data", "confidence", "metadata", "provenance"],
      },
      { properties: { success: { const: false } }, required: ["error", "error_type", "recovery_guidance"] },
    ],
  };
}

function misfit(name: string, input: TSchema, args: unknown): ErrorData {
  const { code, message, details } = inputError(`The input of ${name}`, input, args);
  return {
    code,
    message,
    hint: "Call it again with arguments that fit its inputSchema.",
    ...(details ? { details } : {}),
  };
}

/** Returns the advice for an error that has no hint. */
function guidance(code: ErrorCode): string {
  const status = errorTable[code].http_status;
  if (status === 429 || status === 503) {
    return "Try again later, or name another adapter: list_agents says which could run.";
  }
  if (status === 404) return "Ask list_agents or list_sessions what there is, and use an id from there.";
  if (status >= 400 && status < 500) return `${errorCodes[code]} Change the request and call again.`;
  return "Read the session's events with read_session, then try again or name another adapter.";
}
