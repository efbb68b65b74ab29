import * as z from "zod";
import { readSecretReference } from "../secret-reference.ts";

/** `secrets`: where each is. */
export function secretsSection(): z.ZodType<Record<string, string>> {
  const secretName = z.string().max(256).refine((text) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text), {
    params: { expected: "a name of letters, digits and _" },
  });
  const reference = z.string().max(4096).refine((text) => readSecretReference(text) !== null, {
    params: { expected: "stored, env:NAME or file:/absolute/path" },
  });
  return z.record(secretName, reference).nullable().transform((secrets) => secrets ?? {});
}
