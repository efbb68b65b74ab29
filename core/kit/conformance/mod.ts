/**
 * The conformance kit: tries a plugin on a real host and says which rules of the contract it keeps.
 *
 * @module
 */
export { type KitHost, openKitHost } from "./kit-host.ts";
export type { ConformanceReport, Finding, RuleOutcome, RuleReport } from "./report.ts";
export { testPlugin, type TestPluginOptions } from "./test-plugin.ts";
