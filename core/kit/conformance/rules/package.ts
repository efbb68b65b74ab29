import { pluginKeyword } from "../../../packages/registry/plugin-keyword.ts";
import { type Rule, skipped } from "../rule.ts";

/** A registry must show the same facts as the manifest. */
export const packageRule: Rule = {
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
};
