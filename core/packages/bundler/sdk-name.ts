/** Name of the one module of ours that a plugin may import. */
export const sdkName = "bulkhead/plugin-sdk";
