import { parse } from "yaml";
import type { Manifest } from "../../plugin-sdk/manifest.ts";
import { snippetsOf, yamlKind } from "../structure/snippets.ts";

const page = snippetsOf(".github/docs/yaml-adapters.md").filter((snippet) => yamlKind(snippet) === "plugin.yaml");

/** Texts of the manifests that the docs show, by program. */
export const textsOnPage: ReadonlyMap<string, string> = new Map(
  page.map(({ text }) => [(parse(text) as Manifest).cli!.binary as string, text]),
);

/** Returns the manifest that the docs show for a program. */
export function manifestOnPage(binary: string): Manifest {
  return parse(textsOnPage.get(binary)!) as Manifest;
}
