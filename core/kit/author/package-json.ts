import { pluginKeyword } from "../../packages/manifest/plugin-keyword.ts";
import * as z from "zod";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { readTextFile } from "../../ground/config/read-text-file.ts";
import { join } from "../../ground/platform/files/paths.ts";

/** Fields of a plugin's `package.json` that its package is made from. All other fields are left out of the package. */
export interface PluginPackageJson {
  name: string;
  version: string;
  description?: string | undefined;
  keywords: string[];
  /** Names, folders and `*.ext` patterns of the files that belong to the package, beside those that always do. */
  files: string[];
  author?: unknown;
  repository?: unknown;
  homepage?: unknown;
  bugs?: unknown;
  peerDependencies?: Record<string, string> | undefined;
}

const npmName = /^(?:@[a-z0-9-][a-z0-9._-]*\/)?[a-z0-9-][a-z0-9._-]*$/;
const schema: z.ZodType<PluginPackageJson, unknown> = z.object({
  name: z.string().max(214).regex(npmName, "expected a package name such as bulkhead-plugin-mine or @me/mine"),
  version: z.string().max(64),
  description: z.string().max(1024).optional(),
  keywords: z.array(z.string().max(128)).max(128).default([]),
  files: z.array(z.string().max(1024)).max(1024).default([]),
  author: z.unknown().optional(),
  repository: z.unknown().optional(),
  homepage: z.unknown().optional(),
  bugs: z.unknown().optional(),
  peerDependencies: z.record(z.string(), z.string()).optional(),
});

/**
 * Reads the `package.json` of a plugin's folder.
 * @throws {BulkheadError} `not_found`, `io_error`; `invalid_manifest` for one that no package can be made from, or
 * whose version is not that of `plugin.yaml`
 */
export async function readPackageJson(folder: string, manifest: Manifest): Promise<PluginPackageJson> {
  const text = await readTextFile(join(folder, "package.json"), {
    maxBytes: 256 * 1024,
    code: "invalid_manifest",
    name: "package.json",
  });
  const read = schema.safeParse(parseJson(text));
  if (!read.success) {
    const problems = read.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`);
    throw invalid(problems.join("; "));
  }
  if (read.data.version !== manifest.version) {
    throw invalid(`version: expected ${manifest.version} as in plugin.yaml, found ${read.data.version}`);
  }
  return read.data;
}

/** The `package.json` that goes into the package: no scripts, and no dependencies, since the script holds them. */
export function packedPackageJson(source: PluginPackageJson, manifest: Manifest): string {
  const { name, version, author, repository, homepage, bugs, peerDependencies } = source;
  const packed = {
    name,
    version,
    description: source.description ?? manifest.description,
    type: "module",
    license: manifest.license,
    keywords: [...new Set([pluginKeyword, ...source.keywords])],
    author,
    repository,
    homepage,
    bugs,
    peerDependencies,
  };
  return `${JSON.stringify(packed, null, 2)}\n`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BulkheadError("invalid_manifest", "Cannot read package.json: it is not JSON.", { cause });
  }
}

function invalid(why: string): BulkheadError {
  return new BulkheadError("invalid_manifest", `Cannot pack with this package.json: ${why}.`);
}
