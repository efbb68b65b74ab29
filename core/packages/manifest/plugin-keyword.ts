/** Keyword by which packages say that they are plugins. */
export const pluginKeyword = "bulkhead-plugin";
