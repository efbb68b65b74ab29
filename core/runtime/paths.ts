export { basename, delimiter, dirname, extname, isAbsolute, join, normalize, relative, resolve, sep } from "node:path";
export { fileURLToPath, pathToFileURL } from "node:url";
