import { Type } from "@sinclair/typebox";
import { type AccessMode, accessModeSchema } from "./access-modes.ts";
import { type AgentCapabilities, agentCapabilitiesSchema } from "./capabilities.ts";
import { type Permissions, permissionsSchema } from "./permissions.ts";
import { type LastWord, type MappingRule, mappingRuleSchema } from "./mapping-rule.ts";
import { closed, exactly, type SchemaOf } from "./schema.ts";
import { type ToolKind, toolKinds } from "./tool-kinds.ts";

/** A value's schema in the subset of JSON Schema that a plugin may use for its own options. */
export interface FieldSchema {
  type: "string" | "number" | "integer" | "boolean" | "array" | "object";
  description?: string;
  enum?: (string | number)[];
  minimum?: number;
  maximum?: number;
  min_length?: number;
  max_length?: number;
}

/** Schema of an item of a list. */
export interface ItemSchema extends FieldSchema {
  /** Fields of an object, and no others; absent: any. */
  properties?: Record<string, FieldSchema>;
  required?: string[];
}

/** Schema of an option. */
export interface OptionSchema extends ItemSchema {
  default?: unknown;
  /** Items of a list; absent: strings. */
  items?: ItemSchema;
}

/** The plugin's own options. */
export interface ConfigSchema {
  type: "object";
  properties: Record<string, OptionSchema>;
  required?: string[];
}

/** Meanings of the exit of an agent's program. */
export type ExitMeaning = "completed" | "rate_limit" | "unavailable" | "timeout" | "refused" | "fatal";

/** Meanings of a text that a failing program says. */
export type FailureMeaning = Exclude<ExitMeaning, "completed"> | "context_overflow";

/** Output of a program that prints one JSON object a line. */
export interface JsonLines {
  format: "jsonl";
  rules: MappingRule[];
  /** Default: `last`. */
  last_word?: LastWord;
  /** Names of tools → kind of a `tool_call` that names no kind. */
  tool_kinds?: Record<string, ToolKind>;
  /**
   * Names of tools that change a file → path in their input to the file's path: a `file_change` follows a result that
   * tells success.
   */
  file_changes?: Record<string, string>;
}

/** A command-line tool driven without code. */
export interface CliTool {
  /** Name or path, or one for each platform (`linux`, `darwin`, `win32`, `default`). */
  binary: string | Record<string, string>;
  /**
   * Parsed once to an argument list, then filled argument by argument; no shell ever sees it. It begins with
   * `{binary}`; the other placeholders are `{model} {prompt} {prompt_file} {output_file} {workdir} {plugin_dir}` and
   * `{params.x}`. Arguments in brackets are left out where a placeholder in them has no value: `[-m {model}]`. Only
   * brackets may hold `{continue_from} {system_prompt} {allowed_tools} {max_turns} {output_schema}`. `< {prompt_file}`
   * feeds the file on standard input. With `{output_file}` the content of that file is the output, and the tool's printed output is
   * progress.
   */
  command_template: string;
  /**
   * Names clients use → names the tool takes, or a list where both are the same; absent: those of the manifest's
   * `models`, else any.
   */
  models?: Record<string, string> | string[];
  /**
   * One of the names that clients use. Default: the first of them, or none where `{model}` stands in brackets.
   */
  default_model?: string;
  /**
   * Environment of the tool; `${VAR}` is read from the host, `${secret:NAME}` is a secret; an unset one is an error.
   */
  env_vars?: Record<string, string>;
  /** Arguments that print the version, and a text that the output must contain. */
  version?: { args: string; contains?: string };
  /** Arguments of a probe that exits 0 when logged in. */
  auth?: { args: string; contains?: string };
  output?: { format: "text" } | JsonLines;
  /**
   * Meanings of texts, by meaning, that an error without a code or the end of the error output contains; the first that
   * fits counts. Usual texts of a rate limit are known. Never regular expressions: case does not count, and `*` stands
   * for anything.
   */
  failures?: { [M in FailureMeaning]?: string[] };
  /** Texts of lines of the error output that say nothing of a session: those lines are dropped. As those of `failures`. */
  noise?: string[];
  /** Meanings of exit codes. 0 is `completed` and all others `fatal` unless set here. */
  exit_codes?: Record<string, ExitMeaning>;
}

