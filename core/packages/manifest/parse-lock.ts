import * as z from "zod";
import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { idForm, maxIdLength } from "../../ground/config/plugin-ids.ts";
import { problemsError } from "../../ground/config/yaml-problems.ts";
import { type ParsedYaml, parseYaml } from "../../ground/config/yaml.ts";
import { zodProblems } from "../../ground/config/zod-problems.ts";
import type { LockedPlugin, PackageSource, PluginLock } from "./lock-format.ts";

const line = z.string().min(1).max(4096);

const source: z.ZodType<PackageSource> = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("registry"), name: line, registry: z.url(), wanted: line.optional() }),
  z.strictObject({ type: z.literal("tarball"), path: line }),
  z.strictObject({ type: z.literal("remote"), url: z.url() }),
  z.strictObject({ type: z.literal("git"), url: line, ref: line.nullable(), commit: line }),
  z.strictObject({ type: z.literal("folder"), path: line }),
]);

/** A version becomes part of a folder's name. */
const version = z.string().regex(/^[0-9][0-9A-Za-z.+-]*$/).max(128);

const entry: z.ZodType<LockedPlugin> = z.strictObject({
  source,
  version,
  integrity: z.string().regex(/^sha512-[A-Za-z0-9+/=]{80,100}$/).nullable(),
  files: z.string().regex(/^[0-9a-f]{64}$/),
  highest: version,
  signed_by: line.nullable(),
  provenance: line.nullable(),
  installed_at: z.iso.datetime(),
});

const id = z.string().regex(idForm).max(maxIdLength);

const schema: z.ZodType<PluginLock> = z.strictObject({ lock: z.literal(1), plugins: z.record(id, entry) });

/** A lock whose entries may be anything. */
const frame = z.strictObject({ lock: z.literal(1), plugins: z.record(z.string(), z.unknown()) });

/** The entries of a lock, each by itself. */
export interface LockEntries {
  plugins: Record<string, LockedPlugin>;
  /** Those that cannot be read, by their key. */
  broken: Record<string, BulkheadError>;
}

/**
 * Reads the text of a lock, as strictly as what people write.
 * @throws {BulkheadError} `invalid_config` with line and column
 */
export function parseLock(text: string, { file, maxBytes }: { file: string; maxBytes: number }): PluginLock {
  const parsed = parseLockYaml(text, { file, maxBytes });
  const checked = schema.safeParse(parsed.value);
  if (checked.success) return checked.data;
  throw lockError(checked.error.issues, parsed);
}

/**
 * Reads the text of a lock of which an entry may be broken without the others.
 * @throws {BulkheadError} `invalid_config` where it is no lock at all
 */
export function parseLockEntries(text: string, { file, maxBytes }: { file: string; maxBytes: number }): LockEntries {
  const parsed = parseLockYaml(text, { file, maxBytes });
  const whole = frame.safeParse(parsed.value);
  if (!whole.success) throw lockError(whole.error.issues, parsed);
  const entries: LockEntries = { plugins: {}, broken: {} };
  for (const [key, value] of Object.entries(whole.data.plugins)) {
    const checked = z.strictObject({ [key]: entry }).safeParse({ [key]: value });
    if (checked.success && id.safeParse(key).success) entries.plugins[key] = checked.data[key]!;
    else entries.broken[key] = lockError(inPlugins(checked.error?.issues ?? [badKey(key)]), parsed);
  }
  return entries;
}

function parseLockYaml(text: string, { file, maxBytes }: { file: string; maxBytes: number }): ParsedYaml {
  return parseYaml(text, { file, maxBytes, maxAliases: 0, code: "invalid_config" });
}

function lockError(issues: z.core.$ZodIssue[], parsed: ParsedYaml): BulkheadError {
  const described = z.toJSONSchema(schema, { unrepresentable: "any" }) as object;
  return problemsError("invalid_config", zodProblems(issues, parsed, described));
}

function inPlugins(issues: z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  return issues.map((issue) => ({ ...issue, path: ["plugins", ...issue.path] }));
}

function badKey(key: string): z.core.$ZodIssue {
  return { code: "custom", message: "expected the id of a plugin", path: [key], input: key };
}
