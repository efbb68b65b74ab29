import { defaultModel } from "../../../plugin-sdk/cli-tool.ts";
import { BulkheadError, InvalidModelError } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { type SessionRequest, sessionRequestSchema } from "../../../plugin-sdk/request.ts";
import { isPseudoFile } from "../../walls/broker/forbidden-paths.ts";
import { pathText } from "../../ground/config/yaml-problems.ts";
import { grantCommand } from "../../ground/config/grant-command.ts";
import { inputError } from "../../ground/config/input-error.ts";
import { outputSchemaFaults } from "../../ground/checks/schema-faults.ts";
import { readTraceparent, traceparentFor } from "../../ground/checks/trace-context.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { checkPluginConfig } from "../../packages/manifest/plugin-config.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import { offeredModels } from "../routing/agent-report.ts";
import { stat } from "../../ground/platform/files/files.ts";
import { isLoaderName } from "../../ground/platform/places/loader-names.ts";
import { isInside } from "../../ground/platform/files/paths.ts";
import { realFolder } from "../../ground/platform/files/real-folder.ts";

const check = lazyCheck(sessionRequestSchema);

/**
 * Checks a request from outside against its schema.
 * @throws {BulkheadError} `invalid_request`
 */
export function checkRequest(request: unknown): SessionRequest {
  if (!check().Check(request)) throw inputError("The request", sessionRequestSchema, request);
  if (request.output_schema !== undefined) checkOutputSchema(request.output_schema);
  return structuredClone(request);
}

/**
 * Checks an output schema from outside.
 * @throws {BulkheadError} `invalid_request`
 */
export function checkOutputSchema(schema: unknown): void {
  const [fault] = outputSchemaFaults(schema);
  if (fault === undefined) return;
  const path = pathText(["output_schema", ...fault.path]);
  throw new BulkheadError("invalid_request", `Cannot use ${path}: expected ${fault.expected}, found ${fault.found}.`, {
    details: { path },
  });
}

/**
 * Checks the parts of a request that depend on the plugin, and fills in the defaults of its options.
 * @throws {BulkheadError} `invalid_model`, `invalid_request`, `too_large`
 */
export function fitToPlugin(request: SessionRequest, { manifest, limits }: Plugin): SessionRequest {
  const bytes = new TextEncoder().encode(request.prompt).length;
  if (bytes > limits.prompt_bytes) {
    const message = `The prompt has ${bytes} bytes, and at most ${limits.prompt_bytes} are allowed.`;
    throw new BulkheadError("too_large", message, {
      hint: "Put the material into files of the working directory and name them, or raise the limit prompt_bytes.",
    });
  }
  const models = offeredModels(manifest);
  if (request.model !== undefined && models.length > 0 && !models.includes(request.model)) {
    throw new InvalidModelError(request.model, models);
  }
  const model = request.model ?? defaultModel(manifest);
  const fitted = model === undefined ? request : { ...request, model };
  if (request.params === undefined) return fitted;
  const declared = manifest.config ? { ...manifest.config, required: [] } : undefined;
  const checked = checkPluginConfig(declared, request.params, {
    code: "invalid_request",
    where: ({ option }) => `params.${option}`,
  });
  // Defaults belong to the operator's settings; only the client's own values count here.
  const said = Object.keys(request.params).map((key) => [key, checked[key]]);
  return { ...fitted, params: Object.fromEntries(said) as Record<string, unknown> };
}

/**
 * Returns the real path of a working directory. Every door's sessions pass here, so this function refuses the host's
 * own folders and pseudo file systems: a contained program sees its whole working directory, even parts that are hidden
 * elsewhere.
 * @param closedFolders real absolute paths in which no session works
 * @throws {BulkheadError} `workdir_missing`, `invalid_request`
 */
export async function checkWorkdir(workdir: string, closedFolders: readonly string[]): Promise<string> {
  const real = await realFolder(workdir);
  if (real !== null) {
    // Where the runtime replaced bytes of a name with U+FFFD, the path leads nowhere.
    if (real.includes("\ufffd") && await stat(real).catch(() => null) === null) throw notText(real);
    const isClosed = closedFolders.some((folder) => isInside(folder, real));
    if (!isClosed && !isPseudoFile(real)) return real;
    const why = isClosed ? "it is one of the host's own folders" : "it is in a pseudo file system";
    throw new BulkheadError("invalid_request", `Cannot work in "${workdir}": ${why}.`, {
      hint: "Name the folder of a project.",
      details: { path: "workdir" },
    });
  }
  const info = await stat(workdir).catch(() => null);
  if (info?.isDirectory() || workdir.includes("\ufffd")) throw notText(workdir);
  throw new BulkheadError(
    "workdir_missing",
    `The working directory "${workdir}" ${info ? "is not a folder" : "does not exist"}.`,
    {
      hint: "Name an existing folder.",
    },
  );
}

