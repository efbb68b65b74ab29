import { type TBoolean, type TOptional, type TUnsafe, Type } from "@sinclair/typebox";
import { type AttachmentPart, attachmentsSchema } from "./messages.ts";
import { type Permissions, permissionsSchema } from "./permissions.ts";
import { closed, exactly, type SchemaOf } from "./schema.ts";

/** Policy that answers tool use before a client is asked: see the session engine. */
export type Approval = "ask" | "reads" | "edits" | "all" | "deny";

/** Policy for one tool's requests, regardless of the approval. */
export type ToolApproval = "allow" | "ask" | "deny";

/** How much a model thinks before it answers, the least first. */
export const efforts = ["minimal", "low", "medium", "high", "max"] as const;

/** One of {@link efforts}. */
export type Effort = (typeof efforts)[number];

/** Ceilings; a session that exceeds one ends with that reason. */
export interface Budget {
  cost?: number;
  tokens?: number;
  turns?: number;
  tool_calls?: number;
}

/** Choice of the machine and the folder of a session, in a cluster. */
export interface SessionPlacement {
  /** Name of the machine. */
  machine?: string;
  /** Labels that the machine must have. */
  labels?: Record<string, string>;
  /**
   * Clones a repository where the session runs and gives it a worktree of its own; `workdir` is then a folder of the
   * repository, `.` for its top. The ref is a branch, tag or commit; default: the repository's own branch.
   */
  repository?: { url: string; ref?: string };
  /** How long the session waits for a machine that fits. Milliseconds; default: 10 minutes. */
  wait_ms?: number;
}

/**
 * A call of `run_session`: a fresh, stateless session. It knows nothing of earlier ones, unless `continue_from` names
 * the agent's own session.
 */
export interface SessionRequest {
  /** Absolute path of the folder the agent works in. */
  workdir: string;
  prompt: string;
  /**
   * Images and files that belong to the prompt, each uploaded before. The host finds the type by the content, whatever
   * `mime_type` says.
   */
  content?: AttachmentPart[];
  role?: "orchestrator" | "implementor";
  model?: string;
  /** Absent: the agent's default. `[]`: none. */
  allowed_tools?: string[];
  /** Files passed to the agent, relative to `workdir`. */
  context_files?: string[];
  system_prompt?: string;
  max_turns?: number;
  /** Total deadline. */
  timeout_ms?: number;
  /** Longest silence. */
  idle_timeout_ms?: number;
  /** Values for granted environment names. */
  env?: Record<string, string>;
  /** The agent's own id of the session to continue. */
  continue_from?: string;
  /**
   * Has the agent begin a session of its own with a copy of the one of `continue_from`, which stays as it is: up to the end of
   * the turn that `at` names, as its `turn_ended.agent_ref`, or all of it.
   */
  fork?: { at?: string };
  iteration?: number;
  max_iterations?: number;
  /** Narrows the effective permissions. Absent: no narrowing; an empty list: none of that kind. */
  permissions?: Permissions;
  approval?: Approval;
  /** Tool name, in which `*` stands for anything → policy for its requests; the first match wins. */
  tool_approvals?: Record<string, ToolApproval>;
  /**
   * How long a permission request or question waits for a client, up to the operator's limit, which is the default. 0 means
   * that no client will answer.
   */
  answer_timeout_ms?: number;
  budget?: Budget;
  /** Runs even if the adapter cannot enforce a limit that is set here; the result names the unenforced ones. */
  best_effort?: boolean;
  /**
   * Adds instructions, the signal of completion and the scratchpad to the prompt. Absent: only for a request with a
   * role or an iteration.
   */
  enhance?: boolean;
  /** Names of MCP servers that the operator registered. */
  mcp_servers?: string[];
  workspace?: "inplace" | "worktree";
  retry?: "never" | "safe" | "always";
  /**
   * Whether another session continues the agent's own one after the host was killed or the machine went down during
   * this one: only if the agent has reported its session's id and its adapter takes `continue_from`. Default: `never`.
   */
  resume?: "never" | "after_restart";
  labels?: Record<string, string>;
  /** Place in a cluster. Absent: the machine that takes the request. */
  place?: SessionPlacement;
  /** Echoed in the result. */
  task_id?: string;
  idempotency_key?: string;
  /**
   * Span of the client that the session is part of, as W3C Trace Context writes it. An adapter gets the session's own, for an
   * agent that takes one.
   */
  traceparent?: string;
  /** The adapter's own options, declared in its manifest's `config`. */
  params?: Record<string, unknown>;
  /**
   * How long the session waits for a further message after each turn, its agent kept where the adapter can. Milliseconds, up to
   * the operator's `limits.keep_ms`; default: 0, which ends it with its first turn, unless a message waits.
   */
  keep_ms?: number;
  /**
   * JSON Schema that the result's `structured_output` must fit. An agent whose adapter does not take it is asked for it in
   * the prompt.
   */
  output_schema?: Record<string, unknown>;
  /**
   * Keeps the files as they are before and after each turn, so that turns can be taken back. Default: where `keep_ms` is set and
   * the session lists its changes.
   */
  checkpoints?: boolean;
  /** How much the model thinks, or the nearest to it that the agent has. Absent: the agent's own. */
  effort?: Effort;
  /** Whether the agent only plans, and changes nothing: in the mode that it has for this, which is no wall. Default: false. */
  plan?: boolean;
  /**
   * `wire` keeps the calls that the session's programs make to their models, with the answers, so that the session can be
   * replayed. Keeps the files before and after each turn as well, unless `checkpoints` is false. Default: nothing is kept.
   */
  record?: "wire";
  /**
   * Replays the session of this id, which was recorded: the calls of the agent's program are answered from the record, and
   * it has no key and no network. Other fields should be those of that session.
   */
  replay_of?: string;
}

