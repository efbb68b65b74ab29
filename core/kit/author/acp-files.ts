import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { formatArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { makeModule } from "../../packages/bundler/make-bundle.ts";
import { bundleOrder } from "../../packages/bundler/bundle-order.ts";
import { ownPluginsDir } from "../../packages/manifest/find-plugins.ts";
import { readManifest } from "../../packages/manifest/read-manifest.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { fillTemplate } from "./templates.ts";

/** An agent that speaks the Agent Client Protocol. */
export interface AcpAgent {
  binary: string;
  args: readonly string[];
  /** Variables that it is given, with their values. */
  env: Readonly<Record<string, string>>;
  /** Variables of the operator's that it is given where they are set. */
  envNames: readonly string[];
  version: string;
  description: string;
  license: string;
  /** How to install its program: a command, or what to do; empty when unknown. */
  install: string;
  /** Sentences that the operator should read. */
  notes: readonly string[];
}

/** Most characters that a manifest has room for. */
const maxInstall = 256;

interface AcpFilesOptions {
  words: Readonly<Record<string, string>>;
  /** The host's adapter; default: made now. */
  adapter?: string;
}

/**
 * The files of a plugin for such an agent. A plugin imports no other plugin, so it holds a copy of the host's own adapter
 * for the protocol, as one module.
 * @throws {BulkheadError} `unsupported` where this host has no such adapter; `bundle_failed`
 */
export async function acpFiles(
  agent: AcpAgent,
  { words, adapter }: AcpFilesOptions,
): Promise<Map<string, string>> {
  const { binary, args, env, envNames, version, description, license, install, notes } = agent;
  const pattern = formatArgumentPattern(args.map((literal) => [{ literal }]));
  const files = await fillTemplate("acp", {
    ...words,
    version,
    version_json: JSON.stringify(version),
    description_text: JSON.stringify(description),
    license_text: JSON.stringify(license),
    binary_text: JSON.stringify(binary),
    binary_json: JSON.stringify(binary),
    command: [binary, ...args].join(" "),
    args_json: JSON.stringify(args),
    args_patterns: JSON.stringify(args.length === 0 ? [] : [pattern]),
    env_json: JSON.stringify(env),
    env_names: JSON.stringify([...Object.keys(env), ...envNames]),
    install: install === "" ? "" : ` To install it: \`${install}\`.`,
    install_lines: installLines(binary, install),
    notes: notes.map((note) => `\n${note}\n`).join(""),
  });
  return files.set("acp.js", adapter ?? await ownAdapter());
}

/** Lines of the manifest that say how to install the program; none where that is not known, or takes more than a line. */
function installLines(binary: string, install: string): string {
  return install === "" || install.length > maxInstall
    ? ""
    : `install: { ${JSON.stringify(binary)}: ${JSON.stringify(install)} }\n`;
}

/**
 * The host's own adapter for the protocol, as one module.
 * @throws {BulkheadError} `unsupported` where this host has none; `bundle_failed`
 */
export async function ownAdapter(): Promise<string> {
  const folder = join(ownPluginsDir, "acp");
  try {
    const manifest = await readManifest(folder);
    const order = await bundleOrder({ folder, manifest, limits: defaultLimits, origin: "bundled" });
    return await makeModule(order, defaultLimits);
  } catch (cause) {
    if (!(cause instanceof BulkheadError) || cause.code !== "not_found") throw cause;
    const message = "Cannot make a plugin for the Agent Client Protocol: this host has no adapter of its own for it.";
    throw new BulkheadError("unsupported", message, { cause });
  }
}