function notText(path: string): BulkheadError {
  return new BulkheadError("workdir_missing", `Cannot work in "${path}": it is closed, or its name is not UTF-8.`, {
    hint: "Open or rename that folder: paths are text here.",
  });
}

/** The plugin that would need a grant, and the line of the host manifest where the grant belongs. */
interface Grantee {
  plugin: Plugin;
  /** The most that a grant could allow. */
  ceiling: Permissions;
  place: { file: string; line: number } | null;
}

/**
 * Returns the environment values that a request sets, if all their names are granted.
 * @throws {BulkheadError} `permission_denied`
 */
export function checkEnv(
  env: Record<string, string> = {},
  effective: Permissions,
  { plugin, ceiling, place }: Grantee,
): Record<string, string> {
  const granted = namesIn(effective);
  const forPrograms = namesIn({ run: effective.run ?? [] });
  for (const name of Object.keys(env)) {
    if (forPrograms.has(name) && isLoaderName(name)) throw loaderError(name, plugin.id);
    if (granted.has(name)) continue;
    const missing = grantFor(name, ceiling);
    if (missing === null) throw beyondReach(name, plugin.id);
    throw new BulkheadError(
      "permission_denied",
      `The request may not set ${name} for plugin "${plugin.id}": it is not granted.`,
      {
        hint: grantCommand(plugin.id, missing.permission, missing),
        details: {
          permission: "env",
          target: name,
          ...omitUndefined({ grant_file: place?.file, grant_line: place?.line }),
        },
      },
    );
  }
  return env;
}

/**
 * Returns the span that an agent's own spans belong in: the session's, where the host sends its spans, else the client's.
 */
export function handedTrace(
  { manifest }: { manifest: HostManifest | undefined },
  { sessionId, request }: { sessionId: string; request: SessionRequest },
): Pick<SessionRequest, "traceparent"> {
  const traceparent = manifest?.telemetry === undefined
    ? readTraceparent(request.traceparent)
    : traceparentFor(sessionId, request.traceparent);
  return omitUndefined({ traceparent });
}

/** Adds the span to the variables of a request, where the plugin is granted `TRACEPARENT` and the request sets none. */
export function withTrace(
  env: Record<string, string>,
  effective: Permissions,
  { traceparent }: Pick<SessionRequest, "traceparent">,
): Record<string, string> {
  const name = "TRACEPARENT";
  if (traceparent === undefined || env[name] !== undefined || !namesIn(effective).has(name)) return env;
  return { ...env, [name]: traceparent };
}

/** Returns the names of variables that an adapter may read or its programs may be given. */
function namesIn({ env = [], run = [] }: Permissions): Set<string> {
  return new Set([...env, ...run.flatMap((program) => program.env ?? [])]);
}

/** Returns the grant that would let a request set a variable; null where no grant would. */
function grantFor(
  name: string,
  { env = [], run = [] }: Permissions,
): { permission: "env" | "run"; target: string } | null {
  if (env.includes(name)) return { permission: "env", target: name };
  const program = run.find((one) => one.env?.includes(name));
  return program === undefined ? null : { permission: "run", target: program.binary };
}

/** A grant would change nothing here, so the hint must not name one. */
function beyondReach(name: string, pluginId: string): BulkheadError {
  return new BulkheadError(
    "permission_denied",
    `The request may not set ${name} for plugin "${pluginId}": plugin.yaml does not ask for it, or the request or a denial ` +
      "takes it away.",
    {
      hint: `See: bulkhead plugin explain ${pluginId}. To ask for it, add ${name} to the permissions in plugin.yaml.`,
      details: { permission: "env", target: name, grantable: false },
    },
  );
}

/** Dropping the value silently would run the program differently than the client asked. */
function loaderError(name: string, pluginId: string): BulkheadError {
  return new BulkheadError(
    "permission_denied",
    `The request may not set ${name} for plugin "${pluginId}": programs load code by it.`,
    {
      hint: `Set ${name} in the host's own environment: a program that is granted the name gets that value.`,
      details: { permission: "env", target: name, grantable: false },
    },
  );
}

/**
 * Checks a request that this host alone is to run.
 * @throws {BulkheadError} as {@link checkRequest}; `unsupported` for one with a place
 */
export function checkHere(request: SessionRequest): SessionRequest {
  const checked = checkRequest(request);
  if (checked.place !== undefined) throw aloneError();
  return checked;
}

function aloneError(): BulkheadError {
  return new BulkheadError("unsupported", "Cannot choose a place for the session: this host is alone.", {
    hint: 'Leave "place" out, or name the servers under "cluster" in bulkhead.yaml and start the daemon.',
    details: { path: "place" },
  });
}
