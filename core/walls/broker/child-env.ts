import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { RunPermission } from "../../../plugin-sdk/permissions.ts";
import { delimiter, isAbsolute, isInside } from "../../ground/platform/files/paths.ts";
import { isLoaderName } from "../../ground/platform/places/loader-names.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import type { ModelAddress } from "./model-address.ts";

/** Options of {@link buildChildEnv}. */
interface ChildEnvOptions {
  permission: RunPermission;
  /** Values of the request, already narrowed to granted names. */
  requestEnv: Readonly<Record<string, string>>;
  /** Values that the adapter sets for this run. */
  adapterEnv: Readonly<Record<string, string>>;
  /** Addresses of the program's models, by variable: an adapter cannot set them. */
  addresses?: ReadonlyMap<string, ModelAddress>;
  workdir: string;
  tempDir: string;
  /** Makes the error for a name that may not be set. */
  refuse(name: string, refusal: EnvRefusal): Error;
}

/** Why a variable may not be set. */
export interface EnvRefusal {
  /** Half a sentence. */
  because: string;
  /** Whether a grant would allow it. */
  grantable: boolean;
}

/** A child's environment, and separately its values that were granted by name: they may be secret. */
interface ChildEnv {
  env: Record<string, string>;
  granted: { name: string; value: string }[];
}

/**
 * Builds a child's environment from nothing: a few plain names of the host, then the names that the permission grants,
 * each from the request, else the adapter, else the host; last the additions of {@link withSafeGit}.
 *
 * @throws {BulkheadError} `invalid_request`, and the error of `refuse` for a name that is not granted or may never be
 * set
 */
export function buildChildEnv(options: ChildEnvOptions): ChildEnv {
  const { permission, requestEnv, adapterEnv, addresses } = options;
  const names = permission.env ?? [];
  for (const [name, value] of Object.entries(adapterEnv)) checkSet(name, value, options);
  const granted = names.flatMap((name) => {
    const address = addresses?.get(name);
    const said = address === undefined || address.by === "manifest" ? undefined : address.text;
    const value = said ?? valueOf(name, [requestEnv, adapterEnv]);
    return value === undefined ? [] : [{ name, value }];
  });
  const env: Record<string, string> = plainEnv(options);
  for (const { name, value } of granted) env[name] = value;
  return { env: withSafeGit(env), granted };
}

function plainEnv({ workdir, tempDir }: ChildEnvOptions): Record<string, string> {
  // Some agents complain of a plain terminal, and no program must print colours, also to a terminal that an agent makes.
  const env: Record<string, string> = { TERM: "xterm-256color", NO_COLOR: "1", TMPDIR: tempDir };
  for (const name of ["HOME", "LANG", "USER"]) {
    const value = hostEnv(name);
    if (value !== undefined) env[name] = value;
  }
  env["PATH"] = searchPath(workdir).join(delimiter);
  return env;
}

/** Folders of the host's PATH to search: absolute, and not writable for agents. */
export function searchPath(workdir: string): string[] {
  return pathEntries().filter((entry) => !isInside(workdir, entry));
}

/** Folders of the host's PATH, also those that are not searched. */
export function pathEntries(): string[] {
  return (hostEnv("PATH") ?? "").split(delimiter).filter(isAbsolute);
}

function valueOf(name: string, [request, adapter]: [ChildEnvOptions["requestEnv"], ChildEnvOptions["adapterEnv"]]) {
  if (isLoaderName(name)) return hostEnv(name);
  if (Object.hasOwn(request, name)) return request[name];
  if (Object.hasOwn(adapter, name)) return adapter[name];
  return hostEnv(name);
}

function checkSet(name: string, value: string, { permission, addresses, refuse }: ChildEnvOptions): void {
  const { binary, env } = permission;
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || value.includes("\0")) {
    const message = `Cannot set an environment variable for "${binary}": its name or value is not one.`;
    throw new BulkheadError("invalid_request", message);
  }
  if (isLoaderName(name)) {
    const because = `programs such as "${binary}" load code by it, so an adapter may never set it`;
    throw refuse(name, { because, grantable: false });
  }
  const address = addresses?.get(name);
  if (address !== undefined && address.text !== value && address.manifest !== value) {
    const because =
      `it is the address to which "${binary}" sends a key, so only the operator, the client or the manifest may set it`;
    throw refuse(name, { because, grantable: false });
  }
  if (env?.includes(name)) return;
  throw refuse(name, { because: `the run permission of "${binary}" does not name it under "env"`, grantable: true });
}

/** git setting for every program that is started: git ignores bare repositories that it discovers. */
const safeRepositories = { key: "safe.bareRepository", value: "explicit" };

const mostPairs = 1000;

/**
 * Adds git's own setting against bare repositories to an environment: a folder with `HEAD`, `objects` and `refs` needs
 * no `.git`, and its `config` names programs that `git status` runs. Existing pairs stay, and ours comes last: of two
 * pairs for one setting git takes the later one.
 */
function withSafeGit(env: Readonly<Record<string, string>>): Record<string, string> {
  const count = Number(env["GIT_CONFIG_COUNT"] ?? "0");
  const known = Array.from(
    { length: Number.isInteger(count) && count <= mostPairs ? Math.max(count, 0) : 0 },
    (_, at) => ({
      key: env[`GIT_CONFIG_KEY_${at}`],
      value: env[`GIT_CONFIG_VALUE_${at}`],
    }),
  );
  // git fails on a pair with a missing half.
  const pairs = [...known.filter(({ key, value }) => key !== undefined && value !== undefined), safeRepositories];
  const others = Object.entries(env).filter(([name]) => !/^GIT_CONFIG_(COUNT|KEY_\d+|VALUE_\d+)$/.test(name));
  return {
    ...Object.fromEntries(others),
    GIT_CONFIG_COUNT: String(pairs.length),
    ...Object.fromEntries(pairs.flatMap(({ key = "", value = "" }, at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ])),
  };
}
