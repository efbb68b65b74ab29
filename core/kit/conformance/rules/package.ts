import { pluginKeyword } from "../../../packages/manifest/plugin-keyword.ts";
import { type Rule, skipped } from "../rule.ts";
import { saidOf } from "../report.ts";

const told = new Set(["bundle_failed", "too_large", "adapter_incomplete"]);

/** Rules of the package and of its script. */
export const packageRules: readonly Rule[] = [
  // Its faults are reported before any rule runs.
  {
    id: "manifest",
    title: "plugin.yaml and conformance.yaml fit their schemas.",
    check: () => [],
  },
  // A registry must show the same facts as the manifest.
  {
    id: "package",
    title: "package.json names the package, its version is the manifest's, and people can read what it is.",
    check({ package_json: own, manifest, names }) {
      if (!names.includes("package.json")) return skipped("It has no package.json, so it cannot be published.");
      if (own === null) return [{ message: "package.json is no JSON object." }];
      const keywords = Array.isArray(own["keywords"]) ? own["keywords"] : [];
      const problems = [
        typeof own["name"] === "string" ? null : "package.json has no name.",
        own["version"] === manifest.version
          ? null
          : `package.json says version ${JSON.stringify(own["version"])}, plugin.yaml ${manifest.version}.`,
        keywords.includes(pluginKeyword)
          ? null
          : `package.json lacks the keyword "${pluginKeyword}", by which plugins are found.`,
        names.includes("README.md") ? null : "It has no README.md.",
      ];
      return problems.flatMap((message) => (message === null ? [] : [{ message }]));
    },
  },
  // All of its code must become one script.
  {
    id: "bundle",
    title: "Its code bundles to one script.",
    check({ load_error: error }) {
      return error?.code === "bundle_failed" || error?.code === "too_large" ? [{ message: error.message }] : [];
    },
  },
  // A script that throws while it is evaluated is useless.
  {
    id: "load",
    title: "Its script can be evaluated and its adapter constructed.",
    check({ load_error: error }) {
      return error === null || told.has(error.code) ? [] : [{ message: saidOf(error) }];
    },
  },
];