/** Fields of a request that an adapter can pass to its agent. */
export const acceptedFields = [
  "model",
  "allowed_tools",
  "max_turns",
  "system_prompt",
  "continue_from",
  "mcp_servers",
  "output_schema",
  "effort",
  "plan",
  "fork",
  "continue_at",
] as const;

/**
 * How an adapter can talk: `turns` takes several prompts in one entry, `steer` takes words into a running turn, `stop_turn`
 * stops a turn and goes on; `images` and `files` go with a prompt or such words.
 */
export const talkAbilities = ["turns", "steer", "stop_turn", "images", "files"] as const;

/** A way in which an adapter can talk. */
export type TalkAbility = (typeof talkAbilities)[number];

/** A field of a request that an adapter passes to its agent. */
export type AcceptedField = (typeof acceptedFields)[number];

/** Facts that an adapter can report about its agent during a session. */
const reportedFacts = ["tokens", "cost", "turns", "tool_calls", "permissions"] as const;

/** A fact that an adapter reports during a session; `permissions` are its agent's requests. */
export type ReportedFact = (typeof reportedFacts)[number];

/** A plugin's manifest, `plugin.yaml`. It has either `entry` or `cli`, never both. */
export interface Manifest {
  manifest: 1;
  id: string;
  name: string;
  version: string;
  description: string;
  license: string;
  /** Semver range of the contract versions that this plugin was written for. */
  host: string;
  adapter_type: "agent" | "cli" | "acp" | "model" | "tool";
  /** The adapter's code, TypeScript or JavaScript, inside the package. */
  entry?: string;
  cli?: CliTool;
  /** A module inside the package whose default export turns a line of output into events. */
  normaliser?: string;
  capabilities: AgentCapabilities;
  /**
   * Fields of a request that it passes to its agent. A request that sets another one of them is refused as
   * `unenforceable`, except for the system prompt, which then precedes the prompt. For a tool without code the
   * placeholders of its template decide.
   */
  accepts?: (AcceptedField | TalkAbility)[];
  /**
   * Facts that it reports during a session: the host can limit only reported facts. For a tool without code the mapping
   * rules decide.
   */
  reports?: ReportedFact[];
  access_modes?: AccessMode[];
  models?: string[];
  permissions?: Permissions;
  /**
   * Permissions that only one value of an option needs, by the option and the value, for options with an `enum`. With
   * that value they count as if they stood under `permissions`; where the option has no value, none of them is asked for.
   */
  permissions_for?: Record<string, Record<string, Permissions>>;
  /** Files of a project with instructions that its agent does not read itself: the host reads them for the adapter. */
  project_memory?: string[];
  /** How to install the programs that it runs, by program: a command, or where to read about it. */
  install?: Record<string, string>;
  /** Semver range of the versions that it was tested with, by program. `agents` and `doctor` say when the installed one is newer. */
  tested?: Record<string, string>;
  /**
   * Hosts, as `host:port`, that its programs call for themselves and can do without: telemetry, updates. A call is denied
   * without a question, unless the operator granted the host, and is told once a session and quietly.
   */
  housekeeping?: string[];
  /** Keys that contained programs can do without: the host's proxy puts them into their requests. */
  endpoints?: ModelEndpoint[];
  /** Settings in which a person may send a program to a provider that needs no login. */
  gateways?: SettingsGateway[];
  defaults?: { timeout_ms?: number; trust_tools?: boolean };
  config?: ConfigSchema;
  /** JSON Schema of its `structured_output`; the host holds every session to it, unless the request names another one. */
  output_schema?: Record<string, unknown>;
  /** `tool`: clients of the Model Context Protocol get a tool of its own for it, with its options as input. */
  expose?: "tool";
}

/** A program that takes the address of its model from a variable. Names of variables must also stand under `env`. */
export interface ModelEndpoint {
  /** The program, as in `run`. */
  program: string;
  /** Variable of the key. */
  key: string;
  /** Variable of the address that the program sends its requests to. */
  base_url: string;
  /** Address where that variable has no value: `https://api.example.com`. */
  url: string;
  /**
   * Arguments that the host adds where it keeps the key, for a program that does not read the variable; `{}` stands for the
   * address. The grant must allow the program with them.
   */
  args?: string[];
  /** The access mode in which the program uses the key; absent: in each. */
  access_mode?: "api";
  /** Beginning of the names of the models that are there, for a program with models of several providers: `acme/`. */
  models?: string;
}

