import { demandRecorded } from "../../ground/recorded/demand-recorded.ts";
import { readFile } from "../../ground/platform/files/files.ts";
import { isAbsolute, join } from "../../ground/platform/files/paths.ts";
import { hostEnvironment } from "../../ground/platform/engine/platform.ts";
import { stateFolders } from "../../ground/platform/state/state-folders.ts";

/** Options of npm's own libraries: registries, keys, proxies, as npm itself would use them. */
export type NpmOptions = Readonly<Record<string, unknown>> & { registry: string };

/**
 * npm's configuration for a folder: its `.npmrc`, the user's, the machine's, and `npm_config_*` in the environment. What
 * is fetched is kept in our own cache.
 * @throws {BulkheadError} `unaccepted_change`
 */
export async function npmOptions(folder: string): Promise<NpmOptions> {
  const config = await loadConfig(folder);
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

/**
 * Finds the variables that npm's settings of a folder name and that have no value: npm then takes `${NAME}` as it stands.
 * @returns each name with its file
 */
export async function unsetNames(folder: string): Promise<{ name: string; file: string }[]> {
  const config = await loadConfig(folder);
  const found: { name: string; file: string }[] = [];
  const environment = hostEnvironment();
  for (
    const file of new Set([join(config.localPrefix, ".npmrc"), config.get("userconfig"), config.get("globalconfig")])
  ) {
    if (typeof file !== "string" || !isAbsolute(file)) continue;
    const text = await readFile(file, "utf8").catch(() => "");
    const lines = text.split("\n").filter((line) => !/^\s*[#;]/.test(line));
    for (const [, name = ""] of lines.join("\n").matchAll(/\$\{([^}?\s]+)\}/g)) {
      const isKnown = found.some((one) => one.name === name);
      if (!isKnown && environment[name] === undefined) found.push({ name, file });
    }
  }
  return found;
}

async function loadConfig(folder: string): Promise<InstanceType<ConfigLibrary["Config"]>> {
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
  return config;
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
