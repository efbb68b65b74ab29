import { fileURLToPath } from "../../ground/runtime/paths.ts";

// As in `pool/wall-files.ts`: this file may be the build's or the source.
const folder = new URL(import.meta.url.endsWith(".ts") ? "../../../dist/walls/" : "../../../walls/", import.meta.url);

/** Path of the bundled script that opens the ports of a network. */
export const networkFile: string = fileURLToPath(new URL("network.js", folder));
