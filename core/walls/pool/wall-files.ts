import { fileURLToPath } from "../../ground/runtime/paths.ts";

// From the build this file is dist/core/walls/pool/*.js, from source core/walls/pool/*.ts: the bundles lie in
// dist/walls either way.
const folder = new URL(import.meta.url.endsWith(".ts") ? "../../../dist/walls/" : "../../../walls/", import.meta.url);

/** Path of the bundled warden. */
export const wardenFile: string = fileURLToPath(new URL("warden.js", folder));

/** Path of the bundled guest. */
export const guestFile: string = fileURLToPath(new URL("guest.js", folder));
