import { swapFile } from "../../ground/platform/files/replace-file.ts";
import { listOf, parseJson } from "../../../plugin-sdk/json-fields.ts";
import { Check } from "@sinclair/typebox/value";
import { contractVersion, type Manifest, manifestSchema } from "../../../plugin-sdk/manifest.ts";
import { hostVersion } from "../../ground/config/version.ts";
import { readFile } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";

/**
 * Manifests whose text has passed every check before. To parse YAML takes most of the time in which a host finds its
 * plugins; text with the same bytes says the same.
 */
export interface KnownManifests {
  find(text: string, terms: unknown): Manifest | undefined;
  /** @param terms what else the checks depend on, as JSON */
  note(text: string, terms: unknown, manifest: Manifest): void;
  /** Writes down what is new. A folder that cannot be written costs nothing but time. */
  keep(): Promise<void>;
}

/** Kept at most; those that were not asked for go first. */
const mostKept = 256;

/** Opens the file of known manifests. One that is missing or damaged holds none. */
export async function openKnownManifests(file: string): Promise<KnownManifests> {
  const kept = await readKept(file);
  const used = new Map<string, Manifest>();
  let isNew = false;
  return {
    find(text, terms) {
      const key = keyOf(text, terms);
      const manifest = kept.get(key);
      if (manifest === undefined || !Check(manifestSchema, manifest)) return undefined;
      used.set(key, manifest);
      return structuredClone(manifest);
    },
    note(text, terms, manifest) {
      used.set(keyOf(text, terms), structuredClone(manifest));
      isNew = true;
    },
    async keep() {
      if (!isNew) return;
      isNew = false;
      const entries = [...new Map([...used, ...kept, ...used])].slice(0, mostKept);
      await swapFile(file, JSON.stringify(entries)).catch(() => {});
    },
  };
}

async function readKept(file: string): Promise<Map<string, Manifest>> {
  const entries = parseJson(await readFile(file, "utf8").catch(() => ""));
  return new Map(listOf(entries).filter(Array.isArray) as [string, Manifest][]);
}

function keyOf(text: string, terms: unknown): string {
  return sha256Hex(JSON.stringify([hostVersion, contractVersion, terms, text]));
}
