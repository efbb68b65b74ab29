import { parseJson } from "../../../plugin-sdk/json-fields.ts";
import * as z from "zod";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { pluginKeyword } from "../manifest/plugin-keyword.ts";
import { fetchArchive } from "./fetch-registry.ts";
import { npmOptions } from "./npm-options.ts";

interface FoundPackage {
  name: string;
  version: string;
  description: string;
  /** Account that published it; null where the registry does not say. */
  publisher: string | null;
}

const maxBytes = 2 * 1024 * 1024;
const most = 20;

const text = (length: number) => z.string().transform((value) => value.slice(0, length));
const answerSchema = z.object({
  objects: z.array(z.object({
    package: z.object({
      name: z.string().min(1).max(214),
      version: z.string().min(1).max(256),
      description: text(1024).optional(),
      keywords: z.array(z.string()).optional().catch(undefined),
      publisher: z.object({ username: text(256) }).optional().catch(undefined),
    }),
  })).max(250),
});

/**
 * Searches the registry that npm is configured for, for packages with the keyword of plugins.
 * @throws {BulkheadError} `not_found` for a registry without a search, `network_error`
 */
export async function searchRegistry(
  words: readonly string[],
  { folder }: { folder: string },
): Promise<{ registry: string; found: FoundPackage[] }> {
  const { registry } = await npmOptions(folder);
  const byKeyword = await search(registry, {
    text: [`keywords:${pluginKeyword}`, ...words].join(" "),
    size: most,
    folder,
  });
  if (byKeyword.length > 0) return { registry, found: byKeyword };
  // Some registries take the keyword for a word of the name, and then find nothing.
  const text = words.length === 0 ? pluginKeyword : words.join(" ");
  return { registry, found: await search(registry, { text, size: 250, folder }) };
}

async function search(
  registry: string,
  { text, size, folder }: { text: string; size: number; folder: string },
): Promise<FoundPackage[]> {
  const url = new URL("-/v1/search", registry.endsWith("/") ? registry : `${registry}/`);
  url.searchParams.set("text", text);
  url.searchParams.set("size", String(size));
  const bytes = await fetchArchive(url.href, { folder, maxBytes });
  const read = answerSchema.safeParse(parseJson(new TextDecoder().decode(bytes)));
  if (!read.success) {
    throw new BulkheadError("network_error", `Cannot search ${registry}: its answer is no list of packages.`, {
      hint: "Look for packages on the registry's own page, with the keyword bulkhead-plugin.",
    });
  }
  // Others do not know the keyword, and answer with all that has the words.
  const plugins = read.data.objects.filter(({ package: { keywords = [] } }) => keywords.includes(pluginKeyword));
  return plugins.slice(0, most).map(({ package: { name, version, description = "", publisher } }) => ({
    name,
    version,
    description,
    publisher: publisher?.username ?? null,
  }));
}