/** Settings of a program, in TOML, that choose a provider by its name, from tables of providers. */
export interface SettingsGateway {
  /** The program, as in `run`. */
  program: string;
  /** The file below the home, `.agent/config.toml`. */
  file: string;
  /** Variable that names another folder for the file. */
  folder?: string;
  /** Key whose value is the provider's name, also in the profile that `profile` names. */
  chosen: string;
  /** Name of the table that holds a table for each provider. */
  providers: string;
  /** Key in a provider's table that names the variable of its key. */
  key: string;
  /** Key in a provider's table that is true where the program's own login counts after all. */
  login?: string;
}

/** Version of this contract; a manifest's `host` range must allow it. */
export const contractVersion = "1.0.0";

const text = Type.String({ minLength: 1, maxLength: 1024 });
const probe = Type.Object({ args: text, contains: Type.Optional(text) }, closed);

/** Pattern of a plugin's id: lowercase letters, digits and single hyphens, as in npm names. */
export const idPattern = "^[a-z0-9]+(-[a-z0-9]+)*$";

const optionNames = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 256 });

const fieldSchema = {
  type: Type.Union([
    Type.Literal("string"),
    Type.Literal("number"),
    Type.Literal("integer"),
    Type.Literal("boolean"),
    Type.Literal("array"),
    Type.Literal("object"),
  ]),
  description: Type.Optional(Type.String({ maxLength: 1024 })),
  enum: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Number()]), { minItems: 1, maxItems: 256 })),
  minimum: Type.Optional(Type.Number()),
  maximum: Type.Optional(Type.Number()),
  min_length: Type.Optional(Type.Integer({ minimum: 0 })),
  max_length: Type.Optional(Type.Integer({ minimum: 0 })),
};

const itemSchema = {
  ...fieldSchema,
  properties: Type.Optional(
    Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.Object(fieldSchema, closed)),
  ),
  required: Type.Optional(optionNames),
};

const option = Type.Object({
  ...itemSchema,
  default: Type.Optional(Type.Unknown()),
  items: Type.Optional(Type.Object(itemSchema, closed)),
}, closed);

const failureTexts = Type.Optional(Type.Array(text, { minItems: 1, maxItems: 64 }));

const cli = Type.Object({
  binary: Type.Union([text, Type.Record(Type.String({ minLength: 1, maxLength: 32 }), text)]),
  command_template: Type.String({ minLength: 1, maxLength: 8192 }),
  models: Type.Optional(Type.Union([Type.Record(text, text), Type.Array(text, { maxItems: 256 })])),
  default_model: Type.Optional(text),
  env_vars: Type.Optional(Type.Record(text, Type.String({ maxLength: 8192 }))),
  version: Type.Optional(probe),
  auth: Type.Optional(probe),
  output: Type.Optional(Type.Union([
    Type.Object({ format: Type.Literal("text") }, closed),
    Type.Object({
      format: Type.Literal("jsonl"),
      rules: Type.Array(mappingRuleSchema, { maxItems: 256 }),
      last_word: Type.Optional(
        Type.Union([Type.Literal("last"), Type.Literal("first"), Type.Literal("first_error")]),
      ),
      tool_kinds: Type.Optional(Type.Record(text, Type.Union(toolKinds.map((kind) => Type.Literal(kind))))),
      file_changes: Type.Optional(Type.Record(text, text)),
    }, closed),
  ])),
  failures: Type.Optional(Type.Object({
    rate_limit: failureTexts,
    unavailable: failureTexts,
    timeout: failureTexts,
    refused: failureTexts,
    context_overflow: failureTexts,
    fatal: failureTexts,
  }, closed)),
  noise: failureTexts,
  exit_codes: Type.Optional(Type.Record(
    Type.String({ minLength: 1, maxLength: 4 }),
    Type.Union([
      Type.Literal("completed"),
      Type.Literal("rate_limit"),
      Type.Literal("unavailable"),
      Type.Literal("timeout"),
      Type.Literal("refused"),
      Type.Literal("fatal"),
    ]),
  )),
}, closed);

