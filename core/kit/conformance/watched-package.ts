import { acceptedFields, type Manifest, talkAbilities } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { makeModule } from "../../packages/bundler/make-bundle.ts";
import { bundleOrder } from "../../packages/bundler/bundle-order.ts";
import { mkdir, writeFile } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { accepts, canTalk } from "../../sessions/session/enforceable.ts";
import { watchedSource } from "./watched-source.ts";

/** Writes a package whose adapter looks at that of another one, with the same permissions and options; gives its folder. */
export async function writeWatched(
  to: string,
  { id, folder, manifest, permissions }: { id: string; folder: string; manifest: Manifest; permissions: Permissions },
): Promise<string> {
  await mkdir(to, { recursive: true });
  const path = manifest.entry ?? manifest.normaliser;
  if (path !== undefined) {
    const order = await bundleOrder({ folder, manifest, limits: defaultLimits });
    await writeFile(join(to, "code.js"), await makeModule({ ...order, entry: { path } }, defaultLimits));
  }
  await writeFile(join(to, "watched.js"), watchedSource(manifest));
  const { cli: _cli, normaliser: _normaliser, defaults: _defaults, ...rest } = manifest;
  const own: Manifest = {
    ...rest,
    id,
    entry: "./watched.js",
    permissions,
    accepts: [
      ...acceptedFields.filter((field) => accepts(manifest, field)),
      ...talkAbilities.filter((ability) => canTalk(manifest, ability)),
    ],
  };
  // JSON is YAML, so nothing has to be escaped by hand.
  await writeFile(join(to, "plugin.yaml"), JSON.stringify(own, null, 1));
  return to;
}
