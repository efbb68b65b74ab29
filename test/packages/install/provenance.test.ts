import { expect, test } from "vitest";
import { builtBy, repositoryOf } from "../../../core/packages/install/provenance.ts";
import { startAuthority, workflow } from "./provenance-authority.ts";

test("builtBy reads the certificate, and what was signed, of a statement", async () => {
  const authority = await startAuthority();
  try {
    const subject = { name: "pkg:npm/a@1.0.0", digest: { sha512: "00" } };
    const about = (predicateType: string) => authority.attest(subject, { predicateType });
    expect(builtBy([await about("https://slsa.dev/provenance/v1")])).toBe(workflow);
    const other = await about("https://example.com/other") as object;
    expect(builtBy([{ ...other, predicateType: "https://slsa.dev/provenance/v1" }])).toBe(null);
    expect(builtBy([])).toBe(null);
    expect(builtBy("nonsense")).toBe(null);
  } finally {
    await authority.close();
  }
});

test.each([
  [workflow, "https://github.com/someone/greeter"],
  ["https://gitlab.com/a/b/c//.gitlab-ci.yml@refs/heads/main", "https://gitlab.com/a/b/c"],
  ["https://ci.example/one/job@1", "https://ci.example/one/job"],
])("repositoryOf %s", (builder, repository) => expect(repositoryOf(builder)).toBe(repository));