/** Terms that hold for a turn and for those after it. */
export type TurnTerms = Pick<SessionRequest, "effort" | "plan">;

/** Whether a request has a prompt of its own: without one, a kept session waits for its first message. */
export function hasPrompt({ prompt, content = [] }: Pick<SessionRequest, "prompt" | "content">): boolean {
  return prompt !== "" || content.length > 0;
}

const count = Type.Integer({ minimum: 1 });
const names = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 256 });
const path = Type.String({ minLength: 1, maxLength: 4096 });
/** Form of a `traceparent`. */
export const traceparentSchema: SchemaOf<string> = Type.String({
  pattern: "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$",
});

/** The fields of {@link TurnTerms}, for a schema. */
export const turnTermsFields: { effort: TOptional<TUnsafe<Effort>>; plan: TOptional<TBoolean> } = {
  effort: Type.Optional(Type.Unsafe<Effort>(Type.Union(efforts.map((one) => Type.Literal(one))))),
  plan: Type.Optional(Type.Boolean()),
};

/** Checks {@link SessionRequest}. The prompt's size is a limit of the host, not of the schema. */
export const sessionRequestSchema: SchemaOf<SessionRequest> = exactly<SessionRequest>()(
  Type.Object({
    workdir: path,
    prompt: Type.String(),
    content: Type.Optional(attachmentsSchema),
    role: Type.Optional(Type.Union([Type.Literal("orchestrator"), Type.Literal("implementor")])),
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    allowed_tools: Type.Optional(names),
    context_files: Type.Optional(Type.Array(path, { maxItems: 256 })),
    system_prompt: Type.Optional(Type.String()),
    max_turns: Type.Optional(count),
    timeout_ms: Type.Optional(count),
    idle_timeout_ms: Type.Optional(count),
    env: Type.Optional(Type.Record(Type.String({ minLength: 1, maxLength: 256 }), Type.String())),
    continue_from: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    fork: Type.Optional(Type.Object({ at: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })) }, closed)),
    iteration: Type.Optional(count),
    max_iterations: Type.Optional(count),
    permissions: Type.Optional(permissionsSchema),
    approval: Type.Optional(
      Type.Union([
        Type.Literal("ask"),
        Type.Literal("reads"),
        Type.Literal("edits"),
        Type.Literal("all"),
        Type.Literal("deny"),
      ]),
    ),
    tool_approvals: Type.Optional(Type.Record(
      Type.String({ minLength: 1, maxLength: 256 }),
      Type.Union([Type.Literal("allow"), Type.Literal("ask"), Type.Literal("deny")]),
      { maxProperties: 256 },
    )),
    answer_timeout_ms: Type.Optional(Type.Integer({ minimum: 0 })),
    best_effort: Type.Optional(Type.Boolean()),
    enhance: Type.Optional(Type.Boolean()),
    budget: Type.Optional(Type.Object({
      cost: Type.Optional(Type.Number({ minimum: 0 })),
      tokens: Type.Optional(count),
      turns: Type.Optional(count),
      tool_calls: Type.Optional(Type.Integer({ minimum: 0 })),
    }, closed)),
    mcp_servers: Type.Optional(names),
    workspace: Type.Optional(Type.Union([Type.Literal("inplace"), Type.Literal("worktree")])),
    retry: Type.Optional(Type.Union([Type.Literal("never"), Type.Literal("safe"), Type.Literal("always")])),
    resume: Type.Optional(Type.Union([Type.Literal("never"), Type.Literal("after_restart")])),
    labels: Type.Optional(Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.String({ maxLength: 256 }))),
    place: Type.Optional(Type.Object({
      machine: Type.Optional(Type.String({ pattern: "^[a-z0-9][a-z0-9-]{0,31}$" })),
      labels: Type.Optional(Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.String({ maxLength: 256 }))),
      repository: Type.Optional(Type.Object({
        url: Type.String({ minLength: 1, maxLength: 4096, pattern: "^(?:https|ssh|git|file)://|^[\\w.-]+@[\\w.-]+:" }),
        ref: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
      }, closed)),
      wait_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 7 * 24 * 3_600_000 })),
    }, closed)),
    task_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    idempotency_key: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    traceparent: Type.Optional(traceparentSchema),
    params: Type.Optional(Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.Unknown())),
    keep_ms: Type.Optional(Type.Integer({ minimum: 0 })),
    output_schema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    checkpoints: Type.Optional(Type.Boolean()),
    ...turnTermsFields,
    record: Type.Optional(Type.Literal("wire")),
    replay_of: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  }, closed),
);
