import * as z from "zod/mini";
import { certificateUri } from "../../ground/platform/net/certificate-name.ts";
import { bytesOfBase64 } from "../../ground/platform/files/text-or-base64.ts";

const certificate = z.looseObject({ rawBytes: z.string() });
const attestationsSchema = z.array(z.looseObject({
  bundle: z.looseObject({
    verificationMaterial: z.looseObject({
      certificate: z.optional(certificate),
      x509CertificateChain: z.optional(z.looseObject({ certificates: z.array(certificate) })),
    }),
    dsseEnvelope: z.looseObject({ payload: z.string() }),
  }),
}));

/** Finds the builder of a package in verified statements: the identity that signed its provenance, or null. */
export function builtBy(attestations: unknown): string | null {
  const checked = attestationsSchema.safeParse(attestations);
  if (!checked.success) return null;
  for (const { bundle: { verificationMaterial: material, dsseEnvelope } } of checked.data) {
    // Read the type from the signed payload: fields beside the bundle are not signed.
    if (!isProvenance(dsseEnvelope.payload)) continue;
    const first = material.certificate ?? material.x509CertificateChain?.certificates[0];
    const bytes = first === undefined ? null : bytesOfBase64(first.rawBytes);
    const name = bytes === null ? null : certificateUri(bytes);
    if (name !== null) return name;
  }
  return null;
}

function isProvenance(payload: string): boolean {
  const bytes = bytesOfBase64(payload);
  if (bytes === null) return false;
  const { predicateType } = JSON.parse(new TextDecoder().decode(bytes)) as { predicateType?: unknown };
  return typeof predicateType === "string" && predicateType.startsWith("https://slsa.dev/provenance/");
}

/** Of who built it, what stays from version to version: `https://github.com/me/greeter`, not the workflow or the tag. */
export function repositoryOf(builder: string): string {
  return builder.split("@")[0]!.replace(/(?<!:)\/(?:\.github)?\/.*$/, "");
}
