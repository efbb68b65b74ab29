/** Extensions of the code that a package may hold. */
export const codeExtensions: readonly string[] = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];
