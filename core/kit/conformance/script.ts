import { type TSchema, Type } from "@sinclair/typebox";
import { parseArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Delivery } from "../../../plugin-sdk/messages.ts";
import { closed, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { checkAgainst } from "../../ground/config/check-against.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { readTextFile } from "../../ground/config/read-text-file.ts";
import { type ParsedYaml, parseYaml } from "../../ground/config/yaml.ts";
import { type KeyPath, pathText, type Problem, problemsError } from "../../ground/config/yaml-problems.ts";
import { stat } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";

/** Name of the file in a plugin's folder that scripts its tools. */
export const scriptName = "conformance.yaml";

/** A message into a session: a further turn, or a word into the turn under way. */
interface ScriptedMessage {
  text: string;
  /** Default `queue`. `steer` is given with the first prompt, `interrupt` while the first turn works. */
  delivery?: Delivery;
}

/** A session that the kit runs. */
export interface ScriptedSession {
  name: string;
  prompt: string;
  params?: Record<string, unknown>;
  /** As in a request: the data of the session must fit it. */
  output_schema?: Record<string, unknown>;
  /** Files of the working directory before it, by path. */
  files?: Record<string, string>;
  /** Only the rules of turns look at a session that has some. */
  messages?: ScriptedMessage[];
  expect?: { outcome?: "completed" | "blocked" | "error"; output?: string };
}

/** A pause of a program until it is told something, and what it prints then. */
export interface DialogStep {
  /** Lines it reads first. Default 1. */
  reads?: number;
  stdout?: string;
  /** A file of the package to print. */
  stdout_file?: string;
}

/** A scripted program's reaction to arguments that fit. The first answer that fits counts. */
export interface ProgramAnswer {
  /** As a line of a run permission's `args`; absent: any. */
  args?: string;
  /** Only in the session of that name. */
  session?: string;
  /** Not the agent's work but a question such as `--version`: it never misbehaves. */
  probe?: boolean;
  /** `read`: reads its standard input to the end first. Default `leave`. */
  stdin?: "read" | "leave";
  stdout?: string;
  /** A file of the package to print. In it and in `stdout`, `{{workdir}}` stands for the working directory. */
  stdout_file?: string;
  /** Lines it reads and what it prints after them, in order, before `stdout`. */
  dialog?: DialogStep[];
  stderr?: string;
  /** Default 0. */
  exit_code?: number;
  /** Files it leaves in the working directory, by path. */
  files?: Record<string, string>;
}

/** A program, and what stands in for it. */
export interface ScriptedProgram {
  /** As a run permission of the manifest names it. */
  binary: string;
  answers: ProgramAnswer[];
}

/** Answer of a scripted server. The first answer that fits counts. */
export interface ServerAnswer {
  method?: string;
  path?: string;
  session?: string;
  probe?: boolean;
  /** It answers one request of a session, and says half and no more until that request is given up. */
  stalls_once?: boolean;
  /** Default 200. */
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** A file of the package. */
  body_file?: string;
}

/** A server, and what stands in for it. */
export interface ScriptedServer {
  /** `host:port`, as a net permission of the manifest names it. */
  host: string;
  answers: ServerAnswer[];
}

/** Message of an agent whose provider limits requests. */
interface RateLimitText {
  text: string;
  /** Seconds it asks to wait; null for a text that does not say. */
  wait_s: number | null;
}

/** Script for testing a plugin: `conformance.yaml`. */
export interface ConformanceScript {
  conformance: 1;
  sessions: ScriptedSession[];
  programs: ScriptedProgram[];
  servers: ScriptedServer[];
  rate_limits: RateLimitText[];
  /** Values for the plugin's own options. */
  config: Record<string, unknown>;
}

const text = Type.String({ maxLength: 65_536 });
const name = Type.String({ minLength: 1, maxLength: 256 });
const files = Type.Optional(Type.Record(name, text));
const deliveries: readonly Delivery[] = ["queue", "steer", "interrupt"];
const optional = (schema: TSchema) => Type.Optional(schema);

const schema: SchemaOf<Partial<ConformanceScript> & { conformance: 1 }> = Type.Object({
  conformance: Type.Literal(1),
  sessions: optional(Type.Array(
    Type.Object({
      name,
      prompt: text,
      params: optional(Type.Record(name, Type.Unknown())),
      output_schema: optional(Type.Record(name, Type.Unknown())),
      files,
      messages: optional(Type.Array(
        Type.Object({ text, delivery: optional(Type.Union(deliveries.map((one) => Type.Literal(one)))) }, closed),
        { minItems: 1, maxItems: 16 },
      )),
      expect: optional(Type.Object({
        outcome: optional(Type.Union([Type.Literal("completed"), Type.Literal("blocked"), Type.Literal("error")])),
        output: optional(text),
      }, closed)),
    }, closed),
    { minItems: 1, maxItems: 32 },
  )),
  programs: optional(Type.Array(
    Type.Object({
      binary: name,
      answers: Type.Array(
        Type.Object({
          args: optional(Type.String({ maxLength: 4096 })),
          session: optional(name),
          probe: optional(Type.Boolean()),
          stdin: optional(Type.Union([Type.Literal("read"), Type.Literal("leave")])),
          stdout: optional(text),
          stdout_file: optional(name),
          dialog: optional(Type.Array(
            Type.Object({
              reads: optional(Type.Integer({ minimum: 0, maximum: 100 })),
              stdout: optional(text),
              stdout_file: optional(name),
            }, closed),
            { maxItems: 100 },
          )),
          stderr: optional(text),
          exit_code: optional(Type.Integer({ minimum: 0, maximum: 255 })),
          files,
        }, closed),
        { minItems: 1, maxItems: 64 },
      ),
    }, closed),
    { maxItems: 16 },
  )),
  servers: optional(Type.Array(
    Type.Object({
      host: name,
      answers: Type.Array(
        Type.Object({
          method: optional(Type.String({ maxLength: 16 })),
          path: optional(name),
          session: optional(name),
          probe: optional(Type.Boolean()),
          stalls_once: optional(Type.Boolean()),
          status: optional(Type.Integer({ minimum: 100, maximum: 599 })),
          headers: optional(Type.Record(name, text)),
          body: optional(text),
          body_file: optional(name),
        }, closed),
        { minItems: 1, maxItems: 64 },
      ),
    }, closed),
    { maxItems: 16 },
  )),
  rate_limits: optional(Type.Array(
    Type.Object({ text, wait_s: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]) }, closed),
    { maxItems: 64 },
  )),
  config: optional(Type.Record(name, Type.Unknown())),
}, closed) as unknown as SchemaOf<Partial<ConformanceScript> & { conformance: 1 }>;

