import * as z from "zod";
import { idForm, maxIdLength } from "../../ground/config/plugin-ids.ts";
import { problemsError } from "../../ground/config/yaml-problems.ts";
import { parseYaml } from "../../ground/config/yaml.ts";
import { zodProblems } from "../../ground/config/zod-problems.ts";
import type { PackageSource, PluginLock } from "./lock-format.ts";

const line = z.string().min(1).max(4096);

const source: z.ZodType<PackageSource> = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("registry"), name: line, registry: z.url() }),
  z.strictObject({ type: z.literal("tarball"), path: line }),
  z.strictObject({ type: z.literal("remote"), url: z.url() }),
  z.strictObject({ type: z.literal("git"), url: line, ref: line.nullable(), commit: line }),
  z.strictObject({ type: z.literal("folder"), path: line }),
]);

/** A version becomes part of a folder's name. */
const version = z.string().regex(/^[0-9][0-9A-Za-z.+-]*$/).max(128);

const schema: z.ZodType<PluginLock> = z.strictObject({
  lock: z.literal(1),
  plugins: z.record(
    z.string().regex(idForm).max(maxIdLength),
    z.strictObject({
      source,
      version,
      integrity: z.string().regex(/^sha512-[A-Za-z0-9+/=]{80,100}$/).nullable(),
      files: z.string().regex(/^[0-9a-f]{64}$/),
      highest: version,
      signed_by: line.nullable(),
      provenance: line.nullable(),
      installed_at: z.iso.datetime(),
    }),
  ),
});

/**
 * Reads the text of a lock, as strictly as what people write.
 * @throws {BulkheadError} `invalid_config` with line and column
 */
export function parseLock(text: string, { file, maxBytes }: { file: string; maxBytes: number }): PluginLock {
  const parsed = parseYaml(text, { file, maxBytes, maxAliases: 0, code: "invalid_config" });
  const checked = schema.safeParse(parsed.value);
  if (checked.success) return checked.data;
  throw problemsError(
    "invalid_config",
    zodProblems(checked.error.issues, parsed, z.toJSONSchema(schema, { unrepresentable: "any" }) as object),
  );
}
