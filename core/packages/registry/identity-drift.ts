import type { Manifest } from "../../../plugin-sdk/manifest.ts";

/** Fields in which an adapter and its manifest must agree. */
const identityFields = ["id", "name", "version"] as const;

/** Values that an adapter has for {@link identityFields}; not checked. */
type SaidIdentity = { readonly [Field in (typeof identityFields)[number]]?: unknown };

/** Says where the adapter's own id, name or version differ from its manifest's. */
export function identityDrift(manifest: Manifest, said: SaidIdentity): string[] {
  return identityFields.flatMap((field) => {
    const own = said[field];
    // A value that is no text is another fault.
    if (own === manifest[field] || typeof own !== "string") return [];
    return [`${field} is ${JSON.stringify(manifest[field])} in plugin.yaml and ${JSON.stringify(own)} in the adapter.`];
  });
}