/** Checks {@link CliTool}; also checks the entries under `tools:` in the host manifest. */
export const cliToolSchema: SchemaOf<CliTool> = exactly<CliTool>()(cli);

const modelEndpointSchema = exactly<ModelEndpoint>()(
  Type.Object({
    program: text,
    key: text,
    base_url: text,
    url: Type.String({ pattern: "^https?://[^/]", maxLength: 1024 }),
    args: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 32 })),
    access_mode: Type.Optional(Type.Literal("api")),
    models: Type.Optional(text),
  }, closed),
);

const settingsGatewaySchema = exactly<SettingsGateway>()(
  Type.Object({
    program: text,
    file: Type.String({ pattern: "^[\\w.-]+(/[\\w.-]+)*$", maxLength: 256 }),
    folder: Type.Optional(text),
    chosen: text,
    providers: text,
    key: text,
    login: Type.Optional(text),
  }, closed),
);

/** Checks {@link Manifest}. The loader checks separately that it has one of `entry` and `cli`. */
export const manifestSchema: SchemaOf<Manifest> = exactly<Manifest>()(
  Type.Object({
    manifest: Type.Literal(1),
    id: Type.String({
      pattern: idPattern,
      maxLength: 64,
      title: "an id of lowercase letters, digits and hyphens",
      examples: ["my-agent"],
    }),
    name: Type.String({ minLength: 1, maxLength: 128 }),
    version: Type.String({ minLength: 5, maxLength: 64, title: "a version", examples: ["0.1.0"] }),
    description: text,
    license: Type.String({ minLength: 1, maxLength: 64 }),
    host: Type.String({ minLength: 1, maxLength: 64, title: "a range of versions", examples: ["^1.0.0"] }),
    adapter_type: Type.Union([
      Type.Literal("agent"),
      Type.Literal("cli"),
      Type.Literal("acp"),
      Type.Literal("model"),
      Type.Literal("tool"),
    ]),
    entry: Type.Optional(text),
    cli: Type.Optional(cli),
    normaliser: Type.Optional(text),
    capabilities: agentCapabilitiesSchema,
    accepts: Type.Optional(
      Type.Array(Type.Union([...acceptedFields, ...talkAbilities].map((one) => Type.Literal(one))), { maxItems: 32 }),
    ),
    reports: Type.Optional(Type.Array(Type.Union(reportedFacts.map((one) => Type.Literal(one))), { maxItems: 16 })),
    access_modes: Type.Optional(Type.Array(accessModeSchema, { maxItems: 16 })),
    models: Type.Optional(Type.Array(text, { maxItems: 256 })),
    permissions: Type.Optional(permissionsSchema),
    permissions_for: Type.Optional(
      Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.Record(text, permissionsSchema)),
    ),
    project_memory: Type.Optional(
      Type.Array(Type.String({ pattern: "^[\\w.-]+(/[\\w.-]+)?$", maxLength: 128 }), { maxItems: 8 }),
    ),
    install: Type.Optional(Type.Record(text, Type.String({ minLength: 1, maxLength: 256 }), { maxProperties: 32 })),
    tested: Type.Optional(Type.Record(text, text, { maxProperties: 32 })),
    housekeeping: Type.Optional(Type.Array(text, { maxItems: 64 })),
    endpoints: Type.Optional(Type.Array(modelEndpointSchema, { maxItems: 16 })),
    gateways: Type.Optional(Type.Array(settingsGatewaySchema, { maxItems: 16 })),
    defaults: Type.Optional(Type.Object({
      timeout_ms: Type.Optional(Type.Integer({ minimum: 1 })),
      trust_tools: Type.Optional(Type.Boolean()),
    }, closed)),
    config: Type.Optional(Type.Object({
      type: Type.Literal("object"),
      properties: Type.Record(Type.String({ minLength: 1, maxLength: 64 }), option),
      required: Type.Optional(optionNames),
    }, closed)),
    output_schema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    expose: Type.Optional(Type.Literal("tool")),
  }, closed),
);
