import { fileURLToPath } from "../../ground/platform/files/paths.ts";

const own = import.meta.url;
const isSource = own.endsWith(".ts");

/** Absolute path of the contract's entry: source beside source, build beside build. */
export const sdkFile: string = fileURLToPath(
  new URL(isSource ? "../../../plugin-sdk/mod.ts" : "../../../plugin-sdk/mod.js", own),
);

/** Absolute path of the schema library that the contract is written with, as one module. */
export const typeboxFile: string = fileURLToPath(
  new URL(isSource ? "../../../dist/walls/typebox.js" : "../../../walls/typebox.js", own),
);