/**
 * Reads a plugin's `conformance.yaml`; without one its sessions have the prompt "Say hello." and no tool is scripted.
 * @throws {BulkheadError} `io_error`; `invalid_manifest` with file, line and column of every problem
 */
export async function readScript(folder: string): Promise<ConformanceScript> {
  const read = readText(await readScriptText(folder));
  const missing = await missingFiles(folder, read);
  if (missing.length > 0) throw problemsError("invalid_manifest", missing, read.parsed.source);
  return read.script;
}

/**
 * Reads the text of a plugin's `conformance.yaml`; without one, of the shortest.
 * @throws {BulkheadError} `io_error`, `invalid_manifest`
 */
export async function readScriptText(folder: string): Promise<string> {
  const file = join(folder, scriptName);
  try {
    return await readTextFile(file, { maxBytes, code: "invalid_manifest", name: scriptName });
  } catch (error) {
    if (error instanceof BulkheadError && error.code === "not_found") return "conformance: 1\n";
    throw error;
  }
}

const maxBytes = 4 * defaultLimits.manifest_bytes;

/**
 * Parses the text of a `conformance.yaml` and fills in defaults.
 * @throws {BulkheadError} `invalid_manifest` with file, line and column of every problem
 */
export function parseScript(text: string): ConformanceScript {
  return readText(text).script;
}

/** A `conformance.yaml` that was read. */
export interface ReadScript {
  script: ConformanceScript;
  parsed: ParsedYaml;
}

/**
 * Reads the text of a `conformance.yaml`, with the tree for edits. Whether its recordings are there is not asked.
 * @throws {BulkheadError} `invalid_manifest` with file, line and column of every problem
 */
export function readText(text: string): ReadScript {
  const parsed = parseYaml(text, { file: scriptName, maxBytes, maxAliases: defaultLimits.yaml_aliases });
  const { sessions, programs = [], servers = [], rate_limits = [], config = {} } = checkAgainst(schema, parsed);
  const fallback = [{ name: "default", prompt: "Say hello." }];
  for (const { args } of programs.flatMap(({ answers }) => answers)) parseArgumentPattern(args ?? "{...}");
  const script: ConformanceScript = {
    conformance: 1,
    sessions: sessions ?? fallback,
    programs,
    servers,
    rate_limits,
    config,
  };
  return { script, parsed };
}

/** Every recording that is named and is no file of the package. */
async function missingFiles(folder: string, { script, parsed }: ReadScript): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { path, name } of namedFiles(script)) {
    if (await stat(join(folder, name)).then((info) => info.isFile(), () => false)) continue;
    const place = parsed.locate(path);
    const found = `"${name}", which is not there`;
    problems.push({ file: scriptName, ...place, path: pathText(path), expected: "a file of the package", found });
  }
  return problems;
}

function* namedFiles({ programs, servers }: ConformanceScript): Generator<{ path: KeyPath; name: string }> {
  for (const [number, { answers }] of programs.entries()) {
    for (const [at, { stdout_file, dialog = [] }] of answers.entries()) {
      const path = ["programs", number, "answers", at];
      if (stdout_file !== undefined) yield { path: [...path, "stdout_file"], name: stdout_file };
      for (const [turn, { stdout_file: name }] of dialog.entries()) {
        if (name !== undefined) yield { path: [...path, "dialog", turn, "stdout_file"], name };
      }
    }
  }
  for (const [number, { answers }] of servers.entries()) {
    for (const [at, { body_file }] of answers.entries()) {
      if (body_file !== undefined) yield { path: ["servers", number, "answers", at, "body_file"], name: body_file };
    }
  }
}
