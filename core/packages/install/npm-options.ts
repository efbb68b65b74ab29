import { demandRecorded } from "../../ground/recorded/demand-recorded.ts";
import { isAbsolute, join } from "../../ground/runtime/paths.ts";
import { hostEnvironment } from "../../ground/runtime/platform.ts";
import { stateFolders } from "../../ground/runtime/state-folders.ts";

/** Options of npm's own libraries: registries, keys, proxies, as npm itself would use them. */
export type NpmOptions = Readonly<Record<string, unknown>> & { registry: string };

/**
 * npm's configuration for a folder: its `.npmrc`, the user's, the machine's, and `npm_config_*` in the environment. What
 * is fetched is kept in our own cache.
 * @throws {BulkheadError} `unaccepted_change`
 */
export async function npmOptions(folder: string): Promise<NpmOptions> {
  const { Config, definitions } = await loadLibrary();
  const config = new Config({
    ...definitions,
    // Nothing of npm's own installation is needed.
    npmPath: folder,
    argv: [],
    cwd: folder,
    env: hostEnvironment(),
    warn: false,
  });
  await config.load();
  for (const file of [join(config.localPrefix, ".npmrc"), config.get("userconfig")]) {
    if (typeof file === "string" && isAbsolute(file)) await demandRecorded(file, "npm");
  }
  const cache = stateFolders().cache;
  return {
    ...config.flat,
    registry: String(config.flat["registry"]),
    cache: join(cache, "npm"),
    tufCache: join(cache, "tuf"),
    // No lifecycle script of a package ever runs.
    ignoreScripts: true,
    // A mistyped registry should not take minutes to say so.
    retry: { retries: 1 },
    before: null,
  };
}

/** The used part of npm's configuration library, which comes without types. */
interface ConfigLibrary {
  Config: new (options: Record<string, unknown>) => {
    load(): Promise<void>;
    get(key: string): unknown;
    /** Folder of the project's own settings. */
    readonly localPrefix: string;
    readonly flat: Readonly<Record<string, unknown>>;
  };
  /** All keys, and how they become options of the other libraries. */
  definitions: Record<string, unknown>;
}

async function loadLibrary(): Promise<ConfigLibrary> {
  const loaded: readonly { default: unknown }[] = await Promise.all([
    // @ts-ignore: the library has no types
    import("@npmcli/config"),
    // @ts-ignore: the library has no types
    import("@npmcli/config/lib/definitions/index.js"),
  ]);
  return {
    Config: loaded[0]!.default as ConfigLibrary["Config"],
    definitions: loaded[1]!.default as ConfigLibrary["definitions"],
  };
}
